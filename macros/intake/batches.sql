{#
    Gives {first, last} of the batch numbers that a ledger or projection holds, or none where it holds no batch. On
    parquet a batch is what is registered as a partition: files of a killed run are not, and are never counted. `model_relation`
    is the ledger or projection whose format the relation has.
#}
{% macro _batches_of(relation, model_relation=none) %}
    {% set existing = load_relation(relation) %}
    {% if existing is none %}
        {{ return(none) }}
    {% endif %}
    {% set numbers = [] %}
    {% if collapsing._commits_atomically(model_relation or relation) %}
        {% for row in collapsing._rows_of('select min(ledger_batch), max(ledger_batch) from ' ~ existing) if row[0] is not none %}
            {% do numbers.extend([row[0] | int, row[1] | int]) %}
        {% endfor %}
    {% else %}
        {% for row in collapsing._rows_of('show partitions ' ~ existing) %}
            {% do numbers.append(row[0].split('=')[1] | int) %}
        {% endfor %}
    {% endif %}
    {{ return({'first': numbers | min, 'last': numbers | max} if numbers else none) }}
{% endmacro %}


{# Gives whether an append to a model's table is one atomic commit, as the formats with a transaction log have it. #}
{% macro _commits_atomically(relation) %}
    {{ return(collapsing._model_of(relation).config.file_format in ['delta', 'iceberg']) }}
{% endmacro %}
