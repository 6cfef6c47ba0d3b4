{#
    Gives the query of a model's rows in the types in which its format keeps them. dbt compares the two at each run where
    `on_schema_change` is set, and takes a type that the format has widened for one that the model has changed.
#}
{% macro _in_kept_types(sql) %}
    {% set columns, widened = [], [] %}
    {% for row in (collapsing._rows_of('describe query ' ~ sql) if config.get('file_format') == 'iceberg' else []) %}
        {% set name, kept = adapter.quote(row[0]), collapsing._kept_type(row[1]) %}
        {% do columns.append(name if kept == row[1] else 'cast(' ~ name ~ ' as ' ~ kept ~ ') as ' ~ name) %}
        {% do widened.append(name) if kept != row[1] %}
    {% endfor %}
    {{ return('select\n    ' ~ columns | join(',\n    ') ~ '\nfrom (\n' ~ sql ~ '\n)' if widened else sql) }}
{% endmacro %}


{# Gives the type in which the model's format keeps values of a Spark type: Iceberg has no integer smaller than int. #}
{% macro _kept_type(dtype) %}
    {{ return(
        modules.re.sub('(^|[<:,])(tinyint|smallint)(?=$|[>,])', '\\1int', dtype) if config.get('file_format') == 'iceberg' else dtype
    ) }}
{% endmacro %}
