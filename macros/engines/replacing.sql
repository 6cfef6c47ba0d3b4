{#
    The rules of the engine replacing: of the rows of a key the one with the highest version wins, of equal versions the last
    to arrive; without a version the last to arrive. A deleted row wins like any other, and then its key is gone.
#}


{# Gives the order that puts the winning row of a key first. #}
{% macro _winner_first(settings) %}
    {% set version = [collapsing._row_list(settings.version, suffix=' desc')] if settings.version else [] %}
    {{ return((version + ['ledger_batch desc', 'ledger_place desc']) | join(', ')) }}
{% endmacro %}


{# Gives a subquery of the winning rows, one a key, or one a key and partition; a deleted one (sign 0) is among them. #}
{% macro _winning_rows(ledger, settings, across_partitions) -%}
{%- set winner_of = settings.key + ([] if across_partitions else settings.partition_by) -%}
(
    select * except (ledger_rank)
    from (
        select
            *,
            row_number() over (
                partition by {{ collapsing._row_list(winner_of) }} order by {{ collapsing._winner_first(settings) }}
            ) as ledger_rank
        from {{ ledger }}
    )
    where ledger_rank = 1
)
{%- endmacro %}
