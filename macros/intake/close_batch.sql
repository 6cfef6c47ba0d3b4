{#
    Runs after a ledger's insert. A batch that appended nothing (every row a duplicate) left no partition, so that its
    blocks would be read again: register it empty. Delta and Iceberg have no empty partition; there such blocks are read
    again by the next run and come to nothing again.
#}
{% macro _close_batch(ledger) %}
    {% if execute and not collapsing._commits_atomically(ledger) %}
        {% set noted = collapsing._batches_of(collapsing._blocks_relation(ledger), ledger) %}
        {% set held = collapsing._batches_of(ledger) %}
        {% if noted and (not held or held.last < noted.last) %}
            alter table {{ ledger }} add if not exists partition (ledger_batch = {{ noted.last }})
        {% endif %}
    {% endif %}
{% endmacro %}
