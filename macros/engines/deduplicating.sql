{# The engine deduplicating: the first row of a key wins for ever (Example1 of the article on versioned collapsing). #}
{% macro _engine_deduplicating(settings) %}
    {{ return({
        'needs': [],
        'ignores': ['version', 'sign', 'partition_by', 'tombstone_retention', 'is_deleted', 'deletes', 'combine'],
        'because': 'the first row of a key wins',
        'looks_up': true,
        'applies': 'last_state.ledger_sign is null',
        'otherwise': 'duplicate',
        'adds_up': true
    }) }}
{% endmacro %}
