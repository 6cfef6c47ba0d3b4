{% macro decisions(ledger, stage) %}
    {% if not execute %}
        {{ return(stage) }}
    {% endif %}
    {% for relation in [ledger, stage] %}
        {% do collapsing._check_relation('decisions', relation) %}
    {% endfor %}
    {% set node = collapsing._model_of(ledger) %}
    {% if collapsing._kind_of(node, 'decisions') != 'ledger' %}
        {{ collapsing._raise(node.name, 'decisions needs a ledger and its stage; this is a projection') }}
    {% endif %}
    {% do collapsing._check_has_stage(node, 'decisions') %}
    {% set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) %}
    {% set columns = collapsing._stage_columns("select * from " ~ stage, settings, node.name) %}
    {% if 'decision' in columns | map(attribute='name') | map('lower') | list %}
        {{ collapsing._raise(
            node.name, "the stage's column 'decision' has the name of what decisions adds: give it another name in a view"
        ) }}
    {% endif %}
    {% do collapsing._check_one_shard(node) %}
    {% set batches = collapsing._batches_of(ledger) %}
    {{ return(collapsing._decided_rows(
        collapsing._in_shard(stage, settings), ledger, settings, columns, batches, collapsing._manifest_of(ledger, batches)
    )) }}
{% endmacro %}
