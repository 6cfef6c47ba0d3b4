{# Returns a relation as its plain name: under --empty and --sample a ref() renders as a subquery, which cannot be described. #}
{% macro _named(relation) %}
    {{ return(api.Relation.create(database=relation.database, schema=relation.schema, identifier=relation.identifier)) }}
{% endmacro %}


{# Returns whether a ref() renders as a subquery, as under --empty and --sample. #}
{% macro _is_subquery(relation) %}
    {{ return(relation | string != collapsing._named(relation) | string) }}
{% endmacro %}


{# Returns the package's own table beside another one: <table>__<what>. #}
{% macro _beside(relation, what) %}
    {{ return(api.Relation.create(
        database=relation.database, schema=relation.schema, identifier=relation.identifier ~ '__' ~ what, type='table'
    )) }}
{% endmacro %}


{# Tells dbt's cache of a table that was created without its help, so that load_relation finds it. #}
{% macro _add_to_cache(relation) %}
    {% do adapter.cache_added(relation.incorporate(type='table')) if load_relation(relation) is none %}
{% endmacro %}


{# Returns a relation with an alias for `from`: also one that renders as a subquery with an alias of its own. #}
{% macro _aliased(relation, alias) %}
    {% set rendered = relation | string %}
    {{ return(('(select * from ' ~ rendered ~ ')' if rendered.startswith('(') else rendered) ~ ' as ' ~ alias) }}
{% endmacro %}


{#
    Returns what the catalog says of a table, from one statement: {columns: [{name, dtype}], details: {label: text}}, the labels
    being those of Spark, such as 'Location' and 'Table Properties'.
#}
{% macro _describe(relation) %}
    {% set found = {'columns': [], 'details': {}} %}
    {% set at = namespace(columns=true) %}
    {% for row in collapsing._rows_of('describe table extended ' ~ relation) %}
        {#- every column has a type; the heading after the last one has none -#}
        {% set at.columns = at.columns and row[1] not in ['', none] %}
        {% if at.columns %}
            {% do found.columns.append({'name': row[0], 'dtype': row[1]}) %}
        {% else %}
            {% do found.details.update({row[0]: row[1]}) %}
        {% endif %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# Returns the columns of a query, [{name, dtype}]; no row is read. #}
{% macro _columns_of_query(sql) %}
    {% set columns, abbreviated = [], [] %}
    {% for row in collapsing._rows_of('describe query ' ~ sql) %}
        {% do columns.append({'name': row[0], 'dtype': row[1]}) %}
        {#- Spark abbreviates a struct of more than 25 fields (spark.sql.debug.maxToStringFields), but not in typeof -#}
        {% do abbreviated.append(columns[-1]) if ' more fields' in row[1] %}
    {% endfor %}
    {% if abbreviated %}
        {% set types = [] %}
        {% for column in abbreviated %}
            {% do types.append('typeof(first(' ~ adapter.quote(column.name) ~ '))') %}
        {% endfor %}
        {% set row = collapsing._rows_of('select ' ~ types | join(', ') ~ ' from (' ~ sql ~ ') where false')[0] %}
        {% for column in abbreviated %}
            {% do column.update({'dtype': row[loop.index0]}) %}
        {% endfor %}
    {% endif %}
    {{ return(columns) }}
{% endmacro %}


{#
    Returns a value as the text of a table's property: JSON, each of its bytes as two digits. Spark shows no property whose text has a
    word such as `url` or `token` in it, and a column may well have such a name.
#}
{% macro _as_property(value) %}
    {{ return(tojson(value).encode('utf-8').hex()) }}
{% endmacro %}


{# Returns a value that _as_property has written, from what _describe returned of a table, or none. #}
{% macro _property_in(described, name) %}
    {% set found = modules.re.search(modules.re.escape(name) ~ '=([0-9a-f]+)', described.details.get('Table Properties', '')) %}
    {% if not found %}
        {{ return(none) }}
    {% endif %}
    {% set escaped = modules.re.sub('(..)', '\\\\x\\1', found.group(1)) %}
    {{ return(fromjson(escaped.encode('ascii').decode('unicode_escape').encode('latin-1').decode('utf-8'))) }}
{% endmacro %}


{# Returns a property of a table, or none. #}
{% macro _property_of(relation, name) %}
    {% for row in collapsing._rows_of('show tblproperties ' ~ relation) if row[0] == name %}
        {{ return(row[1]) }}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}
