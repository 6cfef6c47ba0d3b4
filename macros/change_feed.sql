{% macro change_feed(feed, keep, before='before', after='after', op='op', sign='sign') %}
{%- do collapsing._check_relation('change_feed', feed) if execute -%}
{%- set kept = keep if keep is iterable and keep is not string else [keep] -%}
{{- collapsing._raise(
    model.name if model is defined else '?', "change_feed needs 'keep', the column or columns of the feed beside the images, such as its"
    ~ ' position; given: ' ~ (collapsing._shown(keep) if keep else 'nothing')
) if execute and (not kept or '' in kept or kept is mapping or kept | reject('string') | list) -}}
{%- set before, after, op = adapter.quote(before), adapter.quote(after), adapter.quote(op) -%}
{%- set lacks_one = before ~ ' is null or ' ~ after ~ ' is null' -%}
(
    select
        ledger_change.image.*,
        ledger_change.sign as {{ adapter.quote(sign) }}
        {%- for column in kept %},
        feed.{{ adapter.quote(column) }}
        {%- endfor %}
    from {{ collapsing._aliased(feed, 'feed') }}
    -- a missing image leaves rows without a sign, which the ledger does not fold: not half of a change either
    lateral view explode(
        case
            when {{ op }} in ('c', 'r')
                then array(named_struct('image', {{ after }}, 'sign', cast(if({{ after }} is null, null, 1) as tinyint)))
            when {{ op }} = 'u'
                then array(
                    named_struct(
                        'image', coalesce({{ before }}, {{ after }}),
                        'sign', cast(if({{ lacks_one }}, null, -1) as tinyint)
                    ),
                    named_struct(
                        'image', coalesce({{ after }}, {{ before }}),
                        'sign', cast(if({{ lacks_one }}, null, 1) as tinyint)
                    )
                )
            when {{ op }} = 'd'
                then array(named_struct('image', {{ before }}, 'sign', cast(if({{ before }} is null, null, -1) as tinyint)))
            -- the empty message that may follow a delete
            when {{ op }} is null and {{ before }} is null and {{ after }} is null then array()
            else array(named_struct('image', coalesce({{ after }}, {{ before }}), 'sign', cast(null as tinyint)))
        end
    ) ledger_changes as ledger_change
)
{%- endmacro %}
