{#
    Caches the rows that no batch has folded yet, as they are staged, with the number of the batch that takes them (ledger_batch); returns
    the temporary `view` that they are read from, and whether they have the column `ledger_file`, the file of each (`has_files`). The fold
    reads the stage here and nowhere else, so that every later step sees the same rows, unless the cache loses them. A row without a block
    token is among them: it is bad, and has to be seen.
#}
{% macro _cache_unread(query, ledger, settings, columns, folded, number) %}
    {% set names = collapsing._column_list(columns | map(attribute='name')) %}
    {% set file = ', input_file_name() as ledger_file' if collapsing._reads_named_files(query, settings) else '' %}
    {% set stage = collapsing._rows_of_shard('(\n' ~ query ~ '\n)', settings) %}
    {% set view = collapsing._cache(
        ledger, 'unread', 'select ' ~ names ~ file ~ ', ' ~ number ~ ' as ledger_batch\nfrom ' ~ stage
        ~ ('\nwhere ' ~ collapsing._sql_is_unread(settings, columns, folded) if folded else '')
    ) %}
    {{ return({'view': view, 'has_files': file != ''}) }}
{% endmacro %}


{#
    Returns what a run folds, before any row of it is folded; bad rows stop the run here.
        number   the batch number that its rows will have; `is_numbered`: they have it in the column ledger_batch
        rows     how many rows are unread
        blocks   [{token, rows, modified}] of their blocks, in token order; tokens as _carried_text has them, and `modified`, in microseconds
                 since 1970, when the newest of the files that were read was written, where the stage tells
        bad      {reason: rows} of rows that cannot be folded
        takes    SQL that is true for the rows to fold
        bounds   SQL over the ledger's key columns, alias `stored`: outside of it no key of the batch can lie; or none
        within   the same over the key columns of the unread rows
        voided   batches that were taken back, and those that took them back: no lookup may see them
#}
{% macro _plan_batch(unread, ledger, settings, columns, number, manifest) %}
    {% set batch = collapsing._profile_unread(unread.view, settings, columns) %}
    {% set duplicates = collapsing._duplicate_blocks(unread.view, settings, columns) if unread.has_files and batch.rows else [] %}
    {% do collapsing._check_bad_rows(unread.view, ledger, settings, batch, duplicates) if batch.bad or duplicates %}
    {% do collapsing._split_ranges(unread.view, settings, batch.ranges, manifest.live) if collapsing._engine(settings).looks_up %}
    {% do batch.update(collapsing._key_bounds(batch.ranges)) %}
    {% set conditions = ['not (' ~ collapsing._sql_is_bad(settings) ~ ')'] %}
    {#- what a cache has lost is read again: a block that lands meanwhile is not of this batch -#}
    {% set tokens = batch.blocks | map(attribute='token') | list %}
    {% do conditions.append(collapsing._sql_is_block_in(settings, columns, tokens)) if settings.block %}
    {#- nor is a bad row, or one outside of the range in which keys are looked up: files of a block may land at any time -#}
    {% do conditions.append(batch.within) if batch.within %}
    {% do batch.update({'number': number, 'is_numbered': true, 'takes': conditions | join(' and '), 'voided': manifest.voided}) %}
    {{ return(batch) }}
{% endmacro %}


{# Returns what one query tells of the unread rows: rows, blocks, bad as in _plan_batch, and ranges as _key_bounds takes them. #}
{% macro _profile_unread(unread, settings, columns) %}
    {% set bounded = [] %}
    {% for column in columns if column.name in settings.key and collapsing._is_bounded_type(column.dtype) %}
        {% do bounded.append(column) %}
    {% endfor %}
    {% set reasons = collapsing._bad_row_reasons(settings) %}
    {% set found = {'rows': 0, 'blocks': [], 'bad': {}, 'ranges': []} %}
    {% for row in collapsing._rows_of(collapsing._profile_query(unread, settings, columns, bounded, reasons)) %}
        {% if not row[0] %}
            {% do found.blocks.append({'token': row[1], 'rows': row[2], 'modified': row[3]}) if row[1] is not none %}
        {% else %}
            {% do found.update({'rows': row[2]}) %}
            {% for reason in reasons %}
                {% do found.bad.update({reason: row[3 + loop.index]}) if row[3 + loop.index] %}
            {% endfor %}
            {% for column in bounded %}
                {% set at = 4 + (reasons | length) + 2 * loop.index0 %}
                {% set range = {'name': column.name, 'dtype': column.dtype, 'ends': [[row[at], row[at + 1]]]} %}
                {% do found.ranges.append(range) if row[at] is not none %}
            {% endfor %}
        {% endif %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# Returns the query of _profile_unread: a row for each block, in the order of their tokens, and then one for all rows. #}
{% macro _profile_query(unread, settings, columns, bounded, reasons) %}
{%- set modified = collapsing._modification_column(columns) -%}
{#- all but the arrival: a token's own value may be one that Python has not, such as a time in the year 1 -#}
select
    is_total,
    token,
    staged,
    modified
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
        count(*) as staged,
        max(unix_micros(ledger_modified)) as modified
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
            {{ collapsing._arrival(settings, columns) }} as ledger_arrival,
            {{ collapsing._bad_reason(settings) }} as ledger_reason,
            {{ adapter.quote(modified) if modified else 'cast(null as timestamp_ltz)' }} as ledger_modified
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
    Caches the classified rows of a batch, the run's only lookup of its keys, and adds to the batch what follows from them: `decisions`
    {decision: rows}, and how many `states`, `cancels` and `tombstones` it appends. Returns the view.
#}
{% macro _cache_classified(unread, ledger, settings, columns, batch) %}
    {% do batch.update({'each_key_once': not ledger and collapsing._has_each_key_once(unread, settings, batch)}) %}
    {% set view = collapsing._cache(
        this, 'classified',
        'with\n\n' ~ collapsing._classified_batch(unread, ledger, settings, columns, batch) ~ '\n\nselect * from classified',
        is_costly=not batch.each_key_once
    ) %}
    {% do batch.update(collapsing._counts_of_batch(view, ledger, settings, columns, batch.voided)) %}
    {% do batch.update({'decisions': dict(batch.bad, **batch.decisions)}) %}
    {{ return(view) }}
{% endmacro %}


{#
    Returns whether each key has one row in a batch of many rows, as in a first load from a table: sorting them by key would take most
    of its time. Fewer rows are not checked, because the check would cost more than it saves; nor where the engine sorts rows
    for its own rules, or where other rows may be read later, for which the answer need not hold: on a server, from files that are named
    by path, and without block tokens.
#}
{% macro _has_each_key_once(unread, settings, batch) %}
    {% set engine = collapsing._engine(settings) %}
    {#- as in json.`landing/`, where other files may land at any time -#}
    {% set names_path = '(?i)\\b(json|csv|text|xml|parquet|orc|avro|binaryfile|delta|iceberg)`?\\s*\\.\\s*`'
        ~ '|\\.\\s*`[^`]*[/*]|\\bread_files\\s*\\(' %}
    {% do return(false)
        if batch.rows < 100000 or not engine.looks_up or engine.unread or not collapsing._is_sole_writer() or not settings.block
        or modules.re.search(names_path, collapsing._code_read()) %}
    {{ return(not collapsing._rows_of(
        'select count_if(ledger_rows > 1) from (select count(*) as ledger_rows from ' ~ unread ~ ' where ' ~ batch.takes
        ~ ' group by ' ~ collapsing._column_list(settings.key) ~ ')'
    )[0][0]) }}
{% endmacro %}


{#
    Returns {decisions, states, cancels, tombstones}, counted from the cached rows of `view`. No query names them twice: Spark numbers the
    CTEs of a plan through, and takes the second occurrence of a cached plan that has any for another plan, which it works out again.
#}
{% macro _counts_of_batch(view, ledger, settings, columns, voided) %}
    {% set counts = {'decisions': {}, 'states': 0, 'cancels': 0, 'tombstones': 0} %}
    {% set of_signs, counts_decisions = [], settings.count_decisions and settings.block %}
    {% set one_pass = not (settings.combine or collapsing._engine(settings).keeps_every_row) %}
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
    {% else %}
        {% set sql = "select 'appended', 0, " ~ of_signs | join(', ') ~ ' from ('
            ~ collapsing._rows_to_append(view, ledger, settings, columns, voided) ~ ')' %}
    {% endif %}
    {% set rows = collapsing._rows_of(sql) | list %}
    {% do rows.extend(
        collapsing._rows_of('select ledger_decision, count(*), 0, 0, 0 from ' ~ view ~ ' group by ledger_decision')
    ) if counts_decisions and not one_pass %}
    {% for row in rows | sort(attribute=0) %}
        {% do counts.update({
            'states': counts.states + row[2], 'cancels': counts.cancels + row[3], 'tombstones': counts.tombstones + row[4]
        }) %}
        {% do counts.decisions.update({row[0]: row[1]}) if counts_decisions and row[0] != 'appended' %}
    {% endfor %}
    {{ return(counts) }}
{% endmacro %}


{# Returns in a line what a batch took and what became of it. #}
{% macro _summary(batch, settings) %}
    {% do return('no new blocks' if settings.block else 'no new rows') if not batch.committed %}
    {% set decisions = batch.decisions | dictsort | map('join', ' ') | join(', ') %}
    {{ return(
        'batch ' ~ batch.number ~ ': ' ~ (collapsing._with_noun(batch.blocks | length, 'block') ~ ', ' if batch.blocks)
        ~ collapsing._with_noun(batch.rows, 'row') ~ (' (' ~ decisions ~ ')' if decisions else '')
    ) }}
{% endmacro %}


{#
    Returns the number of the next batch of a ledger, whose batches are as _batches_of returns them. Without any it comes after those of an
    earlier table of its name: what reads the ledger would take them for read, and knows them even where the manifest was dropped as well.
#}
{% macro _next_number(ledger, batches) %}
    {% do return(batches.last + 1) if batches %}
    {% set earlier = collapsing._batches_of(collapsing._beside(ledger, 'manifest'), ledger) %}
    {% set numbers = [earlier.last if earlier else 0] %}
    {% for reader in collapsing._readers_of(model) %}
        {% do numbers.append(collapsing._watermark_of_reader(reader, model) or 0) %}
    {% endfor %}
    {{ return(1 + (numbers | max)) }}
{% endmacro %}
