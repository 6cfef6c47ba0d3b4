{#
    What has changed on the sides of a joined ledger, as SQL. Per key of a side only two rows count, however many batches are
    read at once: the one that stood before them, and the one that stands after them. docs/joins.md has the algebra.
#}


{# Returns a side's rows of its batches (after, upto], or of all up to `upto`; the query stops if the side was rebuilt since. #}
{% macro _rows_upto(side, upto, after=none) %}
    {% set read = collapsing._sql_is_upto(side.relation, side.batches, upto, after) %}
    {{ return('(select * from ' ~ side.relation ~ ' where ' ~ read ~ ' and ledger_sign <> 0)') }}
{% endmacro %}


{#
    Returns a subquery of those among a side's `rows` whose columns find a row of `wanted`. Up to a million rows of it go to
    every task, so that the side is not shuffled: `count` is how many there are, none where nobody knows. `pairs` are [column of
    the side, column of `wanted`], `bounds` literal ranges over the alias `stored`, or none.
#}
{% macro _rows_found(rows, wanted, pairs, bounds, count) -%}
(
        select {{ '/*+ broadcast(wanted) */ ' if count is not none and collapsing._is_broadcast(count) }}stored.*
        from {{ rows }} as stored
        left semi join {{ wanted }} as wanted on {{ collapsing._equal(pairs, 'stored', 'wanted') }}
        {%- if bounds %}
        where {{ bounds }}
        {%- endif %}
    )
{%- endmacro %}


{# Returns a subquery of the live rows among all rows that a side has of some keys. #}
{% macro _live_among(side, rows) %}
    {{ return((collapsing._engine(side.settings).final or collapsing._live_last_states)(rows, side.settings)) }}
{% endmacro %}


{# Returns aggregates: `values` of a key before the first and after the last of its rows in some batches, NULL for no row. #}
{% macro _before_and_after(values) -%}
min_by(if(ledger_sign = -1, {{ values }}, null), struct(ledger_batch, ledger_sign)) as ledger_before,
    max_by(if(ledger_sign = 1, {{ values }}, null), struct(ledger_batch, ledger_sign)) as ledger_after
{%- endmacro %}


{#
    Returns a query of the keys of the first ledger that its unread batches have rows of, with their rows before and after:
    `ledger_before` and `ledger_after`, structs of its columns. A cancel row of events is a copy of what stood before, so that
    nothing is looked up. For rows with their own sign the older rows of the keys are needed too.
#}
{% macro _moved_rows(first) %}
{%- set key, row = collapsing._column_list(first.settings.key), collapsing._row_as_struct(first.columns) -%}
{%- if not collapsing._engine(first.settings).keeps_every_row -%}
select
    {{ key }},
    {{ collapsing._before_and_after(row) }}
from {{ collapsing._rows_upto(first, first.upto, first.after) }}
group by {{ key }}
{%- else -%}
select
    {{ key }},
    any_value(ledger_row) filter (where not ledger_is_after) as ledger_before,
    any_value(ledger_row) filter (where ledger_is_after) as ledger_after
from (
    {%- for upto in [first.after, first.upto] %}
    select {{ key }}, {{ row }} as ledger_row, {{ 'true' if loop.last else 'false' }} as ledger_is_after
    from {{ collapsing._live_among(first, collapsing._rows_of_unread_keys(first, upto)) }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
)
group by {{ key }}
{%- endif -%}
{% endmacro %}


{# Returns a subquery of the rows up to a batch that a side has of the keys in its unread batches. #}
{% macro _rows_of_unread_keys(side, upto) %}
    {{ return(collapsing._rows_found(
        collapsing._rows_upto(side, upto), collapsing._rows_upto(side, side.upto, side.after), zip(side.settings.key, side.settings.key), none, none
    )) }}
{% endmacro %}


{#
    Returns a query of the keys of another side whose columns in use are not what they were before its unread batches, with
    these columns before and after. Other columns may change as they like. For a left join no row and a row of NULLs are the
    same.
#}
{% macro _changed_rows(side) -%}
{%- set key, used = collapsing._column_list(side.on | map('last')), collapsing._columns_in_use(side) -%}
{%- set same = [] -%}
{%- do same.append('(ledger_before is null) = (ledger_after is null)') if side.type == 'inner' -%}
{%- for column in used -%}
    {%- do same.append(collapsing._sql_is_same_value(column, 'ledger_before', 'ledger_after') or 'false') -%}
{%- endfor -%}
select *
from (
    select
        {{ key }},
        {{ collapsing._before_and_after(collapsing._row_as_struct(used)) }}
    from {{ collapsing._rows_upto(side, side.upto, side.after) }}
    group by {{ key }}
)
where not ({{ same | join(' and ') }})
{%- endmacro %}


{# Returns SQL for a row as a struct of the columns given, [{name, dtype}]; of none it is a struct that is there. #}
{% macro _row_as_struct(columns) %}
    {{ return('struct(' ~ (collapsing._column_list(columns | map(attribute='name')) or '1 as ledger_nothing') ~ ')') }}
{% endmacro %}


{# Returns the columns of another side that the joined ledger shows, each once, [{name, dtype}]. #}
{% macro _columns_in_use(side) %}
    {{ return(side.columns | selectattr('name', 'in', side.takes | map('last') | list) | list) }}
{% endmacro %}


{#
    Returns a query of the keys of the first ledger's rows, as of its last batch, that find a changed row of another side. It
    reads no other columns of the ledger than key and foreign keys: a cancel row has those of its state row, so that both are
    found, or none.
#}
{% macro _keys_that_find_changes(sides) -%}
{%- set first, key = sides[0], collapsing._column_list(sides[0].settings.key) -%}
{%- set rows = collapsing._rows_upto(first, first.upto) -%}
{%- if collapsing._engine(first.settings).keeps_every_row -%}
    {%- set rows = collapsing._live_among(first, rows) -%}
{%- endif -%}
select {{ key }}
from (
    {%- for side in sides[1:] if side.changed %}
    select {{ key }}, ledger_batch, ledger_sign
    from {{ collapsing._rows_found(rows, side.changed, side.on, side.changed_bounds, side.changed_count) }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
)
group by {{ key }}
having max_by(ledger_sign, struct(ledger_batch, ledger_sign)) = 1
{%- endmacro %}


{#
    Returns the query of all keys that a batch may change, with the first ledger's row of each before and after. It has no CTE, because
    its rows are cached and named several times in the next query: Spark numbers the CTEs of a plan through, and would take each
    occurrence but the first for another plan, which it works out again.

    stayed   {rows: what can stand behind `from` for the keys of _keys_that_find_changes, bounds, count}, or none: rows that
    are themselves as they were
#}
{% macro _rows_to_join(sides, stayed) -%}
{%- set first = sides[0] -%}
{%- set key, moved = first.settings.key, '(\n    ' ~ (collapsing._moved_rows(first) | indent(4)) ~ '\n) as moved' -%}
select *, {{ collapsing._text_literal(first.token) }} as ledger_block
from {{ moved }}
{%- if stayed %}
{%- set tokens = sides[1:] | selectattr('changed') | map(attribute='token') | unique(case_sensitive=true) | join(', ') %}
union all
select
    {{ collapsing._column_list(key, of='stayed') }},
    ledger_row,
    ledger_row,
    {{ collapsing._text_literal(tokens) }}
from (
    select {{ collapsing._column_list(key) }}, {{ collapsing._row_as_struct(first.columns) }} as ledger_row
    from {{ collapsing._live_among(
        first, collapsing._rows_found(collapsing._rows_upto(first, first.upto), stayed.rows, zip(key, key), stayed.bounds, stayed.count)
    ) }}
) as stayed
left anti join {{ moved }} on {{ collapsing._same_key(key, 'stayed', 'moved') }}
{%- endif -%}
{%- endmacro %}
