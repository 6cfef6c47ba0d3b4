{% macro changes(ledger, after) %}
    {% if execute and (after is not integer or after < 0) %}
        {{ collapsing._raise(
            ledger.identifier, "changes needs 'after', the number of the last batch already read (0 for none); given: " ~ after
        ) }}
    {% elif not execute %}
        {{ return(ledger) }}
    {% endif %}
    {% set node = collapsing._model_of(ledger) %}
    {% do collapsing._kind_of(node, 'changes') %}
    {% do collapsing._check_one_shard(node) %}
    {% if after == 0 %}
        {{ return(collapsing._visible_rows(ledger)) }}
    {% endif %}
    {% set batches = collapsing._batches_of(collapsing._named(ledger)) %}
    {% if batches and after < batches.base %}
        {{ collapsing._raise(
            ledger.identifier, 'changes after=' ~ after ~ ' cannot be told any more: the ledger was optimized up to batch '
            ~ batches.base ~ ', or rebuilt at it. Read it from the beginning (after=0) into a model that is built anew'
        ) }}
    {% endif %}
    {{ return('(select * from ' ~ ledger ~ ' where ledger_batch > ' ~ after ~ ')') }}
{% endmacro %}
