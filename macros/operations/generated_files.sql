{#
    Returns the files that generate prints, {path: text}: a ledger of the stage and the view over it, a first projection and the view over that,
    their YAML; and before them a view of the stage where a condition says what a delete is. `guess` is as _guess_settings returns it.
#}
{% macro _generated_files(node, columns, rows, guess) %}
    {% set name, source = guess.name, collapsing._reference_to(node) %}
    {#- a view of the name of the stage, or of its table, would take that one's place -#}
    {% set live = name ~ '_final' if name | lower in [node.name | lower, (node.alias or node.identifier) | lower] else name %}
    {% set ledger, files, view = name ~ '_ledger', {}, "{{ config(materialized='view') }}\n" %}
    {% if guess.mark and guess.mark.sql and guess.version %}
        {% set is_taken = 'is_deleted' in columns | map(attribute='name') | map('lower') | list %}
        {% do guess.update({'mark_name': 'marks_delete' if is_taken else 'is_deleted'}) %}
        {% do files.update({
            'models/' ~ name ~ '_events.sql': view ~ 'select *, ' ~ guess.mark.sql ~ ' as ' ~ guess.mark_name ~ '\nfrom {{ ' ~ source ~ ' }}'
        }) %}
        {% set source = "ref('" ~ name ~ "_events')" %}
    {% elif guess.mark %}
        {% do guess.update({'mark_name': guess.mark.name}) %}
    {% endif %}
    {% set group = collapsing._guess_group(columns, rows, guess) %}
    {% set measures = collapsing._guess_measures(columns, guess, group) %}
    {% set sums = name ~ ('_by_' ~ modules.re.sub('[^A-Za-z0-9_]+', '_', group.name) | lower if group else '_in_total') %}
    {% do files.update({
        'models/' ~ ledger ~ '.sql': collapsing._generated_ledger(source, rows, guess),
        'models/' ~ live ~ '.sql': view ~ "select * from {{ collapsing.final(ref('" ~ ledger ~ "')) }}",
        'models/' ~ sums ~ '_projection.sql': collapsing._generated_model(
            {'group_by': [group.name] if group else [], 'measures': measures}, "projection(ref('" ~ ledger ~ "'))"
        ),
        'models/' ~ sums ~ '.sql': view ~ "select * from {{ collapsing.final(ref('" ~ sums ~ "_projection')) }}",
        'models/' ~ live ~ '.yml': collapsing._generated_properties(
            {'stage': node.name, 'source': source, 'ledger': ledger, 'live': live, 'sums': sums}, columns, rows, guess
        )
    }) %}
    {{ return(files) }}
{% endmacro %}


{# Returns how a model names a node of the graph. #}
{% macro _reference_to(node) %}
    {% do return("source('" ~ node.source_name ~ "', '" ~ node.name ~ "')") if node.resource_type == 'source' %}
    {% set version = ', v=' ~ tojson(node.version) if node.version not in [none, node.latest_version] else '' %}
    {% set package = node.package_name ~ "', '" if node.package_name != project_name else '' %}
    {{ return("ref('" ~ package ~ node.name ~ "'" ~ version ~ ')') }}
{% endmacro %}


{# Returns the text of a model that holds nothing but its settings and one call. #}
{% macro _generated_model(settings, call) %}
    {% set lines = [] %}
    {% for setting, value in settings.items() %}
        {% do lines.append('    %r: %r' | format(setting, value)) %}
    {% endfor %}
    {{ return("{{ config(meta={'collapsing': {\n" ~ lines | join(',\n') ~ '\n}}) }}\n{{ collapsing.' ~ call ~ ' }}') }}
{% endmacro %}


{# Returns the text of a ledger: what was found, as a comment, then its settings and its call. #}
{% macro _generated_ledger(source, rows, guess) %}
    {% set settings = {} %}
    {% do settings.update({'engine': 'deduplicating'}) if not guess.version %}
    {% do settings.update({'key': guess.key.name}) %}
    {% do settings.update({'version': guess.version.name}) if guess.version %}
    {% do settings.update({guess.mark.setting or 'is_deleted': guess.mark_name}) if guess.mark and guess.version %}
    {% do settings.update({'block': guess.block.name}) if guess.block %}
    {% set comment = collapsing._told_of_guess(rows, guess) | join('\n    ') %}
    {{ return(
        '{#\n    ' ~ comment | replace('#}', '# }') ~ '\n#}\n' ~ collapsing._generated_model(settings, 'ledger(' ~ source ~ ')')
    ) }}
{% endmacro %}


{# Returns in lines why the settings of a ledger were chosen, and what the data could not tell. #}
{% macro _told_of_guess(rows, guess) %}
    {% set lines, key = [], guess.key %}
    {% do lines.append(
        'Seen in the data (' ~ collapsing._with_noun(rows, 'row') ~ '), and what it cannot tell. Check it before the first run.'
    ) %}
    {% do lines.append('There is no row yet: only names and types were considered.') if not rows %}
    {% do lines.append(
        'key: ' ~ key.name ~ ' (' ~ key.dtype ~ '), about ' ~ key.distinct ~ ' values, no NULL' ~ collapsing._other_choices(guess.candidates.key)
        ~ '. If one column does not identify a row, list several.'
    ) %}
    {% if guess.version %}
        {% do lines.append(
            'version: ' ~ guess.version.name ~ ' (' ~ guess.version.dtype ~ ')' ~ collapsing._other_choices(guess.candidates.version)
            ~ '. It must grow with each change of a key; where two changes can share a version, list a second column.'
        ) %}
        {% do lines.append(guess.version.name ~ ' is compared as text: correct only for times such as 2026-01-31T09:00:00.')
            if collapsing._is_text_type(guess.version.dtype) %}
    {% else %}
        {% do lines.append(
            'version: no column looks like one, so the first row of a key stays (engine: deduplicating). If later rows'
            ~ ' change a key, give a version, or engine: collapsing with order_by.'
        ) %}
    {% endif %}
    {% do lines.append('deletes: ' ~ collapsing._told_of_mark(guess)) %}
    {% do lines.append(
        'block: ' ~ guess.block.name ~ ' (' ~ guess.block.dtype ~ '), about ' ~ guess.block.distinct ~ ' values'
        ~ collapsing._other_choices(guess.candidates.block) ~ '. It is folded once: rows that arrive later under its token are not read.'
        if guess.block
        else 'block: no column looks like the name of a file or a load: every run reads the whole stage, correct but slower.'
    ) %}
    {{ return(lines) }}
{% endmacro %}


{# Returns in words which other columns could have been chosen, up to three. #}
{% macro _other_choices(candidates) %}
    {% set names = candidates[1:4] | map(attribute='name') | join(', ') %}
    {{ return('; or ' ~ names if names else '') }}
{% endmacro %}


{# Returns in words what was found of deletes. #}
{% macro _told_of_mark(guess) %}
    {% do return(
        'no column marks them. If rows can go, add one that is true or 1 for a row that deletes its key, such as is_deleted.'
    ) if not guess.mark %}
    {% do return(guess.mark.name ~ ' may mark them, which has no effect with the engine deduplicating.') if not guess.version %}
    {% do return(guess.mark.name ~ ', -1. If rows of -1 are copies of the row that they take back, add input: signed.')
        if guess.mark.setting == 'sign' %}
    {% do return(guess.mark.name ~ ', by the condition in ' ~ guess.name ~ '_events.sql.') if guess.mark.sql %}
    {{ return(guess.mark.name ~ ' (' ~ guess.mark.dtype ~ ').') }}
{% endmacro %}


{# Returns the column of few values by which a first projection groups, or none. #}
{% macro _guess_group(columns, rows, guess) %}
    {% set used = [guess.key, guess.version, guess.mark, guess.block] %}
    {% for type in ['^(string|varchar|char)', '^boolean', '^date$', '^(tinyint|smallint|int|bigint)'] %}
        {% for column in columns if modules.re.search(type, column.dtype) and column not in used
            and 1 < column.distinct <= 1000 and column.distinct * 2 <= rows %}
            {{ return(column) }}
        {% endfor %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Returns the measures of a first projection: how many rows, and the sums of up to three numbers, {name: aggregate}. #}
{% macro _guess_measures(columns, guess, group) %}
    {% set names = columns | map(attribute='name') | map('lower') | list %}
    {% set count = 'row_count' if 'row_count' not in names else 'row_count_of_' ~ guess.name %}
    {% set measures, is_name = {count: 'count(*)'}, '(?i)(^|_)(id|key|no|nr|number|code|year|month|day|position|offset)$' %}
    {% for column in columns if column not in [guess.key, guess.version, guess.mark, guess.block, group]
        and modules.re.search('^(decimal|double|float|int|bigint|smallint)', column.dtype)
        and not modules.re.search(is_name, column.name) and measures | length < 4 %}
        {% do measures.update({column.name: 'sum(' ~ collapsing._plain_name(column.name) ~ ')'}) %}
    {% endfor %}
    {{ return(measures) }}
{% endmacro %}


{# Returns the YAML of the models that generate prints. `names` are {stage, source, ledger, live, sums}. #}
{% macro _generated_properties(names, columns, rows, guess) %}
    {#- by default dbt reads the `arguments` of a test from 1.10.8 on, and warns where there are none -#}
    {% set minor, patch = dbt_version.split('.')[1] | int, dbt_version.split('.')[2] | int %}
    {% set stage = 'stage: ' ~ tojson(names.source) %}
    {% set lines = [
        'version: 2',
        '',
        'models:',
        '  - name: ' ~ names.ledger,
        '    description: ' ~ tojson('Every change to ' ~ names.live ~ ', as state rows, cancel rows and tombstones.'),
        '    data_tests:',
        '      - collapsing.collapsed',
        '      - collapsing.complete:',
        '          ' ~ (stage if minor < 10 or (minor == 10 and patch < 8) else 'arguments: {' ~ stage ~ '}'),
        '  - name: ' ~ names.live,
        '    description: ' ~ tojson('The live rows of ' ~ names.ledger ~ ', one per ' ~ guess.key.name ~ '.'),
        '    columns:'
    ] %}
    {% set hidden = [guess.block.name if guess.block else none, guess.mark_name if guess.version else none] %}
    {% for column in columns if column.name not in hidden %}
        {% do lines.append('      - name: ' ~ tojson(column.name)) %}
        {% set nulls = ', ' ~ (rows - column.filled) ~ ' NULL' if rows > column.filled else '' %}
        {% set seen = column.dtype ~ (', about ' ~ column.distinct ~ ' values' if column.distinct else '') ~ nulls %}
        {% do lines.append('        description: ' ~ tojson(seen)) %}
        {% do lines.append('        quote: true') if collapsing._plain_name(column.name) != column.name %}
        {% do lines.append('        data_tests: [unique, not_null]') if column == guess.key %}
    {% endfor %}
    {% do lines.extend([
        '  - name: ' ~ names.sums ~ '_projection',
        '    description: ' ~ tojson('Partial sums of ' ~ names.ledger ~ ', which each run adds to.'),
        '    data_tests:',
        '      - collapsing.equals_recompute',
        '  - name: ' ~ names.sums,
        '    description: ' ~ tojson('The sums of ' ~ names.live ~ ' by group.')
    ]) %}
    {{ return(lines | join('\n')) }}
{% endmacro %}
