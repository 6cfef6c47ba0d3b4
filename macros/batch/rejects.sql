{# Returns the table that keeps the bad rows of a ledger with `on_bad_rows: reject`. #}
{% macro _rejects_relation(ledger) %}
    {{ return(collapsing._beside(ledger, 'rejects')) }}
{% endmacro %}


{#
    Writes the bad rows of a batch to <ledger>__rejects: as they were staged, with `ledger_reason`, `ledger_block` and
    `ledger_batch`. They count once the batch is committed, like its manifest: what a killed run has written is overwritten by the
    next one, or dropped where that finds none.
#}
{% macro _write_rejects(unread, ledger, settings, columns, batch) %}
    {% set rejects = collapsing._rejects_relation(ledger) %}
    {% if not batch.bad %}
        {% do collapsing._drop_batches(rejects, [batch.number], ledger)
            if settings.on_bad_rows == 'reject' and load_relation(rejects) is not none %}
        {{ return(none) }}
    {% endif %}
    {% set definitions = [] %}
    {% for column in columns %}
        {% do definitions.append(adapter.quote(column.name) ~ ' ' ~ column.dtype) %}
    {% endfor %}
    {% do collapsing._create_beside(
        rejects, ledger, (definitions + ['ledger_reason string, ledger_block string, ledger_batch int']) | join(', ')
    ) %}
    {% call statement('write_rejects') %}
        insert overwrite table {{ rejects }} partition (ledger_batch = {{ batch.number }})
        select
            {{ collapsing._rejected_values(rejects, settings, columns) | join(',\n            ') }}
        from {{ unread }}
        where {{ collapsing._is_bad(settings) }}
    {% endcall %}
    {% set counts = [] %}
    {% for reason, rows in batch.bad.items() %}
        {% do counts.append(reason ~ ': ' ~ rows) %}
    {% endfor %}
    {% do exceptions.warn(
        "collapsing: model '" ~ model.name ~ "': bad rows were set aside in " ~ rejects ~ ', ledger_batch ' ~ batch.number ~ ' ('
        ~ counts | join(', ') ~ ')'
    ) %}
{% endmacro %}


{#
    Returns SQL for each column of the rejects, in the table's order. A column that is new in the stage is added to the table
    first; one that the stage has no longer is NULL.
#}
{% macro _rejected_values(rejects, settings, columns) %}
    {% set values = {
        'ledger_reason': collapsing._bad_reason(settings),
        'ledger_block': 'cast(' ~ adapter.quote(settings.block) ~ ' as string)'
    } %}
    {% for column in columns %}
        {% do values.update({column.name: adapter.quote(column.name)}) %}
    {% endfor %}
    {% set stored = collapsing._describe(rejects).columns | map(attribute='name') | list %}
    {% set added = columns | rejectattr('name', 'in', stored) | list %}
    {% do collapsing._add_columns(rejects, added) if added %}
    {% set selected = [] %}
    {% for name in stored + added | map(attribute='name') | list if name != 'ledger_batch' %}
        {% do selected.append(values.get(name, 'null') ~ ' as ' ~ adapter.quote(name)) %}
    {% endfor %}
    {{ return(selected) }}
{% endmacro %}
