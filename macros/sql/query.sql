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


{# Returns {zone} of the session: its time zone. #}
{% macro _session_settings() %}
    {{ return({'zone': collapsing._rows_of('select current_timezone()')[0][0]}) }}
{% endmacro %}


{# Returns whether there are so few rows that they are sent to every task, and the other side is not shuffled. #}
{% macro _is_broadcast(rows) %}
    {{ return(rows <= 1000000) }}
{% endmacro %}


{# Returns whether this command may write: compile, docs, show and test render the same models and must not. #}
{% macro _may_write() %}
    {{ return(flags.WHICH in ['run', 'build']) }}
{% endmacro %}


{# Returns whether a model is only shown: as the query of the rows that its next run would append. #}
{% macro _is_preview() %}
    {{ return(collapsing._knows_models() and not collapsing._may_write() and model.resource_type == 'model') }}
{% endmacro %}


{# Returns what is shown instead of a preview while what a model reads is not there, or does not have all its columns; or none. #}
{% macro _instead_of_preview(relation) %}
    {% set query = '\nselect * from ' ~ relation %}
    {% if load_relation(relation) is none %}
        {{ return('-- what it reads is not there yet: what a run appends is shown once it is' ~ query) }}
    {% endif %}
    {{ return('-- what it reads does not have all its columns yet: what a run appends is shown once it has' ~ query
        if collapsing._awaits_columns(relation) else none) }}
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


{#
    Returns a temporary view of a query's rows. The next statement caches all of them, and _drop_cached drops them. Where there is
    no cache, it is a view alone, from which each statement reads the same blocks again. Spark finds cached rows by their query, not by
    a name: the condition, which its optimizer removes, keeps them apart from those of other ledgers and of killed runs.
#}
{% macro _cache(relation, what, sql) %}
    {% set view = collapsing._cached_view(relation, what) %}
    {#- a SQL warehouse of Databricks has no cache -#}
    {% set is_cached = target.type != 'databricks' or adapter.is_cluster() %}
    {% set creates = 'cache lazy table ' if is_cached else 'create or replace temporary view ' %}
    {% do collapsing._execute(
        creates ~ view ~ ' as\nselect * from (\n' ~ sql ~ '\n)\nwhere ' ~ collapsing._text_literal(view) ~ " <> ''"
    ) %}
    {{ return(view) }}
{% endmacro %}


{#
    Returns the name of a model's temporary view in this run: views have no schema, and those of other runs may be left. The length of the schema's
    name tells the model c in a__b from the model b__c in a.
#}
{% macro _cached_view(relation, what) %}
    {{ return(adapter.quote([
        relation.schema, relation.identifier, what, invocation_id | replace('-', '_'), relation.schema | length
    ] | join('__'))) }}
{% endmacro %}


{# Drops what a run may have cached of a model. What reads another view goes before it: Spark would plan it again otherwise. #}
{% macro _drop_cached(relation, node) %}
    {% for what in (['partials'] if collapsing._is_projection(node) else ['classified', 'unread']) %}
        {% do collapsing._execute('drop view if exists ' ~ collapsing._cached_view(relation, what)) %}
    {% endfor %}
{% endmacro %}
