{#
    SQL of a projection is evaluated for a state row, for the row that cancels it, and again when the projection is rebuilt. It must give the
    same value each time, so it is a function of the columns that a row has from its stage.
#}


{# Raises an error where SQL of a setting is not one value, or uses more than the row's own columns. #}
{% macro _check_row_sql(model_name, setting, sql) %}
    {% if not collapsing._is_one_value(sql) %}
        {% do collapsing._raise_setting(model_name, setting, 'SQL for one value', sql) %}
    {% endif %}
    {% set bare = [
        'current_date', 'current_time', 'current_timestamp', 'localtimestamp', 'current_user', 'session_user', 'user'
    ] %}
    {% set called = bare + [
        'rand', 'randn', 'random', 'uuid', 'shuffle', 'uniform', 'randstr', 'monotonically_increasing_id', 'spark_partition_id',
        'now', 'curdate', 'unix_timestamp(?=\\s*\\(\\s*\\))', 'current_timezone', 'current_catalog', 'current_database',
        'current_schema', 'version', 'input_file_name', 'input_file_block_start', 'input_file_block_length', 'aes_encrypt', 'over',
        'explode', 'explode_outer', 'posexplode', 'posexplode_outer', 'inline', 'inline_outer', 'stack'
    ] %}
    {#- a star has the package's columns too, and _metadata the file that a row is in -#}
    {% set forbidden = '(?i)\\b(?:' ~ called | join('|') ~ ')(?=\\s*\\()'
        ~ '|(?<![\\w.])(?:select|' ~ bare | join('|') ~ ')\\b(?!\\s*\\.)'
        ~ '|\\bledger_\\w*|(?<![\\w.])_metadata\\b|(?:^|[(,.])\\s*\\*' %}
    {% set found = modules.re.search(forbidden, collapsing._without_literals(sql)) %}
    {% if found %}
        {% do collapsing._raise_setting(
            model_name, setting, "SQL over the row's own columns, which gives the same value each time. It must not use " ~ found.group(0)
            ~ (' (write a column of that name in backticks)' if found.group(0) | lower in bare else ''), sql
        ) %}
    {% endif %}
{% endmacro %}


{# Returns whether SQL is one value: not empty, no list, and each parenthesis that it closes is one that it opened. #}
{% macro _is_one_value(sql) %}
    {% set at, wrong = namespace(depth=0), [] %}
    {% for character in collapsing._without_literals(sql) if character in '(),' %}
        {% set at.depth = at.depth + {'(': 1, ')': -1, ',': 0}[character] %}
        {% do wrong.append(character) if at.depth < 0 or (character == ',' and at.depth == 0) %}
    {% endfor %}
    {{ return(sql.strip() != '' and not wrong and at.depth == 0) }}
{% endmacro %}


{#
    Returns SQL with '' for each literal and comment, which call nothing, and for each quoted name, which is a column, unless that
    begins with ledger_.
#}
{% macro _without_literals(sql) %}
    {% set passed_over = '(?is)\'(?:[^\'\\\\]|\\\\.)*\'|"(?:[^"\\\\]|\\\\.)*"|`(?!ledger_)[^`]*`|--[^\\n]*|/\\*.*?\\*/' %}
    {{ return(modules.re.sub(passed_over, "''", sql)) }}
{% endmacro %}


{#
    Returns the Spark type of SQL over `rows`, which can stand behind `from` and has the `columns` that an error names; `given` is what the user
    wrote. No row is read.
#}
{% macro _type_of_sql(model_name, setting, sql, given, rows, columns=[]) %}
    {% set query, names = 'select (' ~ sql ~ ') as value from ' ~ rows, [] %}
    {% for column in columns if not column.name.startswith('ledger_') %}
        {% do names.append(column.name) %}
    {% endfor %}
    {{ return(try_or_compiler_error(
        "collapsing: model '" ~ model_name ~ "': setting '" ~ setting ~ "' must be SQL that Spark can evaluate over a row; given: " ~ given
        ~ (', over the columns ' ~ names | join(', ') if names) ~ " (Spark's error is in dbt's log)",
        collapsing._columns_of_query, query
    )[0].dtype) }}
{% endmacro %}


{# Raises an error where the SQL of `tombstone_retention` cannot be subtracted from a version, one of `columns`. #}
{% macro _check_retention_sql(settings, columns) %}
    {#- an operation has the spelling of the setting, and the table may have another one -#}
    {% for column in columns if settings.tombstone_retention is not none and column.name | lower == settings.version[0] | lower %}
        {% if column.dtype.startswith(('string', 'varchar', 'char')) %}
            {% do collapsing._raise(
                settings.model, "setting 'tombstone_retention' is subtracted from the greatest version, and '" ~ column.name ~ "' is " ~ column.dtype
                ~ ": what Spark makes of text depends on the session's time zone. Let the stage give it as a number or a timestamp"
            ) %}
        {% endif %}
        {% do collapsing._type_of_sql(
            settings.model, 'tombstone_retention', 'cast(null as ' ~ collapsing._ddl_type(column.dtype) ~ ') - (' ~ settings.tombstone_retention ~ ')',
            settings.tombstone_retention, '(select 1)'
        ) %}
    {% endfor %}
{% endmacro %}
