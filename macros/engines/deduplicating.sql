{#
    The fold of the engine deduplicating: the first row of a key wins for ever (Example1 of the versioned collapsing
    article). Gives a state row (1) for every key that the ledger has not seen. Arguments as for _fold.
#}
{% macro _fold_deduplicating(stage, ledger, settings, columns, batch) %}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
with

{{ collapsing._unread_rows(stage, settings, kept, batch) }},

{% if ledger -%}
{{ collapsing._touched_rows(ledger, settings, batch) }},

{% endif -%}
{{ collapsing._deciding_events(settings, columns) }}

select
    {{ collapsing._select_list(kept, of='arrived', indent=4) }},
    cast(1 as tinyint) as ledger_sign,
    arrived.ledger_block,
    {{ batch.number }} as ledger_batch
from arrived
{%- if ledger %}
left anti join touched on {{ collapsing._same_key(settings.key, 'arrived', 'touched') }}
{%- endif %}
{% endmacro %}
