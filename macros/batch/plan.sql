{#
    Caches the rows that no batch has folded yet, as they are staged, with the number of the batch that takes them (ledger_batch); returns
    the temporary view that they are read from. The fold reads the stage here and nowhere else, so that every later step sees the same
    rows, unless the cache loses them. A row without a block token is among them: it is bad, and has to be seen.
#}
{% macro _cache_unread(query, ledger, settings, columns, folded, number) %}
    {{ return(collapsing._cache(
        ledger, 'unread', 'select ' ~ collapsing._column_list(columns | map(attribute='name')) ~ ', ' ~ number ~ ' as ledger_batch\nfrom (\n' ~ query ~ '\n)'
        ~ ('\nwhere ' ~ collapsing._sql_is_unread(settings, columns, folded) if folded else '')
    )) }}
{% endmacro %}


{#
    Returns what a run folds, before any row of it is folded; bad rows stop the run here.
        number   the batch number that its rows will have; `is_numbered`: they have it in the column ledger_batch
        rows     how many rows are unread
        blocks   [{token, rows}] of their blocks, in token order; tokens as _carried_text has them
        bad      {reason: rows} of rows that cannot be folded
        takes    SQL that is true for the rows to fold
        bounds   SQL over the ledger's key columns, alias `stored`: outside of it no key of the batch can lie; or none
        voided   batches that were undone, and the undos: no lookup may see them
#}
{% macro _plan_batch(unread, ledger, settings, columns, number, manifest) %}
    {% set found = collapsing._profile_unread(unread, settings, columns) %}
    {% if found.bad %}{% do collapsing._check_bad_rows(unread, ledger, settings, found) %}{% endif %}
    {% set bounds, within = [], [] %}
    {% for range in found.ranges %}
        {% set name = adapter.quote(range.name) %}
        {% do bounds.append(collapsing._sql_is_between('stored.' ~ name, range.least, range.greatest, range.dtype)) %}
        {% do within.append(collapsing._sql_is_between(name, range.least, range.greatest, range.dtype)) %}
    {% endfor %}
    {% set conditions = ['not (' ~ collapsing._sql_is_bad(settings) ~ ')'] %}
    {#- what a cache has lost is read again: a block that lands meanwhile is not of this batch, nor is a key out of bounds -#}
    {% if settings.block %}
        {% do conditions.append(collapsing._sql_is_block_in(settings, columns, found.blocks | map(attribute='token') | list)) %}
    {% endif %}
    {{ return({
        'number': number, 'is_numbered': true, 'rows': found.rows, 'blocks': found.blocks, 'bad': found.bad,
        'takes': (conditions + within) | join(' and '), 'bounds': bounds | join('\n        and ') or none, 'voided': manifest.voided
    }) }}
{% endmacro %}


{#
    Returns what one query tells of the unread rows: rows, blocks, bad as in _plan_batch, and the range of each bounded key column,
    [{name, dtype, least, greatest}].
#}
{% macro _profile_unread(unread, settings, columns) %}
    {% set bounded = [] %}
    {% for column in columns if column.name in settings.key and collapsing._is_bounded_type(column.dtype) %}
        {% do bounded.append(column) %}
    {% endfor %}
    {% set reasons = collapsing._bad_row_reasons(settings) %}
    {% set found = {'rows': 0, 'blocks': [], 'bad': {}, 'ranges': []} %}
    {% for row in collapsing._rows_of(collapsing._profile_query(unread, settings, columns, bounded, reasons)) %}
        {% if not row[0] %}
            {% if row[1] is not none %}{% do found.blocks.append({'token': row[1], 'rows': row[2]}) %}{% endif %}
        {% else %}
            {% do found.update({'rows': row[2]}) %}
            {% for reason in reasons %}
                {% set count = row[2 + loop.index] %}
                {% if count %}{% do found.bad.update({reason: count}) %}{% endif %}
            {% endfor %}
            {% for column in bounded %}
                {% set at = 3 + (reasons | length) + 2 * loop.index0 %}
                {% if row[at] is not none %}
                    {% do found.ranges.append(dict(column, least=row[at], greatest=row[at + 1])) %}
                {% endif %}
            {% endfor %}
        {% endif %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# Returns the query of _profile_unread: a row for each block, in the order of their tokens, and then one for all rows. #}
{% macro _profile_query(unread, settings, columns, bounded, reasons) %}
{#- all but the arrival: a token's own value may be one that Python has not, such as a time in the year 1 -#}
select
    is_total,
    token,
    staged
    {%- for reason in reasons %},
    {{ reason }}
    {%- endfor %}
    {%- for column in bounded %},
    least_{{ loop.index }},
    greatest_{{ loop.index }}
    {%- endfor %}
from (
    select
        grouping(ledger_block) = 1 as is_total,
        {{ collapsing._carried_text('ledger_block') }} as token,
        ledger_arrival as arrival,
        count(*) as staged
        {%- for reason in reasons %},
        count_if(ledger_reason = '{{ reason }}') as {{ reason }}
        {%- endfor %}
        {%- for column in bounded %},
        {{ collapsing._bound_text('min(' ~ adapter.quote(column.name) ~ ')', column.dtype) }} as least_{{ loop.index }},
        {{ collapsing._bound_text('max(' ~ adapter.quote(column.name) ~ ')', column.dtype) }} as greatest_{{ loop.index }}
        {%- endfor %}
    from (
        select
            {{ collapsing._token(settings, columns) }} as ledger_block,
            {{ collapsing._arrival(settings) }} as ledger_arrival,
            {{ collapsing._bad_reason(settings) }} as ledger_reason
            {%- for column in bounded %},
            {{ adapter.quote(column.name) }}
            {%- endfor %}
        from {{ unread }}
    )
    -- rows of one block arrive as one: Spark would sort all rows for the least text of a group
    group by grouping sets ((ledger_block, ledger_arrival), ())
)
order by is_total, arrival
{% endmacro %}


{#
    Caches the classified rows of a batch, the run's only lookup of its keys. Returns {view, decisions, states, cancels, tombstones}:
    {decision: rows}, and how many rows of each kind the batch appends.
#}
{% macro _cache_classified(unread, ledger, settings, columns, batch) %}
    {% set view = collapsing._cache(
        this, 'classified',
        'with\n\n' ~ collapsing._classified_batch(unread, ledger, settings, columns, batch) ~ '\n\nselect * from classified'
    ) %}
    {% set counts = collapsing._counts_of_batch(view, ledger, settings, columns) %}
    {{ return(dict(counts, view=view, decisions=dict(batch.bad, **counts.decisions))) }}
{% endmacro %}


{#
    Returns {decisions, states, cancels, tombstones}, counted from the cached rows of `view`. No query names them twice: Spark numbers the
    CTEs of a plan through, and takes the second occurrence of a cached plan that has any for another plan, which it works out again.
#}
{% macro _counts_of_batch(view, ledger, settings, columns) %}
    {% set of_signs, one_pass = [], not (settings.combine or collapsing._engine(settings).keeps_every_row) %}
    {% for sign in [1, -1, 0] %}
        {% do of_signs.append(
            'count_if(array_contains(ledger_signs, ' ~ sign ~ '))' if one_pass else 'count_if(ledger_sign = ' ~ sign ~ ')'
        ) %}
    {% endfor %}
    {% if one_pass %}
        {% set sql %}
            select ledger_decision, count(*), {{ of_signs | join(', ') }}
            from (
                select
                    ledger_decision,
                    if({{ collapsing._sql_is_applied(settings) }}, {{ collapsing._signs_of_event(settings, ledger) }}, array()) as ledger_signs
                from {{ view }}
            )
            group by ledger_decision
        {% endset %}
        {% set rows = collapsing._rows_of(sql) | list %}
    {% else %}
        {% set rows = collapsing._rows_of(
            "select 'appended', 0, " ~ of_signs | join(', ') ~ ' from (' ~ collapsing._rows_to_append(view, ledger, settings, columns) ~ ')'
        ) + collapsing._rows_of('select ledger_decision, count(*), 0, 0, 0 from ' ~ view ~ ' group by ledger_decision') %}
    {% endif %}
    {% set decisions = {} %}
    {% for row in rows if settings.block and row[0] != 'appended' %}
        {% do decisions.update({row[0]: row[1]}) %}
    {% endfor %}
    {{ return({
        'decisions': decisions, 'states': rows | map(attribute=2) | sum, 'cancels': rows | map(attribute=3) | sum,
        'tombstones': rows | map(attribute=4) | sum
    }) }}
{% endmacro %}


{# Returns in a line what a batch took and what became of it; `batches` are those that the ledger had before. #}
{% macro _summary(batch, settings, batches) %}
    {% if not batch.committed %}{{ return('no new blocks' if settings.block else 'no new rows') }}{% endif %}
    {% set decisions = batch.decisions | dictsort | map('join', ' ') | join(', ') %}
    {% set advice = '; ' ~ batches.later | length ~ ' batches are not optimized: an optimize would make it faster to read'
        if batches and batches.later | length >= 100 and not settings.optimize_after else '' %}
    {{ return(
        'batch ' ~ batch.number ~ ': ' ~ (collapsing._with_noun(batch.blocks | length, 'block') ~ ', ' if batch.blocks)
        ~ collapsing._with_noun(batch.rows, 'row') ~ (' (' ~ decisions ~ ')' if decisions else '') ~ advice
    ) }}
{% endmacro %}


{#
    Returns the number of the next batch of a ledger, whose batches are as _batches_of returns them. Without any it comes after those of an
    earlier table of its name: what reads the ledger would take them for read, and knows them even where the manifest was dropped as well.
#}
{% macro _next_number(ledger, batches) %}
    {% if batches %}{{ return(batches.last + 1) }}{% endif %}
    {% set earlier = collapsing._batches_of(collapsing._beside(ledger, 'manifest'), ledger) %}
    {% set numbers = [earlier.last if earlier else 0] %}
    {% for reader in collapsing._readers_of(model) %}
        {% set table = collapsing._relation_if_any(reader) %}
        {% set read = collapsing._batches_of(table) if table is not none else none %}
        {% do numbers.append(read.last if read else 0) %}
    {% endfor %}
    {{ return(1 + (numbers | max)) }}
{% endmacro %}
