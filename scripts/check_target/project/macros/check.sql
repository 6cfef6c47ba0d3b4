{# What scripts/check-target asks of a target. An answer is one line of dbt's log, `check:` and JSON. #}


{# Returns a table of the check's schema. #}
{% macro check_table(name) %}
    {{ return(api.Relation.create(database=target.get('database') or none, schema=env_var('COLLAPSING_CHECK_SCHEMA'), identifier=name)) }}
{% endmacro %}


{# Returns SQL in which {name} stands for a table of the check's schema. #}
{% macro check_sql(sql) %}
    {% set parts = [] %}
    {% for part in modules.re.split('(\\{\\w+\\})', sql) %}
        {% do parts.append(collapsing_check.check_table(part[1:-1]) | string if part.startswith('{') else part) %}
    {% endfor %}
    {{ return(parts | join) }}
{% endmacro %}


{# Runs statements one after the other, and prints the rows of each that is a query. #}
{% macro check_run(statements) %}
    {% set answers = [] %}
    {% for sql in statements %}
        {% set sql = collapsing_check.check_sql(sql) %}
        {% if sql.startswith(('select', 'show', 'describe')) %}
            {% do answers.append(collapsing._rows_of(sql)) %}
        {% else %}
            {% do collapsing._execute(sql) %}
        {% endif %}
    {% endfor %}
    {% do collapsing_check.check_say(answers) %}
{% endmacro %}


{# Prints an answer. #}
{% macro check_say(answer) %}
    {% do log('check:' ~ tojson(answer), info=true) %}
{% endmacro %}


{# Creates the schema, and prints what the target is. #}
{% macro check_begin() %}
    {% do adapter.create_schema(collapsing_check.check_table('any')) %}
    {% do collapsing_check.check_say({
        'dbt': dbt_version,
        'spark': collapsing._rows_of('select version()')[0][0]
    }) %}
{% endmacro %}


{# Drops the schema with all that is in it. #}
{% macro check_end() %}
    {% do adapter.drop_schema(collapsing_check.check_table('any')) %}
{% endmacro %}


{# Prints the folder of a table. #}
{% macro check_location(name) %}
    {% do collapsing_check.check_say(collapsing._describe(collapsing_check.check_table(name)).details.Location) %}
{% endmacro %}
