{% macro decisions(ledger, stage) %}
    {% do return(stage) if not collapsing._knows_models() %}
    {% set node = collapsing._asked_ledger('decisions', ledger) %}
    {% do collapsing._check_relation('decisions', stage) %}
    {% do collapsing._check_has_stage(node, 'decisions') %}
    {% do collapsing._check_not_ephemeral('decisions', node, stage) %}
    {% set settings = collapsing._ledger_settings(node) %}
    {% set columns = collapsing._stage_columns('select * from ' ~ stage, settings) %}
    {{ collapsing._raise(
        node.name, "the stage's column 'decision' has the name of what decisions adds: give it another name in a view"
    ) if 'decision' in columns | map(attribute='name') | map('lower') | list }}
    {% set batches = collapsing._batches_of(ledger) %}
    {% do collapsing._check_read_by_its_rules(collapsing._describe(collapsing._plain(ledger)), settings) if batches %}
    {{ return(collapsing._decided_rows(
        collapsing._rows_of_shard(stage, settings), ledger, settings, columns, batches, collapsing._manifest_of(ledger, batches)
    )) }}
{% endmacro %}
