{% macro changes(ledger, after) %}
    {% do return(ledger) if not collapsing._knows_models() %}
    {% do collapsing._check_relation('changes', ledger) %}
    {% do collapsing._check_built(ledger) if model is defined %}
    {{ collapsing._raise(
        ledger.identifier, "changes needs 'after', the number of the last batch already read (0 for none); given: " ~ collapsing._shown(after)
    ) if after is not integer or after < 0 }}
    {% set node = collapsing._model_of(ledger) %}
    {% do collapsing._kind_of(node, 'changes') %}
    {% do collapsing._check_one_shard(node) %}
    {% do collapsing._check_reader_of_shards('changes', node) %}
    {#- in a ledger or projection it stands in a hook, which feeds nobody -#}
    {% set is_of_user = model is defined and model.unique_id in graph.nodes and collapsing._kind_if_any(model) is none %}
    {% do collapsing._check_feeds(node) if is_of_user %}
    {% do return(collapsing._visible_rows(ledger)) if after == 0 %}
    {% set batches = collapsing._batches_of(collapsing._plain(ledger)) %}
    {% set last = collapsing._last_to_ask_for(ledger, batches) %}
    {{ collapsing._raise(
        node.name, 'changes cannot continue after batch ' ~ after ~ ': the last batch is ' ~ (last or 'none')
    ) if last is not none and after > last }}
    {% set gone = 'changes after=' ~ after ~ ' are gone: the ledger was optimized or rebuilt at a later batch' %}
    {% set advice = '. Read it from the beginning (after=0) and rebuild the model that reads it' %}
    {#- a ledger that was rebuilt continues its numbers: its first batch holds what all earlier ones held -#}
    {{ collapsing._raise(node.name, gone ~ ', ' ~ batches.first ~ advice)
        if batches and after < batches.first and batches.first > 1 }}
    {#- a view over this raises the error too, once a base stands for what it would miss, or `after` is gone -#}
    {% set stop = collapsing._raise_in_sql(node.name ~ ': ' ~ gone ~ advice) %}
    {% set found = '(select ledger_batch from ' ~ collapsing._plain(ledger) ~ ' where ledger_batch ' %}
    {% set found = found ~ '< -' ~ after ~ ' limit 1) union all ' ~ found ~ 'between -' ~ after ~ ' and ' ~ after ~ ' limit 1)' %}
    {#- in a subquery, which runs whatever files Spark skips; and in the scan, for on parquet each lists partitions by itself -#}
    {{ return(
        '(select * from ' ~ ledger ~ ' where (ledger_batch > ' ~ after ~ ' or ledger_batch < -' ~ after ~ ') and if(ledger_batch < -' ~ after
        ~ ', ' ~ stop ~ ', true) and (select if(coalesce(min(ledger_batch) < -' ~ after ~ ', true), '
        ~ stop ~ ', true) from (' ~ found ~ ')))'
    ) }}
{% endmacro %}


{#
    Raises an error where this model feeds a ledger by `changes` of what cannot feed one: a projection, whose own runs merge its partials; shards,
    of which a run has the changes of one alone; and a ledger whose optimize would not hear of it, because dbt lists only the
    macros that a model's own SQL calls when it is parsed.
#}
{% macro _check_feeds(node) %}
    {% set is_projection, shards = collapsing._is_projection(node), collapsing._shards_of(node) %}
    {% set may_feed = 'macro.collapsing.changes' in model.depends_on.macros and not is_projection and not shards %}
    {% for ledger in graph.nodes.values() if not may_feed and collapsing._kind_if_any(ledger) == 'ledger'
        and model.unique_id in collapsing._lineage_of(ledger) | map(attribute='unique_id') %}
        {% set feeds = "it feeds the ledger '" ~ ledger.name ~ "' " %}
        {% if is_projection %}
            {{ collapsing._raise(
                model.name, feeds ~ "with changes of the projection '" ~ node.name ~ "', whose runs merge older batches, which would be folded again: "
                ~ "read final of '" ~ node.name ~ "' instead, or feed it from " ~ collapsing._ledger_of(node).name
            ) }}
        {% elif shards %}
            {{ collapsing._raise(
                model.name, feeds ~ "with changes of '" ~ node.name ~ "', whose keys are split into shards: a run would give it the rows of one shard."
                ~ " Feed it from the stage of '" ~ node.name ~ "'"
            ) }}
        {% else %}
            {{ collapsing._raise(
                model.name, feeds ~ 'and calls collapsing.changes within another macro, or where dbt does not see it'
                ~ ' when it parses, as under is_incremental(), so an optimize of ' ~ node.name
                ~ ' would not know of it: call it in the SQL of the model, in any case'
            ) }}
        {% endif %}
    {% endfor %}
{% endmacro %}
