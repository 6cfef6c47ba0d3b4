{% macro changes(ledger, after) %}
    {% do return(ledger) if not collapsing._knows_models() %}
    {% do collapsing._check_relation('changes', ledger) %}
    {% if after is not integer or after < 0 %}
        {{ collapsing._raise(
            ledger.identifier, "changes needs 'after', the number of the last batch already read (0 for none); given: " ~ collapsing._shown(after)
        ) }}
    {% endif %}
    {% set node = collapsing._model_of(ledger) %}
    {% do collapsing._kind_of(node, 'changes') %}
    {% do collapsing._check_one_shard(node) %}
    {% do collapsing._check_called_openly(node)
        if model is defined and model.unique_id in graph.nodes and not collapsing._is_projection(node) %}
    {% do return(collapsing._visible_rows(ledger)) if after == 0 %}
    {% set batches = collapsing._batches_of(collapsing._plain(ledger)) %}
    {% set last = collapsing._last_to_ask_for(ledger, batches) %}
    {% if last is not none and after > last %}
        {{ collapsing._raise(
            node.name, 'changes has no batch ' ~ after ~ ' to go on after: the last batch is ' ~ (last or 'none')
        ) }}
    {% endif %}
    {% set gone = 'changes after=' ~ after ~ ' are gone: the ledger was optimized or rebuilt at a later batch' %}
    {% set advice = '. Read it from the beginning (after=0) and rebuild the model that reads it' %}
    {#- a ledger that was rebuilt continues its numbers: its first batch holds what all earlier ones held -#}
    {% if batches and after < batches.first and batches.first > 1 %}
        {{ collapsing._raise(node.name, gone ~ ', ' ~ batches.first ~ advice) }}
    {% endif %}
    {#- a view over this raises the error too, once a base stands for what it would miss, or `after` is gone -#}
    {% set stop = collapsing._raise_in_sql(node.name ~ ': ' ~ gone ~ advice) %}
    {% set found = '(select ledger_batch from ' ~ collapsing._plain(ledger) ~ ' where ledger_batch %s limit 1)' %}
    {% set found = found % ('< -' ~ after) ~ ' union all ' ~ found % ('between -' ~ after ~ ' and ' ~ after) %}
    {#- in a subquery, which runs whatever files Spark skips; and in the scan, for on parquet each lists partitions by itself -#}
    {{ return(
        '(select * from ' ~ ledger ~ ' where (ledger_batch > ' ~ after ~ ' or ledger_batch < -' ~ after ~ ') and if(ledger_batch < -' ~ after
        ~ ', ' ~ stop ~ ', true) and (select if(coalesce(min(ledger_batch) < -' ~ after ~ ', true), '
        ~ stop ~ ', true) from (' ~ found ~ ')))'
    ) }}
{% endmacro %}


{#
    Raises an error where another ledger is fed by a call of `changes` that dbt does not list, so that no optimize would hear of it: it lists the
    macros that a model's own SQL calls when it is parsed.
#}
{% macro _check_called_openly(node) %}
    {% for ledger in graph.nodes.values() if 'macro.collapsing.changes' not in model.depends_on.macros
        and collapsing._kind_if_any(ledger) == 'ledger' and model.unique_id in collapsing._lineage_of(ledger) | map(attribute='unique_id') %}
        {{ collapsing._raise(
            model.name, "it feeds the ledger '" ~ ledger.name ~ "' and calls collapsing.changes within another macro, or where dbt does not see it"
            ~ ' when it parses, as under is_incremental(), so that an optimize of ' ~ node.name
            ~ ' would not know: call it in the SQL of the model, in any case'
        ) }}
    {% endfor %}
{% endmacro %}
