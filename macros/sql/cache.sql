{#
    Caches the rows of a query once they are read, all of them by the next statement, and returns the session's temporary view that they
    are read from, until _drop_cached drops it. A query that is not costly is a view alone. So is each where there is no cache: there it
    reads the same blocks each time. Spark finds cached rows by their query, not by their name: the condition, which its optimizer
    removes, keeps this run from the rows that a killed one may have left in a server, and from those of another ledger.
#}
{% macro _cache(relation, what, sql, is_costly=true) %}
    {% set view = collapsing._cached_view(relation, what) %}
    {% set creates = 'cache lazy table ' if is_costly and collapsing._has_cache() else 'create or replace temporary view ' %}
    {% do collapsing._execute(
        creates ~ view ~ ' as\nselect * from (\n' ~ sql ~ '\n)\nwhere ' ~ collapsing._text_literal(view) ~ " <> ''"
    ) %}
    {{ return(view) }}
{% endmacro %}


{# Returns whether rows can be cached: a SQL warehouse of Databricks has no such cache. #}
{% macro _has_cache() %}
    {{ return(target.type != 'databricks' or adapter.is_cluster()) }}
{% endmacro %}


{# Returns the name of a model's temporary view in this run: views have no schema, and those of other runs may be left. #}
{% macro _cached_view(relation, what) %}
    {{ return(adapter.quote([relation.schema, relation.identifier, what, invocation_id | replace('-', '_')] | join('__'))) }}
{% endmacro %}


{# Drops what a run may have cached of a model. What reads another view goes before it: Spark would plan it again otherwise. #}
{% macro _drop_cached(relation, node) %}
    {% set join = node.config.meta.collapsing.join %}
    {% set whats = ['partials'] if collapsing._kind_if_any(node) == 'projection' else ['classified', 'unread'] %}
    {% for name in join if join is mapping %}
        {% do whats.extend(['stayed', 'changed_' ~ name] if loop.first else ['changed_' ~ name]) %}
    {% endfor %}
    {% for what in whats %}
        {% do collapsing._execute('drop view if exists ' ~ collapsing._cached_view(relation, what)) %}
    {% endfor %}
{% endmacro %}
