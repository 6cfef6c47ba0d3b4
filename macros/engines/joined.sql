{#
    The rules of a joined ledger's rows. No model asks for them by `engine`: its setting `join` does. A batch has at most one
    cancel row and one state row of a key, both worked out from the ledgers that are read, so that nothing is looked up and no
    tombstone is needed; rules of the fold are not asked for.
#}
{% macro _engine_joined(settings) %}
    {{ return({'cancels': true, 'adds_up': true}) }}
{% endmacro %}
