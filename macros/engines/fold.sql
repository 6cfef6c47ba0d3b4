{# Gives the rows that one batch appends to a ledger, by the ledger's engine; arguments as for _fold_versioned_collapsing. #}
{% macro _fold(stage, ledger, settings, columns, batch) %}
    {% if settings.engine == 'deduplicating' %}
        {{ return(collapsing._fold_deduplicating(stage, ledger, settings, columns, batch)) }}
    {% endif %}
    {{ return(collapsing._fold_versioned_collapsing(stage, ledger, settings, columns, batch)) }}
{% endmacro %}
