{% macro decisions(ledger, stage) %}
    {% if not collapsing._knows_models() %}{{ return(stage) }}{% endif %}
    {% set node = collapsing._asked_ledger('decisions', ledger) %}
    {% do collapsing._check_relation('decisions', stage) %}
    {% do collapsing._check_not_ephemeral('decisions', node, stage) %}
    {% set settings = collapsing._ledger_settings(node) %}
    {% set columns = collapsing._stage_columns('select * from ' ~ stage, settings) %}
    {% if 'decision' in columns | map(attribute='name') | map('lower') | list %}
        {% do collapsing._raise(
            node.name, "the stage's column 'decision' has the name of what decisions adds: give it another name in a view"
        ) %}
    {% endif %}
    {% set batches = collapsing._batches_of(ledger) %}
    {% if batches %}
        {% do collapsing._check_read_by_its_rules(collapsing._describe(collapsing._plain(ledger)), settings) %}
    {% endif %}
    {{ return(collapsing._decided_rows(stage, ledger, settings, columns, batches, collapsing._manifest_of(ledger, batches))) }}
{% endmacro %}
