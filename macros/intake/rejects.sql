{# Gives the table that keeps the bad rows of a ledger with `on_bad_rows: reject`. #}
{% macro _rejects_relation(ledger) %}
    {{ return(collapsing._beside(ledger, 'rejects')) }}
{% endmacro %}


{#
    Sets the bad rows of a batch aside: as they were staged, with `ledger_reason`, `ledger_block` and `ledger_batch`, in
    <ledger>__rejects. They become true with the batch, like the note of its blocks: what a killed run has set aside is
    overwritten by the next one, or dropped where that finds none.
#}
{% macro _set_aside(stage, ledger, settings, columns, number, unread, found) %}
    {% if settings.on_bad_rows == 'reject' %}
        {% set rejects = collapsing._rejects_relation(ledger) %}
        {% if found.bad %}
            {% call statement('create_rejects') %}
                create table if not exists {{ rejects }} (
                    {%- for column in columns %}
                    {{ adapter.quote(column.name) }} {{ column.dtype }},
                    {%- endfor %}
                    ledger_reason string,
                    ledger_block string,
                    ledger_batch int
                )
                {{ collapsing._using(ledger) }}
                partitioned by (ledger_batch)
            {% endcall %}
            {% call statement('set_aside') %}
                insert overwrite table {{ rejects }} partition (ledger_batch = {{ number }})
                select
                    {{ collapsing._rejected_values(rejects, settings, columns) | join(',\n                    ') }}
                from {{ stage }}
                where {{ unread }} and ({{ collapsing._is_bad(settings) }})
            {% endcall %}
            {% do adapter.cache_added(rejects) %}
            {% do collapsing._warn_of_rejects(rejects, found, number) %}
        {% elif load_relation(rejects) is not none %}
            {% do collapsing._drop_batches(rejects, ledger, [number]) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#
    Gives SQL for each column of the rejects, in the table's order. A column that is new in the stage is added to the table
    first; one that the stage has no longer is NULL.
#}
{% macro _rejected_values(rejects, settings, columns) %}
    {% set values, dtypes = {}, {} %}
    {% for column in columns %}
        {% do values.update({column.name: adapter.quote(column.name)}) %}
        {% do dtypes.update({column.name: column.dtype}) %}
    {% endfor %}
    {% set stored = adapter.get_columns_in_relation(rejects) | map(attribute='name') | list %}
    {% set added = dtypes.keys() | reject('in', stored) | list %}
    {% do collapsing._add_columns(rejects, dtypes, added) if added %}
    {% do values.update({
        'ledger_reason': collapsing._bad_reason(settings),
        'ledger_block': 'cast(' ~ adapter.quote(settings.block) ~ ' as string)'
    }) %}
    {% set selected = [] %}
    {% for name in adapter.get_columns_in_relation(rejects) | map(attribute='name') if name != 'ledger_batch' %}
        {% do selected.append(values.get(name, 'null') ~ ' as ' ~ adapter.quote(name)) %}
    {% endfor %}
    {{ return(selected) }}
{% endmacro %}


{# Warns of rows that were set aside: how many, why, and where they are. #}
{% macro _warn_of_rejects(rejects, found, number) %}
    {% set counts = [] %}
    {% for reason, rows in found.bad.items() %}
        {% do counts.append(reason ~ ': ' ~ rows) %}
    {% endfor %}
    {% do exceptions.warn(
        "collapsing: model '" ~ model.name ~ "': bad rows were set aside in " ~ rejects ~ ', ledger_batch ' ~ number ~ ' ('
        ~ counts | join(', ') ~ ')'
    ) %}
{% endmacro %}
