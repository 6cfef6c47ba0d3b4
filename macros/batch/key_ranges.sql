{#
    Which keys a batch can have, as literals: only they prune files, row groups and pages before the ledger is read; a subquery does not.
    One range from the least key to the greatest does for most batches. New keys and a few very late ones get several in a large ledger,
    where one range would read all that lies between them.
#}


{#
    Returns {bounds, within}, as in _plan_batch, of `ranges`, [{name, dtype, ends}] by key column: all its values lie in one of `ends`,
    pairs of the least and the greatest as _bound_text has them.
#}
{% macro _key_bounds(ranges) %}
    {% set bounds, within = [], [] %}
    {% for range in ranges %}
        {% set name = adapter.quote(range.name) %}
        {% do bounds.append(collapsing._sql_is_in_ranges('stored.' ~ name, range)) %}
        {% do within.append(collapsing._sql_is_in_ranges(name, range)) %}
    {% endfor %}
    {{ return({'bounds': bounds | join('\n        and ') or none, 'within': within | join(' and ') or none}) }}
{% endmacro %}


{# Returns the condition that a column lies in one of the `ends` of a range. #}
{% macro _sql_is_in_ranges(column, range) %}
    {% set conditions = [] %}
    {% for least, greatest in range.ends %}
        {% do conditions.append(collapsing._sql_is_between(column, least, greatest, range.dtype)) %}
    {% endfor %}
    {{ return('(' ~ conditions | join(' or ') ~ ')' if conditions[1:] else conditions[0]) }}
{% endmacro %}


{#
    Splits ranges of unread rows where this spares the lookup about five million rows or more, of `live` ones that the ledger may have. To
    read fewer takes no longer than to generate code for other literals, which those of one range mostly spare.
#}
{% macro _split_ranges(unread, settings, ranges, live) %}
    {% for range in ranges if live >= 5000000 and collapsing._integer_bits(range.dtype) %}
        {% set width = range.ends[0][1] | int - range.ends[0][0] | int %}
        {% set gaps, ends = [], [] %}
        {% set cells = collapsing._cells_of(unread, range, width) %}
        {% for before, after in zip(cells, cells[1:]) %}
            {% set gap = after[0] - before[1] %}
            {% do gaps.append([gap, loop.index]) if gap > width // 64 %}
        {% endfor %}
        {#- a condition of more ranges costs each row more than it spares -#}
        {% set gaps = (gaps | sort(reverse=true))[:15] %}
        {% set left_out = gaps | sum(attribute=0) %}
        {#- rows lie in the gaps as if keys were spread evenly; if the key is one whole number, no more than there are numbers -#}
        {% set is_number = not settings.key[1:] and collapsing._is_integer(range.dtype) %}
        {% if gaps and [live * left_out // width, left_out if is_number else live] | min >= 5000000 %}
            {% set cuts = [0] + (gaps | map(attribute=1) | sort) + [cells | length] %}
            {% for first, next in zip(cuts, cuts[1:]) %}
                {% do ends.append([cells[first][0], cells[next - 1][1]]) %}
            {% endfor %}
            {% do range.update({'ends': ends}) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#
    Returns the least and the greatest value in each cell that has any, in order, if the values of a range are put into at most 257 cells of one
    width. It is a power of two, so that many batches have the query's text in common.
#}
{% macro _cells_of(unread, range, width) %}
    {% set value = collapsing._as_integer(adapter.quote(range.name), range.dtype) %}
    {% set sql %}
        select
            min({{ value }}),
            max({{ value }})
        from {{ unread }}
        where {{ value }} is not null
        group by shiftright({{ value }}, {{ (width // 256).bit_length() }})
    {% endset %}
    {{ return(collapsing._rows_of(sql) | map('list') | sort) }}
{% endmacro %}
