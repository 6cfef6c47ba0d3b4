{#
    The SQL of a setting is evaluated for every copy of a row: for a state row, for the row that cancels it, and when a batch is replayed.
    All must give the same value, so it has to be a function of the row's own columns. Spark checks most of this: in a join condition
    it allows one deterministic value of a row, no aggregate, window or generator, and nothing that depends on where a row is stored. Its
    analysed plan shows the rest: subqueries, and functions of the current time or the session.
#}


{#
    Raises an error where the SQL of a setting is not a function of a row's own columns. Returns the analysed condition that it is NULL.

    given   what the user wrote
    rows    what can stand behind `from`: two relations with `join` between them, whose columns the SQL may name
#}
{% macro _check_row_sql(model_name, setting, sql, given, rows) %}
    {% set plan = collapsing._analysed_plan(model_name, setting, sql, given, rows) %}
    {% set condition = (modules.re.search('(?s)Join Inner, (.*?)\\n\\s*:', plan) or [none, ''])[1] %}
    {#- Spark shows the first 25 arguments of a call; the text that the user gave has all of them -#}
    {% set condition = condition ~ (' ' ~ sql if collapsing._is_abbreviated(condition)) %}
    {% if collapsing._is_spark_error(plan) %}
        {% set said = modules.re.match('(?s)\\S*Exception: (.*?)( SQLSTATE|; line |\\n\\W?[A-Z]\\w+ \\[|$)', plan).group(1) %}
        {% set wrong = 'Spark says: ' ~ modules.re.sub('`ledger_(one|other)`.`ledger_other`, |, `ledger_(one|other)`.`ledger_other`', '', said.split() | join(' ')) | replace('`ledger_one`.', '') %}
    {% else %}
        {#- the second relation has a column of that name only so that there is one -#}
        {% set wrong = "A row has no column 'ledger_other'" if collapsing._reads_column(condition, 'ledger_other')
            else collapsing._changing_part(condition, sql) %}
    {% endif %}
    {{ collapsing._raise_setting(
        model_name, setting, "SQL over the row's own columns, which gives the same whenever it is evaluated. " ~ wrong, given
    ) if wrong }}
    {{ return(condition) }}
{% endmacro %}


{# Raises an error where the SQL of a setting is a list, or closes a parenthesis that it did not open. #}
{% macro _check_one_value(model_name, setting, sql) %}
    {% set values = collapsing._arguments_of(sql) %}
    {{ collapsing._raise_setting(model_name, setting, 'SQL that Spark can parse', sql) if values is none }}
    {#- Spark 4 casts by :: too, as in x::map<string, int> -#}
    {{ collapsing._raise_setting(model_name, setting, 'SQL for one value', sql)
        if values | length > 1 and not modules.re.search('(?i)::\\s*(map|struct|array)\\s*<', sql) }}
{% endmacro %}


{#
    Returns the analysed plan of a join on the condition that some SQL is NULL, or Spark's error in its place; arguments as _check_row_sql has
    them. SQL that does not parse raises an error of this package, because Spark's would not say which setting it is about.
#}
{% macro _analysed_plan(model_name, setting, sql, given, rows) %}
    {#- on one line with what follows: a comment at the end of the SQL would hide that, here and wherever the SQL is used -#}
    {% set explained = try_or_compiler_error(
        "collapsing: model '" ~ model_name ~ "': setting '" ~ setting ~ "' must be SQL that Spark can parse; given: " ~ given,
        collapsing._rows_of, 'explain extended select 1 from ' ~ rows ~ ' on (' ~ sql ~ ') is null'
    )[0][0] %}
    {{ return(explained.split('== Analyzed Logical Plan ==')[1].split('== Optimized Logical Plan ==')[0].strip()) }}
{% endmacro %}


{# Returns whether Spark's error stands in the place of a plan, as _analysed_plan returns it. #}
{% macro _is_spark_error(plan) %}
    {{ return('Exception: ' in plan.split('\n')[0]) }}
{% endmacro %}


{# Raises an error where SQL of `combine` or `tombstone_retention` cannot be evaluated, before anything is written. #}
{% macro _check_ledger_sql(settings, columns) %}
    {% set kept = collapsing._kept_columns(columns, settings) %}
    {% for name in settings.combine %}
        {% do collapsing._check_combined(settings, name, kept) %}
    {% endfor %}
    {% do collapsing._check_retention_sql(settings, columns) %}
{% endmacro %}


{# Raises an error where the SQL of `tombstone_retention` cannot be subtracted from a version, one of `columns`. #}
{% macro _check_retention_sql(settings, columns) %}
    {% set other = [{'name': 'ledger_other', 'dtype': 'int'}] %}
    {% if settings.tombstone_retention is not none %}
        {#- it is subtracted from the greatest version of many rows: it names no column of one -#}
        {#- an operation has the spelling of the setting, and the table may have another one -#}
        {% do collapsing._spell(columns, settings.version[0], {}) %}
        {% set version = columns | selectattr('name', 'equalto', settings.version[0]) | first %}
        {{ collapsing._raise(
            settings.model, "setting 'tombstone_retention' is subtracted from the greatest version, and '" ~ version.name ~ "' is " ~ version.dtype
            ~ ": what Spark makes of text depends on the session's time zone. Let the stage give it as a number or a timestamp"
        ) if collapsing._is_text_type(version.dtype) }}
        {% do collapsing._check_row_sql(
            settings.model, 'tombstone_retention',
            'cast(null as ' ~ collapsing._ddl_type(version.dtype) ~ ') - (' ~ settings.tombstone_retention ~ ')',
            settings.tombstone_retention, collapsing._two_rows('ledger_one', other, 'ledger_other', other)
        ) %}
    {% endif %}
{% endmacro %}


{# Returns what can stand behind `from` for two joined rows of the names and columns given. #}
{% macro _two_rows(one, columns, other, other_columns) %}
    {{ return(
        '(' ~ collapsing._row_of_nulls(columns) ~ ') as ' ~ one ~ ' join (' ~ collapsing._row_of_nulls(other_columns) ~ ') as ' ~ other
    ) }}
{% endmacro %}


{# Returns in words which part of a condition can change while the row does not, or none. Text in quotes calls no function. #}
{% macro _changing_part(condition, sql) %}
    {% set calls = modules.re.sub("'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"", "''", sql) %}
    {% set moment = '(?i)\\b(current_\\w+|now|localtimestamp|session_user|user|version)\\(' %}
    {% set called = '(?i)\\b(current_\\w+|curdate|now|localtimestamp|unix_timestamp|session_user|user|version)\\b' %}
    {#- of an abbreviated condition, what the user wrote without parentheses -#}
    {% set moments = 'current_(?:date|timestamp|time|user|catalog|database|schema|timezone)|localtimestamp|curdate' %}
    {% set bare = '(?i)\\b(' ~ moments ~ '|unix_timestamp(?=\\s*\\(\\s*\\)))\\b' %}
    {% set found = modules.re.search(moment, condition) if modules.re.search(called, calls) else none %}
    {% set found = found or (modules.re.search(bare, calls) if collapsing._is_abbreviated(condition) else none) %}
    {#- Spark regards them as deterministic, but each call draws an initialization vector -#}
    {% set drawn = '(?i)\\b(try_)?aes_encrypt\\(' %}
    {% set today = '(now|today|yesterday|tomorrow)\\b' %}
    {% if modules.re.search('(subquery|exists|list)#\\d+ \\[', condition)
        or collapsing._is_abbreviated(condition) and modules.re.search('(?i)\\(\\s*(select|with)\\b', calls) %}
        {{ return('It has a subquery') }}
    {% elif found %}
        {{ return(found.group(1) ~ '() changes from one run to the next') }}
    {% elif modules.re.search(drawn, condition) %}
        {{ return('aes_encrypt() gives something else each time') }}
    {#- Spark puts the value in place of the second before it parses the SQL -#}
    {% elif 'variablereference(' in condition or '${' in sql %}
        {{ return('A variable of the session, or ${...}, may have another value in the next run') }}
    {% elif modules.re.search('(?i)cast\\(\'?' ~ today ~ '[^()#]* as (date|timestamp)', condition)
        or modules.re.search('(?i)\\b((try_)?to_)?(date|timestamp\\w*)\\s*\\(?\\s*[\'"]\\s*' ~ today, sql) %}
        {{ return('A word such as today or now changes from one run to the next') }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{#
    Returns whether a condition of _check_row_sql depends on the session's time zone: it reads a timestamp, or makes one, or Spark has written the
    zone into it; a cast of a timestamp does not say so, nor does a literal. `sql` is the user's own text, and `columns` are those that it
    may name, [{name, dtype}].
#}
{% macro _depends_on_zone(condition, sql, columns) %}
    {% for column in columns if modules.re.search('timestamp(?!_ntz)', column.dtype)
        and collapsing._reads_column(condition, column.name) %}
        {{ return(true) }}
    {% endfor %}
    {{ return(
        collapsing._is_abbreviated(condition)
        or modules.re.search('(?i)\\btimestamp(_ltz)?\\s*[\'"]', sql) is not none
        or modules.re.search(' as timestamp(?!_ntz)|Some\\(|timestamp_(seconds|millis|micros)\\(|current_timezone\\(', condition) is not none
    ) }}
{% endmacro %}


{# Returns whether SQL, as Spark has analysed it, reads a column, or may do so where Spark has abbreviated it. #}
{% macro _reads_column(condition, name) %}
    {% set ending = '(?!\\w)' if collapsing._is_abbreviated(condition) else '#\\d' %}
    {{ return(modules.re.search('(?i)(?<!\\w)' ~ modules.re.escape(name) ~ ending, condition) is not none) }}
{% endmacro %}


{# Returns whether Spark shows a part of a condition only (spark.sql.debug.maxToStringFields). #}
{% macro _is_abbreviated(condition) %}
    {{ return(modules.re.search('\\.\\.\\. \\d+ more fields', condition) is not none) }}
{% endmacro %}
