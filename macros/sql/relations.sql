{# Raises an error where a public macro is given nothing, or a name, in the place of a relation. #}
{% macro _check_relation(macro_name, relation) %}
    {% set is_name = relation is string and not relation.strip().startswith('(') %}
    {% if is_name or relation is undefined or relation is none or relation is number %}
        {% do collapsing._raise(
            model.name if model is defined else '?', macro_name ~ " takes a relation, such as ref('"
            ~ (relation if relation is string and relation else 'orders') ~ "'); given: " ~ (collapsing._shown(relation) if relation else 'nothing')
        ) %}
    {% endif %}
{% endmacro %}


{# Returns a relation as its plain name: under --empty and --sample a ref() renders as a subquery, which cannot be described. #}
{% macro _plain(relation) %}
    {{ return(relation.replace(limit=none, event_time_filter=none) if collapsing._is_subquery(relation) else relation) }}
{% endmacro %}


{# Returns whether a ref() renders as a subquery, as under --empty and --sample. #}
{% macro _is_subquery(relation) %}
    {{ return((relation | string).startswith('(')) }}
{% endmacro %}


{# Returns the package's own table beside another one: <table>__<what>. #}
{% macro _beside(relation, what) %}
    {{ return(api.Relation.create(
        database=relation.database, schema=relation.schema, identifier=relation.identifier ~ '__' ~ what, type='table'
    )) }}
{% endmacro %}


{# Raises an error where another model, seed or snapshot has the name of a table that the package keeps beside this one. #}
{% macro _check_names_beside() %}
    {% for other in graph.nodes.values() if other.resource_type in ['model', 'seed', 'snapshot'] %}
        {% set what = (other.alias | lower).removeprefix(model.alias | lower ~ '__') %}
        {{ collapsing._raise(
            model.name, 'the ' ~ other.resource_type ~ " '" ~ other.name ~ "' is named " ~ other.alias ~ ', as is a table that the package keeps'
            ~ ' beside ' ~ model.alias ~ ': give it another name or alias'
        ) if other.schema | lower == model.schema | lower and other.alias | lower != what
            and what in ['manifest', 'history', 'rejects', 'lock', 'takeover', 'dropped', 'unfinished'] and other.config.materialized != 'ephemeral' }}
    {% endfor %}
{% endmacro %}


{# Raises an error where a table beside another one, which is about to be dropped, has no column that the package gives it. #}
{% macro _check_own(relation, column) %}
    {% set types = collapsing._types_of(relation) %}
    {{ collapsing._raise(
        relation.identifier, 'the table ' ~ relation ~ ', which a run would drop, is not one that this package has created: it has no column '
        ~ column ~ '. Give it another name, or the model'
    ) if types and column not in types }}
{% endmacro %}


{# Returns whether the schema of a relation is there. #}
{% macro _has_schema(relation) %}
    {% set schemas = collapsing._rows_of('show databases' ~ (' in ' ~ adapter.quote(relation.database) if relation.database)) %}
    {{ return(relation.schema | lower in schemas | map('first') | map('lower')) }}
{% endmacro %}


{# Returns whether the catalog has a table or view of this name; dbt's cache may be older. The schema must exist. #}
{% macro _is_in_catalog(relation) %}
    {% set sql = 'show tables in ' ~ relation.without_identifier() ~ " like '" ~ relation.identifier ~ "'" %}
    {{ return(collapsing._rows_of(sql) | length > 0) }}
{% endmacro %}


{#
    Raises an error where dbt knows no table of this name and the catalog has one: another run has created it since dbt listed the schema, or dbt could
    not list the schema, which dbt-spark before 1.11 takes for a schema without tables. A run that took it for new might replace it.
#}
{% macro _check_absent(name, relation) %}
    {{ collapsing._raise(
        name, relation ~ ' is there, but dbt did not find it when this command began: another run has created it since, or the schema '
        ~ "could not be listed (dbt's log says so). Nothing was changed: run it again"
    ) if load_relation(relation) is none and collapsing._is_in_catalog(relation) }}
{% endmacro %}


{# Tells dbt's cache about a table that was created without dbt's help, so that load_relation finds it. #}
{% macro _add_to_cache(relation) %}
    {#- dbt_created: without it dbt compares names case-sensitively -#}
    {% do adapter.cache_added(relation.incorporate(type='table', dbt_created=true)) if load_relation(relation) is none %}
{% endmacro %}


{# Returns a relation with an alias for `from`: also one that renders as a subquery with an alias of its own. #}
{% macro _aliased(relation, alias) %}
    {{ return(('(select * from ' ~ relation ~ ')' if collapsing._is_subquery(relation) else relation) ~ ' as ' ~ alias) }}
{% endmacro %}


{# Returns what the catalog says of a table: {columns: [{name, dtype}], details: {Spark's label, such as 'Location': text}}. #}
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
    {% do collapsing._spell_out_types(found.columns, relation) %}
    {{ return(found) }}
{% endmacro %}


{# Returns what _describe does, also where a ref() renders as a subquery, and no columns where nothing is there. #}
{% macro _describe_if_any(relation) %}
    {% if load_relation(relation) is none %}{{ return({'columns': [], 'details': {}}) }}{% endif %}
    {{ return(collapsing._describe(collapsing._plain(relation))) }}
{% endmacro %}


{# Returns the columns of a query, [{name, dtype}]; no row is read. #}
{% macro _columns_of_query(sql) %}
    {% set columns = [] %}
    {% for row in collapsing._rows_of('describe query ' ~ sql) %}
        {% do columns.append({'name': row[0], 'dtype': row[1]}) %}
    {% endfor %}
    {% do collapsing._spell_out_types(columns, '(' ~ sql ~ '\n)') %}
    {{ return(columns) }}
{% endmacro %}


{#
    Restores the types of columns that Spark has abbreviated: in a description, but not in typeof, it omits the fields of a struct beyond the
    25th (spark.sql.debug.maxToStringFields). `source` is what can stand behind `from`; no row is read.
#}
{% macro _spell_out_types(columns, source) %}
    {% set abbreviated, types = [], [] %}
    {% for column in columns if ' more fields' in column.dtype %}
        {% do abbreviated.append(column) %}
        {% do types.append('typeof(first(' ~ adapter.quote(column.name) ~ '))') %}
    {% endfor %}
    {% set found = collapsing._rows_of('select ' ~ types | join(', ') ~ ' from ' ~ source ~ ' where false')[0] if types else [] %}
    {% for column, dtype in zip(abbreviated, found) %}
        {% do column.update({'dtype': dtype}) %}
    {% endfor %}
{% endmacro %}


{# Returns a value as text for a table's property: JSON in hexadecimal, for Spark hides text with `url` or `token` in it. #}
{% macro _as_property(value) %}
    {{ return(tojson(value).encode('utf-8').hex()) }}
{% endmacro %}


{# Returns a value that _as_property has written, from what _describe returned of a table, or none. #}
{% macro _property_in(described, name) %}
    {% set found = modules.re.search(modules.re.escape(name) ~ '=([0-9a-f]+)', described.details.get('Table Properties', '')) %}
    {% if not found %}{{ return(none) }}{% endif %}
    {% set escaped = modules.re.sub('(..)', '\\\\x\\1', found.group(1)) %}
    {{ return(fromjson(escaped.encode('ascii').decode('unicode_escape').encode('latin-1').decode('utf-8'))) }}
{% endmacro %}


{# Returns the columns' types of a relation, {column name: type}; none while it does not exist. #}
{% macro _types_of(relation) %}
    {{ return(collapsing._types_among(collapsing._describe_if_any(relation).columns)) }}
{% endmacro %}


{# Returns the types of columns, [{name, dtype}], as {column name: type}. #}
{% macro _types_among(columns) %}
    {{ return(dict(zip(columns | map(attribute='name'), columns | map(attribute='dtype')))) }}
{% endmacro %}
