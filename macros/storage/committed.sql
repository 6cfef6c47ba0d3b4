{#
    Returns a subquery of the rows of a ledger's manifest that count, each once, for SQL that stays in a view: it contains no batch number, and
    reads the tables in every query. A batch is committed if the ledger has a row of it, or its base stands for it. What a base stands for
    is in the base's partition of the manifest too, to which an optimize copies it before the base is there. Batches do not count that a
    ledger of the same name had before it was created anew.
#}
{% macro _committed_manifest(ledger) -%}
(
    select manifest.*
    from {{ collapsing._manifest_relation(ledger) }} as manifest
    cross join (
        select min(ledger_batch) as least, max(abs(ledger_batch)) as greatest
        from {{ collapsing._named(ledger) }}
    )
    where ledger_batch = least or (ledger_batch > abs(least) and ledger_batch <= greatest)
)
{%- endmacro %}
