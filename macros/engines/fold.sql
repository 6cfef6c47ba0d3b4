{#
    Gives the rows that one batch appends to a ledger, by the ledger's engine and input.

    stage     relation or subquery of the staged rows, system columns not among them
    ledger    relation of the ledger, or none when it is built from nothing
    settings  as _ledger_settings gives them
    columns   the stage's columns, a list of {name, dtype}
    batch     as _take_batch gives it: number, unread, bounds, rows
#}
{% macro _fold(stage, ledger, settings, columns, batch) %}
    {% if settings.engine == 'deduplicating' %}
        {{ return(collapsing._fold_deduplicating(stage, ledger, settings, columns, batch)) }}
    {% elif collapsing._keeps_every_row(settings) and not settings.combine %}
        {{ return(collapsing._append_rows(stage, ledger, settings, columns, batch)) }}
    {% endif %}
    {{ return(collapsing._fold_events(stage, ledger, settings, columns, batch)) }}
{% endmacro %}


{#
    Gives whether a ledger appends rows as they are, so that who wins is decided when it is read. It then holds several rows
    of a key in a batch, and `ledger_place`, the row's place among them, tells which came last.
#}
{% macro _keeps_every_row(settings) %}
    {{ return(settings.input == 'signed' or settings.engine == 'replacing') }}
{% endmacro %}
