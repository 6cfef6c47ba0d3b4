{#
    Reads the keys of the unread part of a stage once and gives
        rows      how many rows are unread
        summary   a list of {token, rows, has_files}, one for each block, in token order; one with token none where there is no
                  block setting. has_files is whether its rows are known to come from several files
        blocks    the tokens alone
        bounds    text of the least and the greatest of each key column that literals can bound: {column: [least, greatest]}
        bad       {reason: rows} of rows that cannot be folded
#}
{% macro _look_at_stage(stage, settings, columns, folded) %}
    {% set bounded = collapsing._bounded_keys(settings, columns) %}
    {% set reasons = collapsing._bad_row_reasons(settings) %}
    {% set block = adapter.quote(settings.block) if settings.block else 'cast(null as string)' %}
    {% set sql %}
        select
            grouping(ledger_block) = 1 as is_total,
            ledger_block,
            min(ledger_arrival) as arrival,
            count(*) as staged,
            coalesce(min(ledger_file) <> max(ledger_file), false) as has_files
            {%- for reason in reasons %},
            count_if(ledger_reason = '{{ reason }}') as {{ reason }}
            {%- endfor %}
            {%- for column in bounded %},
            cast({{ collapsing._bound_text('min(' ~ adapter.quote(column.name) ~ ')', column.dtype) }} as string) as least_{{ loop.index }},
            cast({{ collapsing._bound_text('max(' ~ adapter.quote(column.name) ~ ')', column.dtype) }} as string) as greatest_{{ loop.index }}
            {%- endfor %}
        from (
            select
                cast({{ block }} as string) as ledger_block,
                {{ block }} as ledger_arrival,
                {{ collapsing._file_of_row(stage, settings) }} as ledger_file,
                {{ collapsing._bad_reason(settings) }} as ledger_reason
                {%- for column in bounded %},
                {{ adapter.quote(column.name) }}
                {%- endfor %}
            from {{ stage }}
            {%- if folded %}
            where not {{ collapsing._is_block_folded(settings, columns, folded) }} or {{ block }} is null
            {%- endif %}
        )
        group by grouping sets ((ledger_block), ())
        order by is_total, arrival
    {% endset %}

    {% set found = {'rows': 0, 'summary': [], 'blocks': [], 'bounds': {}, 'bad': {}} %}
    {% for row in collapsing._rows_of(sql) %}
        {% if not row[0] %}
            {% do found.summary.append({'token': row[1], 'rows': row[3], 'has_files': row[4]}) %}
            {% do found.blocks.append(row[1]) if row[1] is not none %}
        {% else %}
            {% do found.update({'rows': row[3]}) %}
            {% for reason in reasons %}
                {% do found.bad.update({reason: row[4 + loop.index]}) if row[4 + loop.index] %}
            {% endfor %}
            {% for column in bounded %}
                {% set place = 3 + (reasons | length) + 2 * loop.index %}
                {% do found.bounds.update({column.name: [row[place], row[place + 1]]}) %}
            {% endfor %}
        {% endif %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# Gives the key columns whose range can be written as literals. #}
{% macro _bounded_keys(settings, columns) %}
    {% set bounded = [] %}
    {% for column in columns if column.name in settings.key and collapsing._is_bounded_type(column.dtype) %}
        {% do bounded.append(column) %}
    {% endfor %}
    {{ return(bounded) }}
{% endmacro %}


{#
    Gives SQL over the ledger's rows (alias `stored`) that holds for every key of the batch. Literals, not a subquery: only
    they prune files before the ledger is read.
#}
{% macro _key_bounds(settings, columns, found) %}
    {% set bounds = [] %}
    {% for column in collapsing._bounded_keys(settings, columns) if found.bounds.get(column.name, [none])[0] is not none %}
        {% do bounds.append(
            'stored.' ~ adapter.quote(column.name)
            ~ ' between ' ~ collapsing._typed_literal(found.bounds[column.name][0], column.dtype)
            ~ ' and ' ~ collapsing._typed_literal(found.bounds[column.name][1], column.dtype)
        ) %}
    {% endfor %}
    {{ return(bounds | join('\n        and ') if bounds else none) }}
{% endmacro %}
