{#
    Returns the rows that a batch appends to a ledger that keeps every row, as they are: rows that carry their own sign, and the engine
    replacing. `ledger_place` is the row's place among its key's rows in its batch.

    Without a block token the whole stage is read again by every run; rows that the ledger has already, as often as it
    has them, are then left out; those of a batch that was taken back are not among them.
#}
{% macro _rows_as_they_are(classified, ledger, settings, columns, voided) %}
{%- set kept = collapsing._kept_columns(columns, settings) | map(attribute='name') | list -%}
{%- set compares = ledger and not settings.block -%}
{%- set texts = [] -%}
{#- `except` takes texts that a collation regards as equal for one, and gives -0.0 back as 0.0: so not floats -#}
{%- for column in collapsing._kept_columns(columns, settings) if compares and collapsing._has_collation(column.dtype)
    and not modules.re.search('(^|[<:,])(float|double)($|[,>])', column.dtype) -%}
    {%- do texts.append('cast(' ~ adapter.quote(column.name) ~ ' as string) as ledger_text_' ~ loop.index) -%}
{%- endfor -%}
{%- set texts = texts | join(',\n        ') ~ ',\n        ' if texts else '' -%}
select
    {{ collapsing._select_list(kept, indent=4) }},
    ledger_sign,
    ledger_block,
    row_number() over (
        partition by {{ collapsing._column_list(settings.key) }} order by {{ collapsing._arrival_order(settings, columns, delete='ledger_sign desc') }}
    ) as ledger_place,
    {{ '(select max(ledger_batch) from ' ~ classified ~ ') as ledger_batch' if compares else 'ledger_batch' }}
from (
    select
        {{ collapsing._select_list(kept) }},
        {{ texts }}{{ collapsing._own_sign(settings) }} as ledger_sign,
        ledger_arrival,
        ledger_block
        {%- if not compares %},
        ledger_batch
        {%- endif %}
    from {{ classified }}
    {%- if compares %}
    except all
    select
        {{ collapsing._select_list(kept) }},
        {{ texts }}ledger_sign,
        cast(null as string) as ledger_arrival,
        ledger_block
    from {{ collapsing._rows_not_in(ledger, voided) }}
    {%- endif %}
)
{%- endmacro %}


{# Returns SQL for the sign of a row that is appended as it is. #}
{% macro _own_sign(settings) %}
    {{ return(
        'try_cast(' ~ collapsing._as_number(settings.sign) ~ ' as tinyint)' if settings.is_signed
        else 'cast(if(ledger_delete, 0, 1) as tinyint)'
    ) }}
{% endmacro %}
