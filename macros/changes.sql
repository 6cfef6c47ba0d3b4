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
    {% set found = '(select ledger_batch from ' ~ ledger ~ ' where ledger_batch %s limit 1)' %}
    {% set found = found % ('< -' ~ after) ~ ' union all ' ~ found % ('between -' ~ after ~ ' and ' ~ after) %}
    {#- within a subquery, for that runs whatever files Spark skips -#}
    {{ return(
        '(select * from ' ~ ledger ~ ' where ledger_batch > ' ~ after ~ ' and (select if(coalesce(min(ledger_batch) < -' ~ after ~ ', true), '
        ~ stop ~ ', true) from (' ~ found ~ ')))'
    ) }}
{% endmacro %}
