{% macro changes(ledger, after) %}
    {% if not collapsing._knows_models() %}{{ return(ledger) }}{% endif %}
    {% set node = collapsing._asked_ledger('changes', ledger) %}
    {% if after is not integer or after < 0 %}
        {% do collapsing._raise(
            node.name, "changes needs 'after', the number of the last batch already read (0 for none); given: " ~ collapsing._shown(after)
        ) %}
    {% endif %}
    {% if after == 0 %}{{ return(collapsing._visible_rows(ledger)) }}{% endif %}
    {% set batches = collapsing._batches_of(collapsing._plain(ledger)) %}
    {% set last = collapsing._last_to_ask_for(ledger, batches) %}
    {% if last is not none and after > last %}
        {% do collapsing._raise(
            node.name, 'changes cannot continue after batch ' ~ after ~ ': the last batch is ' ~ (last or 'none')
        ) %}
    {% endif %}
    {% set gone = 'changes after=' ~ after ~ ' are gone: the ledger was optimized or rebuilt at a later batch' %}
    {% set advice = '. Read it from the beginning (after=0) and rebuild the model that reads it' %}
    {#- a ledger that was rebuilt continues its numbers: its first batch holds what all earlier ones held -#}
    {% if batches and after < batches.first and batches.first > 1 %}
        {% do collapsing._raise(node.name, gone ~ ', ' ~ batches.first ~ advice) %}
    {% endif %}
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
