{% macro generate(stage=none) %}
    {% if execute %}
        {% set node = collapsing._asked_stage('generate', stage) %}
        {% set relation = collapsing._relation_of_stage('generate', node) %}
        {% set columns = collapsing._columns_of_query('select * from ' ~ relation) %}
        {% do collapsing._check_stage_names(columns, node.name) %}
        {% set rows = collapsing._profile_columns(relation, columns) %}
        {% set guess = collapsing._guess_settings(node, columns, rows) %}
        {% for path, text in collapsing._generated_files(node, columns, rows, guess).items() %}
            {% do print(('# ' if path.endswith('.yml') else '-- ') ~ path ~ '\n' ~ text ~ '\n') %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#
    Adds to each column, in one query, how many rows have a value (`filled`), about how many different ones (`distinct`), how many are one of two
    numbers (`zero_one`, `plus_minus`), and how many are a word for a delete (`deletes`). Returns how many rows there are.
#}
{% macro _profile_columns(relation, columns) %}
    {% set asked = ['count(*)'] %}
    {% for column in columns %}
        {% set name, dtype = adapter.quote(column.name), column.dtype %}
        {% set is_text = collapsing._is_text_type(dtype) %}
        {% set is_flag = is_text or dtype == 'boolean' or collapsing._is_integer(dtype) or dtype.startswith('decimal') %}
        {% set number = collapsing._as_number(column.name) %}
        {% do asked.extend([
            'count(' ~ name ~ ')',
            'approx_count_distinct(' ~ name ~ ')' if is_flag or dtype in ['date', 'timestamp', 'timestamp_ntz', 'binary'] else '0L',
            'count_if(' ~ number ~ ' in (0, 1))' if is_flag else '0L',
            'count_if(' ~ number ~ ' in (1, -1))' if is_flag else '0L',
            'count_if(lower(' ~ name ~ ') in (' ~ collapsing._words_for_deletes() ~ '))' if is_text
                else 'count_if(' ~ name ~ ')' if dtype == 'boolean' else '0L'
        ]) %}
    {% endfor %}
    {% set row = collapsing._rows_of('select ' ~ asked | join(', ') ~ ' from ' ~ relation) | first %}
    {% for column in columns %}
        {% set at = 1 + 5 * loop.index0 %}
        {% do column.update({
            'filled': row[at], 'distinct': [row[at + 1], row[0]] | min, 'zero_one': row[at + 2], 'plus_minus': row[at + 3], 'deletes': row[at + 4]
        }) %}
    {% endfor %}
    {{ return(row[0]) }}
{% endmacro %}


{# Returns, as SQL literals, the words by which a column says that a row deletes its key. #}
{% macro _words_for_deletes() %}
    {{ return("'d', 'delete', 'deleted', 'true'") }}
{% endmacro %}


{#
    Returns what generate takes the columns of a stage for: `name`, of what is in it; `key`, `version`, `mark` (of deletes), `block`: a column
    each, or none; `candidates`, {key, version, block: all columns that could be it, the best first}.
#}
{% macro _guess_settings(node, columns, rows) %}
    {% set name = modules.re.sub('^(stg|stage|staging|src|source|raw|base|landing)_+', '', node.name) or node.name %}
    {#- of letters that a table's name may have without quotes -#}
    {% set name = modules.re.sub('[^A-Za-z0-9_]+', '_', name) %}
    {% set mark, tokens = collapsing._guess_mark(columns, rows), [] %}
    {% set free = columns | selectattr('filled', 'equalto', rows) | reject('equalto', mark) | list %}
    {% set versions = collapsing._ranked_columns(free, collapsing._version_names()) %}
    {% set version = versions | first if versions else none %}
    {#- the id of a job is the key of jobs -#}
    {% set own = collapsing._ranked_columns(free, collapsing._key_names(name)[:1]) %}
    {% for column in collapsing._ranked_columns(free | reject('in', [version] + own) | list, collapsing._block_names()) %}
        {#- a timestamp that is nearly unique to a row is no time of a load -#}
        {% do tokens.append(column) if not column.dtype.startswith('timestamp') or rows < 20 or column.distinct * 2 <= rows %}
    {% endfor %}
    {% set block = tokens | first if tokens else none %}
    {% set free = free | reject('in', [version, block]) | list %}
    {% set keys = collapsing._ranked_columns(free, collapsing._key_names(name), most_first=true)
        or collapsing._ranked_columns(free, [['', collapsing._key_types()]], most_first=true) %}
    {{ exceptions.raise_compiler_error(
        "collapsing: generate finds no key in the stage '" ~ node.name ~ "': no column that could be one has a value in each row, of "
        ~ rows ~ '. Its columns: ' ~ columns | map(attribute='name') | join(', ')
    ) if not keys }}
    {{ return({
        'name': name, 'key': keys[0], 'version': version, 'mark': mark, 'block': block,
        'candidates': {'key': keys, 'version': versions, 'block': tokens}
    }) }}
{% endmacro %}


{# Returns the columns that fit `patterns`, [[of names, of types], ...], in that order; most_first: within one the most varied. #}
{% macro _ranked_columns(columns, patterns, most_first=false) %}
    {% set ranked = [] %}
    {% for names, types in patterns %}
        {% set found = [] %}
        {% for column in columns if column not in ranked
            and modules.re.search(names, column.name.lower()) and modules.re.search(types, column.dtype) %}
            {% do found.append(column) %}
        {% endfor %}
        {% do ranked.extend(found | sort(attribute='distinct', reverse=true) if most_first else found) %}
    {% endfor %}
    {{ return(ranked) }}
{% endmacro %}


{# Returns by what names and types a version is known, the surest first. #}
{% macro _version_names() %}
    {% set numbers, times = '^(tinyint|smallint|int|bigint|decimal)', '^timestamp' %}
    {{ return([
        ['^_*(\\w+_)?(version|revision|rev|lsn|scn)(_?(no|nr|num|number))?$', numbers],
        ['(updated|modified|changed|update|change)(_?(at|on|ts|time|date|timestamp|datetime))?$', times ~ '|^date|' ~ numbers],
        ['^_*(\\w+_)?(seq|sequence|offset)(_?(no|nr|num|number))?$', numbers],
        ['(^|_)(event|occurred|recorded|ts|timestamp|time)', times],
        ['(updated|modified|changed)(_?(at|on|ts|time|date|timestamp|datetime))?$', '^string'],
        ['^(?!.*(creat|insert|load|ingest|extract|land|import|deleted|removed))', times]
    ]) }}
{% endmacro %}


{# Returns by what names and types a block token is known, the surest first. #}
{% macro _block_names() %}
    {% set token = '^(string|tinyint|smallint|int|bigint|date$|timestamp$|binary)' %}
    {{ return([
        ['^_*(\\w+_)?block(_?(id|token|name))?$', token],
        ['^_*(\\w+_)?file(_?(name|path))?$', token],
        ['^_*(\\w+_)?(batch|load|job|import)(_?(id|no|nr|number|key))?$', token],
        ['^_*(\\w+_)?(ingest|ingested|ingestion|load|loaded|extract|extracted|landed|landing|imported)(_?(at|on|date|day|ts|time))?$', token]
    ]) }}
{% endmacro %}


{# Returns by what names and types the key of what is called `name` is known, the surest first. #}
{% macro _key_names(name) %}
    {% set one = name.lower()[:-3] ~ 'y' if name.lower().endswith('ies') else name.lower() | replace('_events', '') %}
    {% set one = modules.re.escape(one[:-1] if one.endswith('s') else one) %}
    {% set key = collapsing._key_types() %}
    {{ return([
        ['^_*' ~ one ~ '_?(id|key|uuid|guid|no|nr|number|code)$', key],
        ['^_*(id|key|uuid|guid|pk)$', key],
        ['(id|key|uuid|guid|_no|_nr|_number|_code)$', key]
    ]) }}
{% endmacro %}


{# Returns a pattern of the types of a key: text and whole numbers. #}
{% macro _key_types() %}
    {{ return('^(string|varchar|char|(tiny|small|big)?int$|decimal\\(\\d+,0\\))') }}
{% endmacro %}


{# Returns the first column that marks deletes, with the `setting` that takes it, or `sql` that is true for a delete; or none. #}
{% macro _guess_mark(columns, rows) %}
    {% set words = 'delete|deleted|removed|tombstone|cancelled|canceled' %}
    {% for column in columns %}
        {% set name, quoted = column.name.lower().strip('_'), collapsing._plain_name(column.name) %}
        {% set is_mark = modules.re.search('^(is_|was_|has_been_)?(' ~ words ~ ')(_?(flag|mark))?$', name) %}
        {% if name == 'sign' and rows and column.plus_minus == rows %}
            {% do column.update({'setting': 'sign'}) %}
        {% elif is_mark and column.zero_one == rows and (rows or column.dtype == 'boolean') %}
            {% do column.update({'setting': 'is_deleted'}) %}
        {% elif column.deletes and (is_mark or modules.re.search('^(\\w+_)?(op|operation|change_type)$', name)) %}
            {% set says = quoted if column.dtype == 'boolean' else 'lower(' ~ quoted ~ ') in (' ~ collapsing._words_for_deletes() ~ ')' %}
            {% do column.update({'sql': 'coalesce(' ~ says ~ ', false)'}) %}
        {% elif modules.re.search('^(deleted|removed)_?(at|on|date|time)$', name) and modules.re.search('^(date|timestamp)', column.dtype) %}
            {% do column.update({'sql': quoted ~ ' is not null'}) %}
        {% endif %}
        {% do return(column) if column.setting or column.sql %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Returns the name of a column for SQL that somebody reads: in quotes where it needs them. #}
{% macro _plain_name(name) %}
    {{ return(name if modules.re.match('^[a-z_][a-z0-9_]*$', name) else adapter.quote(name)) }}
{% endmacro %}
