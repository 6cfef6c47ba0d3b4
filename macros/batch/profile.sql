{#
    Returns what a run is to fold, from one query over the unread rows of the stage; bad rows stop the run here.
        rows     how many rows are unread
        blocks   [{token, rows}] of their blocks, in token order; tokens as _carried_text has them
        bad      {reason: rows} of rows that cannot be folded
        ranges   [{name, dtype, least, greatest}] of the key columns whose values bound the lookup
    `query` is the model's own, which reads the stage; `folded` are the tokens of the blocks that are folded.
#}
{% macro _profile(query, settings, columns, folded) %}
    {% set unread = '(select * from (\n' ~ query ~ '\n)'
        ~ ('\nwhere ' ~ collapsing._sql_is_unread(settings, columns, folded) if folded else '') ~ ')' %}
    {% set bounded, reasons = [], collapsing._bad_row_reasons(settings) %}
    {#- literals of text would bound no key whose bytes are not UTF-8 -#}
    {% for column in columns if column.name in settings.key
        and (collapsing._integer_bits(column.dtype) is not none or column.dtype.startswith('decimal')) %}
        {% do bounded.append(column) %}
    {% endfor %}
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
    {% if found.bad %}{% do collapsing._check_bad_rows(unread, settings, found) %}{% endif %}
    {{ return(found) }}
{% endmacro %}


{# Returns the query of _profile: a row for each block, in the order of their tokens, and then one for all rows. #}
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


{# Returns SQL that is true for the rows of the stage that a batch takes. #}
{% macro _sql_is_taken(settings, columns, profile) %}
    {% set conditions = [] %}
    {% if settings.block %}
        {% do conditions.append(collapsing._sql_is_block_in(settings, columns, profile.blocks | map(attribute='token') | list)) %}
    {% endif %}
    {% if profile.bad %}{% do conditions.append('not (' ~ collapsing._sql_is_bad(settings) ~ ')') %}{% endif %}
    {{ return(conditions | join('\n        and ') or 'true') }}
{% endmacro %}


{# Returns SQL that is true for a row that is still what the profile has seen: not bad, its key within the bounds. #}
{% macro _sql_is_planned(settings, profile) %}
    {% set conditions = ['not (' ~ collapsing._sql_is_bad(settings) ~ ')'] %}
    {% for range in profile.ranges %}
        {% do conditions.append(collapsing._sql_is_between(adapter.quote(range.name), range)) %}
    {% endfor %}
    {{ return('coalesce(' ~ conditions | join(' and ') ~ ', false)') }}
{% endmacro %}


{# Returns SQL over the alias `stored` that is true for the rows of a ledger whose keys can be among those of a batch. #}
{% macro _sql_is_within(profile) %}
    {% set bounds = [] %}
    {% for range in profile.ranges %}
        {% do bounds.append(collapsing._sql_is_between('stored.' ~ adapter.quote(range.name), range)) %}
    {% endfor %}
    {{ return(bounds | join('\n        and ') or 'true') }}
{% endmacro %}
