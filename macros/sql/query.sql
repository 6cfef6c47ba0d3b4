{# Returns a query's rows as lists of Python values: dbt's run_query guesses types, and makes a number of a token like '007'. #}
{% macro _rows_of(sql) %}
    {% call statement('collapsing_rows', fetch_result=True, auto_begin=False) %}
        {{ sql }}
    {% endcall %}
    {{ return(load_result('collapsing_rows')['data']) }}
{% endmacro %}


{# Runs a statement whose result is not needed. #}
{% macro _execute(sql) %}
    {% call statement('collapsing', auto_begin=False) %}
        {{ sql }}
    {% endcall %}
{% endmacro %}


{# Returns whether a model is only shown, as by compile, docs, show and test: as the query of what its next run would append. #}
{% macro _is_preview() %}
    {{ return(collapsing._knows_models() and flags.WHICH not in ['run', 'build'] and model.resource_type == 'model') }}
{% endmacro %}


{#
    Returns what commands that only show a test show while a relation that it reads is not there, or none where all are. An ephemeral model
    is always there.
#}
{% macro _instead_of_test(relations) %}
    {% for relation in relations if flags.WHICH in ['compile', 'generate', 'show'] and relation and relation is not string
        and not relation.is_cte %}
        {% if load_relation(collapsing._plain(relation)) is none %}
            {{ return('-- what it reads is not there yet: the test is shown once it is\nselect 1 where false') }}
        {% endif %}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Prints one line on the console and in dbt's log, with the model it is about. #}
{% macro _say(name, message) %}
    {% do log('collapsing: ' ~ name ~ ': ' ~ message, info=true) %}
{% endmacro %}


{# Returns a number with its noun. #}
{% macro _with_noun(number, noun) %}
    {{ return(number ~ ' ' ~ noun ~ ('s' if number != 1)) }}
{% endmacro %}


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


{# Returns the types of columns, [{name, dtype}], as {column name: type}. #}
{% macro _types_among(columns) %}
    {{ return(dict(zip(columns | map(attribute='name'), columns | map(attribute='dtype')))) }}
{% endmacro %}
