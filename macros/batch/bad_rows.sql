{#
    Returns {reason: SQL that is true for a bad row}: rows that no rule of an engine can place. Of several reasons the first counts, and a
    row without a block must stop the run whatever else is wrong with it.
#}
{% macro _bad_row_reasons(settings) %}
    {% set reasons, blocks = {}, [settings.block] if settings.block else [] %}
    {#- where a delete's version means nothing, it may be missing -#}
    {% set is_versioned = ' and not coalesce(' ~ collapsing._sql_is_delete(settings) ~ ', false)'
        if collapsing._engine(settings).unversioned_deletes else '' %}
    {% set needed = {'null_block': blocks, 'null_key': settings.key, 'null_version': settings.version} %}
    {% for reason, columns in needed.items() if columns %}
        {% set is_null = collapsing._column_list(columns, suffix=' is null', between=' or ') %}
        {% do reasons.update({reason: '(' ~ is_null ~ ')' ~ is_versioned if reason == 'null_version' else is_null}) %}
    {% endfor %}
    {% set mark, values = [settings.sign, '(1, -1)'] if settings.sign else [settings.is_deleted, '(0, 1)'] %}
    {% if mark %}
        {% do reasons.update({'bad_sign': 'coalesce(' ~ collapsing._as_number(mark) ~ ' not in ' ~ values ~ ', true)'}) %}
    {% endif %}
    {{ return(reasons) }}
{% endmacro %}


{# Returns SQL for the reason why a row is bad, one where there are several; NULL for a row that can be folded. #}
{% macro _bad_reason(settings) %}
    {% set cases = [] %}
    {% for reason, condition in collapsing._bad_row_reasons(settings).items() %}
        {% do cases.append('when ' ~ condition ~ " then '" ~ reason ~ "'") %}
    {% endfor %}
    {{ return('case ' ~ cases | join(' ') ~ ' end') }}
{% endmacro %}


{# Returns SQL that is true for a bad row. #}
{% macro _sql_is_bad(settings) %}
    {{ return(collapsing._bad_row_reasons(settings).values() | join(' or ')) }}
{% endmacro %}


{#
    Raises an error before anything is appended when unread rows are bad: names ledger, reason, count, keys and blocks. Rows that are
    rejected do not stop it; but a row without a block token belongs to no batch, and each would reject it.
#}
{% macro _check_bad_rows(unread, ledger, settings, batch) %}
    {% set lines, block = [], adapter.quote(settings.block) if settings.block else 'null' %}
    {% for reason in collapsing._bad_row_reasons(settings)
        if reason in batch.bad and (settings.on_bad_rows == 'fail' or reason == 'null_block') %}
        {% set samples = [] %}
        {% for key, token in collapsing._rows_of(
            'select ' ~ collapsing._row_as_json(settings.key) ~ ', cast(' ~ block ~ ' as string) from ' ~ unread
            ~ ' where ' ~ collapsing._bad_reason(settings) ~ " = '" ~ reason ~ "' limit 3"
        ) %}
            {% do samples.append(key ~ (' in block ' ~ (token if token is not none else 'NULL') if settings.block else '')) %}
        {% endfor %}
        {% set found = collapsing._with_noun(batch.bad[reason], 'row') %}
        {% do lines.append(reason ~ ': ' ~ found ~ ', for example ' ~ samples | join('; ')) %}
    {% endfor %}
    {% if lines %}
        {% do collapsing._drop_cached(ledger, model) %}
        {% do collapsing._raise(
            model.name, 'its stage has bad rows: nothing was appended, and no block counts as read.\n  ' ~ lines | join('\n  ')
            ~ ("\n  The setting 'on_bad_rows: reject' would reject them, and fold the others" if settings.block
                and settings.on_bad_rows == 'fail' and not batch.bad.null_block)
        ) %}
    {% endif %}
{% endmacro %}


{#
    Writes the bad rows of a batch to <ledger>__rejects: as they were staged, with `ledger_reason`, `ledger_block` and
    `ledger_batch`. They count once the batch is committed, like its manifest: what a killed run has written is overwritten by the
    next one, or dropped where that finds none.
#}
{% macro _write_rejects(unread, ledger, settings, columns, batch) %}
    {% set rejects = collapsing._beside(ledger, 'rejects') %}
    {#- what a killed run has rejected under this number would count with it -#}
    {% if not batch.bad %}{{ return(collapsing._drop_range(rejects, batch.number, batch.number, ledger)) }}{% endif %}
    {% set kept = collapsing._stored_columns(columns, ledger) %}
    {% do collapsing._create_beside(
        rejects, ledger, collapsing._definitions(kept) ~ ', ledger_reason string, ledger_block string, ledger_batch int'
    ) %}
    {#- {column: SQL} in the table's order: NULL where the stage has the column no longer -#}
    {% set types, values = collapsing._types_of(rejects), {} %}
    {% set kept = collapsing._spelled(kept, types | list) %}
    {% for name in types %}
        {% do values.update({name: 'null'}) %}
    {% endfor %}
    {% for column in kept %}
        {#- values of another type would be cast, or lost -#}
        {% if (types[column.name] or column.dtype) != column.dtype %}
            {% do collapsing._raise(
                model.name, 'bad rows cannot be rejected into ' ~ rejects ~ ": its column '" ~ column.name ~ "' is "
                ~ types[column.name] ~ ", the stage's is " ~ column.dtype ~ '. Rename or drop that table, and run again'
            ) %}
        {% endif %}
        {% do values.update({column.name: adapter.quote(column.name)}) %}
    {% endfor %}
    {% set added = kept | rejectattr('name', 'in', types) | list %}
    {% if added %}{% do collapsing._add_columns(rejects, added) %}{% endif %}
    {% do values.update({
        'ledger_reason': collapsing._bad_reason(settings), 'ledger_block': collapsing._token(settings, columns)
    }) %}
    {% set rejected %}
        select
            {%- for name, value in values.items() if name != 'ledger_batch' %}
            {{ value }} as {{ adapter.quote(name) }}{{ ',' if not loop.last }}
            {%- endfor %}
        from {{ unread }}
        -- as for the fold, what a cache has lost is read again
        where {{ collapsing._sql_is_block_in(settings, columns, batch.blocks | map(attribute='token') | list) }}
            and ({{ collapsing._sql_is_bad(settings) }})
    {% endset %}
    {% do collapsing._execute(collapsing._overwrite_sql(rejects, rejected, batch.number, ledger, values)) %}
    {% do collapsing._warn(
        model.name, "bad rows were rejected into " ~ rejects ~ ', ledger_batch ' ~ batch.number ~ ' ('
        ~ batch.bad.items() | map('join', ': ') | join(', ') ~ ')'
    ) %}
{% endmacro %}
