{#
    The rows that a batch of a joined ledger appends: of each key that may have changed the joined row before (sign -1) and
    the joined row after (sign 1), and nothing where the two are the same.
#}


{#
    Returns the query of the rows that a batch appends.

    unread   what can stand behind `from` for the rows of _rows_to_join
    number   the batch number of the rows
    ctes     CTEs that come before
    count    how many rows `unread` has
#}
{% macro _joined_rows(sides, unread, number, ctes=[], count=0) -%}
with

{% for cte in ctes + collapsing._rows_of_other_sides(sides, unread, count) -%}
{{ cte }},

{% endfor -%}
{{ collapsing._rows_before_and_after(sides, unread, number, count) if sides[1:] | selectattr('changed') | list
    else collapsing._rows_joined_as_they_stand(sides, unread, number, count) }}
{%- endmacro %}


{# Returns what follows the CTEs where no row that is found has changed: the rows are joined with what is there now. #}
{% macro _rows_joined_as_they_stand(sides, unread, number, count) -%}
appended as (
    select
        {%- for column in sides[0].columns %}
        ledger_image.{{ adapter.quote(column.name) }} as {{ adapter.quote(column.name) }},
        {%- endfor %}
        cast(appended.ledger_sign as tinyint) as ledger_sign,
        ledger_block
    from {{ unread }} as unread
    lateral view inline(array(
        named_struct('sign', -1, 'image', ledger_before), named_struct('sign', 1, 'image', ledger_after)
    )) appended as ledger_sign, ledger_image
    where ledger_image is not null and not ({{ collapsing._same_images(sides[0].columns) }})
)

select {{ '/*+ broadcast(now_' ~ sides[1:] | map(attribute='name') | join(', now_') ~ ') */' if collapsing._is_broadcast(count) }}
    {{ collapsing._select_list(sides[0].columns | map(attribute='name'), of='appended', indent=4) }},
    {%- for side in sides[1:] %}
    {%- for name, theirs in side.takes %}
    now_{{ side.name }}.{{ adapter.quote(theirs) }} as {{ adapter.quote(name) }},
    {%- endfor %}
    {%- endfor %}
    appended.ledger_sign,
    appended.ledger_block,
    {{ number }} as ledger_batch
from appended
{%- for side in sides[1:] %}
{{ side.type }} join now_{{ side.name }} on {{ collapsing._equal(side.on, 'appended', 'now_' ~ side.name) }}
{%- endfor %}
{%- endmacro %}


{# Returns what follows the CTEs otherwise: the joined rows before and after the batch, which are compared. #}
{% macro _rows_before_and_after(sides, unread, number, count) -%}
{%- set images, names = ['ledger_before', 'ledger_after'], [] -%}
{%- for side in sides[1:] -%}
    {%- do names.append(side.name ~ '_ledger_after') -%}
    {#- the rows before hold all changed rows of a side, not only those that are looked up -#}
    {%- do names.append(side.name ~ '_ledger_before') if collapsing._is_broadcast(side.changed_count) -%}
{%- endfor -%}
-- of each key the joined row before the batch and after it; NULL where there is none
joined as (
    select {{ '/*+ broadcast(' ~ names | join(', ') ~ ') */' if collapsing._is_broadcast(count) }}
        {%- for image in images %}
        {{ collapsing._joined_image(sides, image) }} as {{ image }},
        {%- endfor %}
        unread.ledger_block
    from {{ unread }} as unread
    {%- for side in sides[1:] %}
    {%- for image in images %}
    {%- set match = side.name ~ '_' ~ image %}
    left join {{ 'then_' if side.changed and image == 'ledger_before' else 'now_' }}{{ side.name }} as {{ match }} on {{ collapsing._equal(side.on, 'unread.' ~ image, match) }}
    {%- endfor %}
    {%- endfor %}
)

select
    {%- for column in sides[0].joined %}
    ledger_image.{{ adapter.quote(column.name) }} as {{ adapter.quote(column.name) }},
    {%- endfor %}
    cast(appended.ledger_sign as tinyint) as ledger_sign,
    ledger_block,
    {{ number }} as ledger_batch
from joined
lateral view inline(array_compact(array(
    if(ledger_before is null, null, named_struct('sign', -1, 'image', ledger_before)),
    if(ledger_after is null, null, named_struct('sign', 1, 'image', ledger_after))
))) appended as ledger_sign, ledger_image
where not ({{ collapsing._same_images(sides[0].joined) }})
{%- endmacro %}


{#
    Returns, as CTEs, the live rows of each other side that the rows of `unread` find: `now_<name>`; and, where some of them
    have changed, what stood in their place before, `then_<name>`.
#}
{% macro _rows_of_other_sides(sides, unread, count) %}
    {% set ctes = [] %}
    {% for side in sides[1:] %}
        {% set wanted, key = [], side.on | map('last') | list %}
        {% for image in ['ledger_before', 'ledger_after'] %}
            {% set values = [] %}
            {% for mine, theirs in side.on %}
                {% do values.append(image ~ '.' ~ adapter.quote(mine) ~ ' as ' ~ adapter.quote(theirs)) %}
            {% endfor %}
            {% do wanted.append('select ' ~ values | join(', ') ~ ' from ' ~ unread) %}
        {% endfor %}
        {% set found = collapsing._rows_found(
            collapsing._rows_upto(side, side.upto), '(' ~ wanted | join(' union all ') ~ ')', zip(key, key), side.bounds, count
        ) %}
        {% set in_use = collapsing._columns_in_use(side) | map(attribute='name') | list %}
        {% set names = collapsing._column_list((key + in_use) | unique) %}
        {% do ctes.append(
            'now_' ~ side.name ~ ' as (\n    select ' ~ names ~ '\n    from ' ~ collapsing._live_among(side, found) ~ '\n)'
        ) %}
        {% do ctes.append(collapsing._match_before(side, key, names)) if side.changed %}
    {% endfor %}
    {{ return(ctes) }}
{% endmacro %}


{# Returns the CTE of what a side's keys found before its unread batches: what they find now, but for keys that have changed. #}
{% macro _match_before(side, key, names) -%}
{%- set values, used = [], collapsing._columns_in_use(side) | map(attribute='name') | list -%}
{#- a key in use as it read before: the changed rows are grouped by any of the texts that a collation takes for equal -#}
{%- for name in (key + used) | unique -%}
    {%- do values.append(('ledger_before.' if name in used else '') ~ adapter.quote(name)) -%}
{%- endfor -%}
then_{{ side.name }} as (
    select {{ names }}
    from now_{{ side.name }} as now
    left anti join {{ side.changed }} as changed on {{ collapsing._same_key(key, 'now', 'changed') }}
    union all
    select {{ values | join(', ') }}
    from {{ side.changed }}
    where ledger_before is not null
)
{%- endmacro %}


{# Returns SQL for the joined row before or after a batch, a struct; NULL where there is no row, or an inner join finds none. #}
{% macro _joined_image(sides, image) %}
    {% set conditions, fields = ['unread.' ~ image ~ ' is not null'], [] %}
    {% for column in sides[0].columns %}
        {% do fields.append('unread.' ~ image ~ '.' ~ adapter.quote(column.name) ~ ' as ' ~ adapter.quote(column.name)) %}
    {% endfor %}
    {% for side in sides[1:] %}
        {% set found = side.name ~ '_' ~ image ~ '.' %}
        {% do conditions.append(found ~ adapter.quote(side.on[0][1]) ~ ' is not null') if side.type == 'inner' %}
        {% for name, theirs in side.takes %}
            {% do fields.append(found ~ adapter.quote(theirs) ~ ' as ' ~ adapter.quote(name)) %}
        {% endfor %}
    {% endfor %}
    {{ return('if(' ~ conditions | join(' and ') ~ ', struct(' ~ fields | join(', ') ~ '), null)') }}
{% endmacro %}


{# Returns the condition that a row of `columns` is the same before and after the batch; it is not where that cannot be told. #}
{% macro _same_images(columns) %}
    {% set same = [] %}
    {% for column in columns %}
        {% do same.append(collapsing._sql_is_same_value(column, 'ledger_before', 'ledger_after')) %}
    {% endfor %}
    {% do return('ledger_before is null and ledger_after is null') if none in same %}
    {{ return('(ledger_before is null) = (ledger_after is null)\n    and ' ~ same | join('\n    and ')) }}
{% endmacro %}


{# Returns the query of all rows of a joined ledger, from the finals of its sides, as a batch or base `number`. #}
{% macro _whole_join(sides, number) -%}
{%- set first = sides[0] -%}
select
    {{ collapsing._select_list(first.columns | map(attribute='name'), of='`ledger_first`', indent=4) }},
    {%- for side in sides[1:] %}
    {%- for name, theirs in side.takes %}
    {{ adapter.quote(side.name) }}.{{ adapter.quote(theirs) }} as {{ adapter.quote(name) }},
    {%- endfor %}
    {%- endfor %}
    cast(1 as tinyint) as ledger_sign,
    {{ collapsing._text_literal(first.token) }} as ledger_block,
    {{ number }} as ledger_batch
from {{ collapsing._final_of_table(first.relation, first.settings, first.upto) }} as `ledger_first`
{%- for side in sides[1:] %}
{{ side.type }} join {{ collapsing._final_of_table(side.relation, side.settings, side.upto) }} as {{ adapter.quote(side.name) }}
    on {{ collapsing._equal(side.on, '`ledger_first`', adapter.quote(side.name)) }}
{%- endfor %}
{%- endmacro %}
