{% macro status(model=none, format='table', fail_if=none, scan=false) %}
    {% if execute %}
        {% do collapsing._check_status(format, fail_if, scan) %}
        {% set found = [] %}
        {% for node in collapsing._asked_models('status', model, ['ledger']) %}
            {% set is_projection = collapsing._kind_of(node, 'status') == 'projection' %}
            {% do found.append(
                collapsing._projection_figures(node) if is_projection else collapsing._ledger_figures(node, scan, skip_unbuilt=model is none)
            ) %}
        {% endfor %}
        {% if format == 'json' %}
            {% do print(tojson(found)) %}
        {% elif model is string %}
            {% do collapsing._print_figures(found[0]) %}
        {% else %}
            {% do collapsing._print_table(found) %}
        {% endif %}
        {% do collapsing._check_limits(found, fail_if or {}) %}
    {% endif %}
{% endmacro %}


{# Raises an error about an argument of status. #}
{% macro _check_status(format, fail_if, scan) %}
    {{ exceptions.raise_compiler_error("collapsing: status's format must be table or json; given: " ~ format)
        if format not in ['table', 'json'] }}
    {{ exceptions.raise_compiler_error("collapsing: status's scan must be true or false; given: " ~ scan)
        if scan is not boolean }}
    {{ exceptions.raise_compiler_error("collapsing: status's fail_if must be a mapping of figures to limits; given: " ~ fail_if)
        if fail_if is not none and fail_if is not mapping }}
    {% set allowed = [
        'unread_blocks', 'unread_rows', 'age_minutes', 'lag_batches', 'rejects', 'last_rejects', 'last_ties', 'dead_share', 'tombstones', 'findings'
    ] %}
    {% for figure, limit in (fail_if or {}).items() %}
        {{ exceptions.raise_compiler_error(
            "collapsing: status's fail_if takes numbers, 0 or more, of: " ~ allowed | join(', ') ~ '; given: ' ~ figure ~ ': ' ~ limit
        ) if figure not in allowed or limit is not number or limit is boolean or limit < 0 }}
        {{ exceptions.raise_compiler_error("collapsing: status's fail_if of findings needs scan: true")
            if figure == 'findings' and not scan }}
    {% endfor %}
{% endmacro %}


{# Raises an error that names each model and figure above its limit, and each model that has no batch whose age could be told. #}
{% macro _check_limits(found, limits) %}
    {% set above = [] %}
    {% for figures in found %}
        {% for figure, limit in limits.items() %}
            {% set value = figures.get(figure) %}
            {#- of findings the numbers of keys, with which their words begin -#}
            {% set value = modules.re.findall('(?m)^\\d+', value.values() | join('\n')) | map('int') | sum
                if value is mapping else value %}
            {% set is_split = figures.state.startswith('split') %}
            {% if figure == 'age_minutes' and value is none and figures.kind == 'ledger' and not is_split %}
                {% do above.append(figures.model ~ ': it has no batch yet') %}
            {% elif value is number and value > limit %}
                {% do above.append(figures.model ~ ': ' ~ figure ~ ' is ' ~ value ~ ', above ' ~ limit) %}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {{ exceptions.raise_compiler_error('collapsing: status: ' ~ above | join('; ')) if above }}
{% endmacro %}


{# Prints what there is to say of one model, a line each. #}
{% macro _print_figures(figures) %}
    {% do print(figures.model) %}
    {% for label, value in figures.items() if label not in ['model', 'readers', 'reads', 'findings'] and value is not none %}
        {% do print('  %-28s %s' | format(label | replace('_', ' '), value)) %}
    {% endfor %}
    {% for reader in figures.get('readers', []) %}
        {% set lag = collapsing._lag_in_words(reader, figures.last_batch) %}
        {% do print('  %-28s %s' | format(reader.kind ~ ' ' ~ reader.name, lag)) %}
    {% endfor %}
    {% for ledger in figures.get('reads', []) %}
        {% do print('  %-28s %s' | format('ledger ' ~ ledger.name, collapsing._lag_in_words(ledger, ledger.last))) %}
    {% endfor %}
    {% for finding, says in (figures.findings or {}).items() %}
        {% do print('  %-28s %s' | format('finding ' ~ finding, says)) %}
    {% endfor %}
    {% do print('  %-28s %s' | format('findings', 'none')) if figures.get('findings') == {} %}
{% endmacro %}


{# Returns in words how far a reader has read a ledger whose last batch is `last`. #}
{% macro _lag_in_words(reader, last) %}
    {{ return(
        'has read up to batch ' ~ reader.batch ~ ' of ' ~ (last or 0)
        ~ (', ' ~ reader.lag_batches ~ ' behind' if reader.lag_batches else '')
    ) }}
{% endmacro %}


{# Prints a table of several models, a line each. #}
{% macro _print_table(found) %}
    {% set columns = [
        'model', 'last_batch', 'age_minutes', 'unread_blocks', 'rows', 'live', 'dead', 'tombstones', 'lag_batches', 'rejects', 'bytes'
    ] %}
    {% set lines = [columns | map('replace', '_', ' ') | list] %}
    {% for figures in found %}
        {% set cells = [] %}
        {% for column in columns %}
            {% set value = figures.get(column) %}
            {% do cells.append((value if value is not none else '-') | string) %}
        {% endfor %}
        {% do lines.append(cells) %}
    {% endfor %}
    {% for cells in lines %}
        {% set padded = [] %}
        {% for cell in cells %}
            {% set width = lines | map(attribute=loop.index0) | map('length') | max %}
            {% do padded.append(cell.ljust(width) if loop.first else cell.rjust(width)) %}
        {% endfor %}
        {% do print(padded | join('  ')) %}
    {% endfor %}
    {% for figures in found if figures.state != 'built' %}
        {% do print(figures.model ~ ': ' ~ figures.state) %}
    {% endfor %}
{% endmacro %}
