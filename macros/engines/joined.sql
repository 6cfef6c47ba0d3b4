{#
    The rules of a joined ledger's rows. No model asks for them by `engine`: its setting `join` does. A batch has at most one
    cancel row and one state row of a key, both worked out from the ledgers that are read, so that nothing is looked up and no
    tombstone is needed.
#}
{% macro _engine_joined(settings) %}
    {{ return({
        'needs': [],
        'ignores': [],
        'because': 'its rows follow from the ledgers that it joins',
        'looks_up': false,
        'keeps_every_row': false,
        'is_joined': true,
        'order': '',
        'last_arrival': false,
        'last_state': 'ledger_batch desc, ledger_sign desc',
        'cancels': true,
        'adds_up': true,
        'tombstones': false,
        'final': none
    }) }}
{% endmacro %}
