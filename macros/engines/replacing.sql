{#
    The engine replacing: of the rows of a key the one with the highest version wins, of equal versions the last to arrive; without
    a version the last to arrive. A deleted row wins like any other, and then its key is gone. Rows are appended as they are.
#}
{% macro _engine_replacing(settings) %}
    {% set version = collapsing._column_list(settings.version, suffix=' desc') %}
    {% set not_older = 'coalesce(' ~ collapsing._compares(settings, 'incoming', '>=', 'last_state') ~ ', true)' if version
        else 'true' %}
    {{ return({
        'needs': ['block'] if settings.version else ['order_by', 'block'],
        'ignores': ['deletes'],
        'because': 'the highest version wins, and a delete is ordered like any other row' if settings.version
            else 'without a version the last row to arrive wins, and a delete is ordered like any other row',
        'looks_up': true,
        'keeps_every_row': true,
        'order': version,
        'last_arrival': true,
        'last_state': (version ~ ', ' if version else '') ~ 'ledger_batch desc, ledger_place desc',
        'applies': not_older if settings.combine else 'not ({same_content}) and ' ~ not_older,
        'sequence': settings.version + ['ledger_arrival'],
        'in_sequence': 'old.ledger_sign is null or ' ~ collapsing._compares(settings, 'new', '>=', 'old') if version else 'true',
        'otherwise': 'superseded',
        'tombstones': true,
        'collapsed': collapsing._winners_by_partition
    }) }}
{% endmacro %}


{# Returns a subquery of the last state of each key and partition, within which a merge stays; deleted rows are kept. #}
{% macro _winners_by_partition(rows, settings) %}
    {{ return(collapsing._first_rows(rows, settings.key + settings.partition_by, collapsing._engine(settings).last_state)) }}
{% endmacro %}
