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


{# Returns {zone, ansi} of the session: its time zone, and whether its ANSI mode is on. #}
{% macro _session_settings() %}
    {#- coalesce of a number and text has the type string, except in ANSI mode -#}
    {% set row = collapsing._rows_of("select current_timezone(), typeof(coalesce(1, '1')) <> 'string'")[0] %}
    {{ return({'zone': row[0], 'ansi': row[1]}) }}
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
    {% do return('-- what it reads is not there yet: what a run appends is shown once it is' ~ query)
        if load_relation(relation) is none %}
    {{ return('-- what it reads does not have all its columns yet: what a run appends is shown once it has' ~ query
        if collapsing._awaits_columns(relation) else none) }}
{% endmacro %}


{#
    Returns what commands that only show a test show of one that cannot be worked out: a relation that it reads is not there, or the test is
    about one shard, and the command does not say which. None where it can. An ephemeral model is always there.
#}
{% macro _instead_of_test(relations, is_of_one_shard=true) %}
    {% set no_rows = 'select 1 where false' %}
    {% for relation in relations if relation and relation is not string and not relation.is_cte
        and flags.WHICH in ['compile', 'generate', 'show'] %}
        {% set node, plain = collapsing._model_of(relation), collapsing._plain(relation) %}
        {% set names = collapsing._shard_names(node) if node is not none else [] %}
        {% do return("-- it is about one shard: say which by --vars '{collapsing_shard: 0}'\n" ~ no_rows)
            if names and is_of_one_shard %}
        {% for table in (collapsing._tables_of(plain, node) if names else [plain]) if load_relation(table) is none %}
            {% do return('-- what it reads is not there yet: the test is shown once it is\n' ~ no_rows) %}
        {% endfor %}
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
    Returns a temporary view of a query's rows. The next statement caches all of them, and _drop_cached drops them. With `is_costly` false,
    or where there is no cache, it is a view alone, from which each statement reads the same blocks again. Spark finds cached rows by their
    query, not by a name: the condition, which its optimizer removes, keeps them apart from those of other ledgers and of killed runs.
#}
{% macro _cache(relation, what, sql, is_costly=true) %}
    {% set view = collapsing._cached_view(relation, what) %}
    {#- a SQL warehouse of Databricks has no cache -#}
    {% set is_cached = is_costly and (target.type != 'databricks' or adapter.is_cluster()) %}
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
    {% set join = node.config.meta.collapsing.join %}
    {% set whats = ['partials'] if collapsing._is_projection(node) else ['classified', 'unread'] %}
    {% for name in join if join is mapping %}
        {% do whats.extend(['stayed', 'changed_' ~ name] if loop.first else ['changed_' ~ name]) %}
    {% endfor %}
    {% for what in whats %}
        {% do collapsing._execute('drop view if exists ' ~ collapsing._cached_view(relation, what)) %}
    {% endfor %}
{% endmacro %}
