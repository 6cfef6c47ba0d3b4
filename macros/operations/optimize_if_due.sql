{#
    Runs after a ledger's insert, with `optimize: auto`: optimizes it when at least half of its rows (or the share that the setting
    names) are dead. Of events the rows tell how many are live; of rows that are kept as they are, an estimate of how many keys
    there are stands for it.
#}
{% macro _optimize_if_due(ledger, settings) %}
    {% if settings.optimize != 'manual' %}
        {% set live = 'approx_count_distinct(struct(' ~ collapsing._row_list(settings.key) ~ '))'
            if collapsing._engine(settings).keeps_every_row else 'count_if(ledger_sign = 0) + sum(ledger_sign)' %}
        {% set row = collapsing._rows_of('select count(*), ' ~ live ~ ' from ' ~ collapsing._visible_rows(ledger))[0] %}
        {% set threshold = 0.5 if settings.optimize == 'auto' else settings.optimize %}
        {% if row[0] and (row[0] - row[1]) / row[0] >= threshold %}
            {% do collapsing._optimize_ledger(collapsing._model_of(ledger), ledger, 0) %}
        {% endif %}
    {% endif %}
{% endmacro %}
