{# Stops when the stage's columns are no longer those that the ledger keeps: rows must never land in another column. #}
{% macro _refuse_changed_columns(ledger, settings, columns) %}
    {% set kept = collapsing._kept_columns(columns, settings) %}
    {% set wanted, stored = {}, {} %}
    {% for column in kept %}
        {% do wanted.update({column.name: column.dtype}) %}
    {% endfor %}
    {% for column in adapter.get_columns_in_relation(ledger) if not column.name.startswith('ledger_') %}
        {% do stored.update({column.name: column.dtype}) %}
    {% endfor %}
    {% set changes = [] %}
    {% for name in wanted if name not in stored %}
        {% do changes.append("'" ~ name ~ "' is new in the stage") %}
    {% endfor %}
    {% for name in stored if name not in wanted %}
        {% do changes.append("'" ~ name ~ "' is gone from the stage") %}
    {% endfor %}
    {% for name in stored if name in wanted and stored[name] != wanted[name] %}
        {% do changes.append("'" ~ name ~ "' was " ~ stored[name] ~ ' and is ' ~ wanted[name]) %}
    {% endfor %}
    {% if changes %}
        {{ collapsing._refuse(
            model.name, "the stage's columns are not the ledger's any more: " ~ changes | join('; ')
            ~ '. Give the stage its old columns back, or rebuild the ledger with --full-refresh if the stage still holds every block'
        ) }}
    {% endif %}
{% endmacro %}
