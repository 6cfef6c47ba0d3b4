{% macro changes(ledger, after) %}
    {% if execute and (after is not integer or after < 0) %}
        {{ collapsing._refuse(
            ledger.identifier, "changes needs 'after', the number of the last batch already read (0 for none); given: " ~ after
        ) }}
    {% endif %}
    {{ return('(select * from ' ~ ledger ~ ' where ledger_batch > ' ~ after ~ ')') }}
{% endmacro %}
