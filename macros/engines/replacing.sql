{#
    The engine replacing: of the rows of a key the one with the highest version wins, of equal versions the last to arrive; without
    a version the last to arrive. A deleted row wins like any other, and then its key is gone. Rows are appended as they are.
#}
{% macro _engine_replacing(settings) %}
    {% set version = collapsing._row_list(settings.version, suffix=' desc') %}
    {% set not_older = 'coalesce(' ~ collapsing._compares(settings, 'incoming', '>=', 'last_state') ~ ', true)' if version
        else 'true' %}
    {{ return({
        'needs': [] if settings.version else ['order_by'],
        'ignores': ['deletes'],
        'because': 'the highest version wins, and a delete is ordered like any other row' if settings.version
            else 'without a version the last row to arrive wins, and a delete is ordered like any other row',
        'looks_up': settings.combine or (settings.count_decisions and settings.block),
        'keeps_every_row': true,
        'order': version,
        'last_arrival': true,
        'last_state': collapsing._winner_first(settings),
        'applies': not_older if settings.combine else 'not {same_content} and ' ~ not_older,
        'sequence': settings.version + ['ledger_arrival'],
        'in_sequence': 'old.ledger_sign is null or ' ~ collapsing._compares(settings, 'new', '>=', 'old') if version else 'true',
        'rank_in_sequence': '1',
        'otherwise': 'superseded',
        'tombstones': true,
        'final': collapsing._winning_states,
        'collapsed': collapsing._winners_by_partition
    }) }}
{% endmacro %}


{# Returns the order that puts the winning row of a key first. #}
{% macro _winner_first(settings) %}
    {% set version = [collapsing._row_list(settings.version, suffix=' desc')] if settings.version else [] %}
    {{ return((version + ['ledger_batch desc', 'ledger_place desc']) | join(', ')) }}
{% endmacro %}


{# Returns a subquery of the rows that FINAL shows: one per key, unless the winner is a deleted one (sign 0). #}
{% macro _winning_states(rows, settings) %}
    {% set winners = collapsing._first_rows(rows, settings.key, collapsing._winner_first(settings)) %}
    {{ return('(select * from ' ~ winners ~ ' where ledger_sign = 1)') }}
{% endmacro %}


{# Returns a subquery of the rows that OPTIMIZE FINAL leaves: a merge stays within a partition, and keeps deleted rows. #}
{% macro _winners_by_partition(rows, settings) %}
    {{ return(collapsing._first_rows(rows, settings.key + settings.partition_by, collapsing._winner_first(settings))) }}
{% endmacro %}
