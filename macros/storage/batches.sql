{#
    Everything is stored by batch: batches, append, append empty, write base, drop and recreate are all that the rest of the
    package asks of a ledger or projection; a table beside a ledger is also overwritten, batch by batch. parquet.sql does them
    on plain parquet, log_formats.sql on formats with a transaction log; callers need not know which. In each, `ledger` is given
    for a table beside a ledger, such as its manifest.

    Batches 1, 2, ... are appended. A base, the batch -n, stands for the batches 1 to n.
#}


{#
    Returns what batches a ledger or projection has, or none where it has none:
        first    the oldest batch after which its state can still be read
        last     the newest batch
        later    the batches after the base, in order
        base     the batches up to this one are one compacted base, under the number -<base>; 0 where there is none
        covered  batches that are still registered although the base stands for them: an optimize was killed
    `described` is what _describe has returned of the table already.
#}
{% macro _batches_of(relation, ledger=none, described=none) %}
    {% set existing = load_relation(relation) %}
    {% if existing is none or existing.is_view %}{{ return(none) }}{% endif %}
    {% set numbers = collapsing._log_batches(existing, ledger, described) if collapsing._has_log(relation, ledger)
        else collapsing._parquet_batches(existing) %}
    {% if not numbers %}{{ return(none) }}{% endif %}
    {% set least = numbers | min %}
    {% set base = -least if least < 0 else 0 %}
    {{ return({
        'first': base or least,
        'last': [numbers | max, base] | max,
        'later': numbers | select('gt', base) | sort,
        'base': base,
        'covered': numbers | reject('equalto', least) | select('le', base) | sort if base else []
    }) }}
{% endmacro %}


{#
    Appends one batch: the rows of `sql`, whose columns are the table's in the table's order, all of one number that the table does not
    have. This is the commit of a run: before it no reader sees a row of the batch, after it every reader sees all. `after` is the last batch
    that a projection has read: two writers of its next one may give it different numbers.
#}
{% macro _append_sql(relation, sql, number, ledger=none, after=none) %}
    {#- where a table beside a ledger has a log, it has the ledger's format -#}
    {{ return(collapsing._log_append(relation, sql, number, collapsing._file_format(ledger or relation), after)
        if collapsing._has_log(relation, ledger) else collapsing._parquet_append(relation, sql)) }}
{% endmacro %}


{#
    Returns the statement that writes one batch of a table beside a ledger, in the place of what it may have of that number. `sql` has the
    table's columns but ledger_batch, the last one; on parquet, where that is the partition, always, and with a log where no column was
    added after it: then `names` are all columns, in the table's order.
#}
{% macro _overwrite_sql(relation, sql, number, ledger, names=none) %}
    {% set rows = 'select *, ' ~ number ~ ' as ledger_batch from (' ~ sql ~ ')' %}
    {% if not collapsing._has_log(relation, ledger) %}{{ return(collapsing._parquet_append(relation, rows)) }}{% endif %}
    {% set selected = collapsing._column_list(names) if names else '*' %}
    {{ return(collapsing._log_overwrite(relation, 'select ' ~ selected ~ ' from (' ~ rows ~ ')', 'ledger_batch = ' ~ number)) }}
{% endmacro %}


{# Commits a batch that has no rows, so that its blocks count as folded: it gets a placeholder row, which no reader counts. #}
{% macro _append_empty(relation, number) %}
    {% do collapsing._execute(collapsing._append_sql(relation, collapsing._placeholder_row(relation, number), number)) %}
{% endmacro %}


{#
    Writes the base that stands for the batches up to `upto`, in one commit that adds it, and drops those. `sql` are its rows, in the
    table's columns.
#}
{% macro _write_base(relation, upto, sql) %}
    {% if collapsing._has_log(relation) %}
        {% do collapsing._log_write_base(relation, upto, sql) %}
    {% else %}
        {% do collapsing._parquet_write_base(relation, upto, sql) %}
        {#- projections add up all rows of a ledger; what a projection's base covers, its readers skip, and the next run drops -#}
        {% set is_ledger = not collapsing._is_projection(collapsing._model_of(relation)) %}
        {% do collapsing._drop_covered(relation, collapsing._batches_of(relation)) if is_ledger %}
    {% endif %}
{% endmacro %}


{#
    Returns the last batch that a relation can be asked for, 0 of a table that has none yet; none where that is not known: under --empty, of a
    view, and where nothing is there. `batches` as _batches_of returns them of it.
#}
{% macro _last_to_ask_for(relation, batches) %}
    {% if batches %}{{ return(batches.last) }}{% endif %}
    {% set table = load_relation(relation) %}
    {{ return(none if flags.EMPTY or table is none or table.is_view else 0) }}
{% endmacro %}


{#
    Returns SQL that is true for the rows of a table in its batches up to `upto`, and after `after` if that is given. Numbers are
    literals, so that no other batch is opened. It stops the query where a base is newer than `batches` say, or stands
    for batches after `after`: the table was optimized or rebuilt since, or the statement was sent twice, and rows would be missed.
#}
{% macro _sql_is_upto(relation, batches, upto, after=none) %}
    {% set base = batches.base if batches else 0 %}
    {% set read = base if after is none else after %}
    {% set newer = 'ledger_batch < ' ~ -read %}
    {% set older = ' or ledger_batch = ' ~ -base if base and after is none else '' %}
    {% set stop = collapsing._raise_in_sql(
        relation.identifier ~ ' has been optimized or rebuilt meanwhile: nothing was changed. Run it again'
    ) %}
    {{ return(
        '(ledger_batch > ' ~ read ~ older ~ ' or ' ~ newer ~ ') and ledger_batch <= ' ~ upto
        ~ ' and if(' ~ newer ~ ', ' ~ stop ~ ', true)'
    ) }}
{% endmacro %}


{# Drops the batches from `first` to `last` of a table beside a ledger, if it is there, and they are. #}
{% macro _drop_range(relation, first, last, ledger) %}
    {% set relation = load_relation(relation) %}
    {% if relation is none %}{{ return(none) }}{% endif %}
    {% if collapsing._has_log(relation, ledger) %}
        {% do collapsing._execute('delete from ' ~ relation ~ ' where ledger_batch between ' ~ first ~ ' and ' ~ last) %}
    {% else %}
        {% set numbers = collapsing._parquet_batches(relation) | select('ge', first) | select('le', last) | list %}
        {% do collapsing._parquet_drop_batches(relation, numbers) if numbers %}
    {% endif %}
{% endmacro %}


{# Creates a table empty in the place of the one that is there, if any: after it dbt finds it, with these columns and no batch. #}
{% macro _recreate(relation, columns, properties) %}
    {% do collapsing._log_recreate(relation, columns, properties) if collapsing._has_log(relation)
        else collapsing._parquet_recreate(relation, columns, properties) %}
    {% do collapsing._add_to_cache(relation) %}
    {#- the constraints of the model's contract; dbt-spark would take a table without file_format for Delta -#}
    {% do persist_constraints(relation, model) if collapsing._file_format(relation) == 'delta' %}
{% endmacro %}


{# Returns the format of a model's table, with --defer of another environment's. On Databricks it is Delta by default. #}
{% macro _file_format(relation) %}
    {% set node = collapsing._model_of(relation) %}
    {% set is_deferred = node.defer_relation and not collapsing._is_table_of(node, relation) %}
    {% set config = node.defer_relation.config if is_deferred else node.config %}
    {{ return(config.file_format or ('delta' if target.type == 'databricks' else 'parquet')) }}
{% endmacro %}


{# Raises an error where a model's tables are to have a format that the package does not write. #}
{% macro _check_format() %}
    {% set format = collapsing._file_format(this) %}
    {{ collapsing._raise(
        model.name, 'the config file_format must be one of parquet, delta, iceberg, in lower case; given: ' ~ format
    ) if format not in ['parquet', 'delta', 'iceberg'] }}
    {% for name, value in (config.get('tblproperties') or {}).items() if format == 'delta' %}
        {{ collapsing._raise(
            model.name, 'the property ' ~ name ~ ' keeps Delta from replacing rows, as an optimize does with those that a base stands for:'
            ~ ' leave it out of tblproperties'
        ) if name | lower == 'delta.appendonly' and value | string | lower == 'true' }}
    {% endfor %}
{% endmacro %}


{#
    Returns the format of the tables beside one. They are small, and written in each run: plain parquet, which costs less than a commit
    to a log, in all catalogs that take both. Unity Catalog and catalogs of Iceberg alone do not.
#}
{% macro _format_beside(relation) %}
    {% if not collapsing._has_log(relation) %}{{ return('parquet') }}{% endif %}
    {% set is_sessions = target.type == 'spark' and collapsing._rows_of('select current_catalog()')[0][0] == 'spark_catalog' %}
    {{ return('parquet' if is_sessions else collapsing._file_format(relation)) }}
{% endmacro %}


{# Returns whether the catalog of a table takes views too: one of Iceberg tables alone may not. #}
{% macro _takes_views(relation) %}
    {{ return(target.type == 'databricks' or collapsing._format_beside(relation) == 'parquet') }}
{% endmacro %}


{# Returns whether an append to a model's table, or to a table beside the one of `ledger`, is one commit of the format's own. #}
{% macro _has_log(relation, ledger=none) %}
    {% if ledger is none or target.type != 'spark' or not collapsing._has_log(ledger) %}
        {{ return(collapsing._file_format(ledger or relation) in ['delta', 'iceberg']) }}
    {% endif %}
    {% set existing = load_relation(relation) %}
    {{ return(existing.is_delta or existing.is_iceberg or false) }}
{% endmacro %}


{#
    Returns whether a table, as _describe returned it, is one that appends are safe on: of the model's format, and on parquet created with
    partitionOverwriteMode dynamic. Without that option an append would replace the whole table.
#}
{% macro _is_appendable(relation, described) %}
    {% set format = collapsing._file_format(relation) %}
    {{ return(
        described.details.get('Provider', format) | lower == format
        and (collapsing._has_log(relation)
            or 'partitionoverwritemode=dynamic' in described.details.get('Storage Properties', '') | lower)
    ) }}
{% endmacro %}


{# Returns whether a batch of a table beside a ledger would overwrite itself alone, according to dbt's list of tables. #}
{% macro _is_overwritable(relation) %}
    {% set existing = load_relation(relation) %}
    {% set created = (existing.information or '' if existing is not none else '') | lower %}
    {{ return('provider: parquet' not in created or 'partitionoverwritemode=dynamic' in created) }}
{% endmacro %}


{# Returns columns, [{name, dtype}], in the types in which a model's format keeps them: Iceberg has no integer below int. #}
{% macro _stored_columns(columns, relation) %}
    {% set stored, is_iceberg = [], collapsing._file_format(relation) == 'iceberg' %}
    {% for column in columns %}
        {% set wide = modules.re.sub('(^|[<:,])(tinyint|smallint)(?=$|[>,])', '\\1int', column.dtype) %}
        {% do stored.append({'name': column.name, 'dtype': wide if is_iceberg else column.dtype}) %}
    {% endfor %}
    {{ return(stored) }}
{% endmacro %}


{# Returns SQL that is true for rows of a table beside a ledger that belong to batches which the ledger has committed. #}
{% macro _sql_is_committed(batches) %}
    {{ return(
        '(ledger_batch between ' ~ (batches.base + 1 if batches.base else batches.first) ~ ' and ' ~ batches.last
        ~ (' or ledger_batch = -' ~ batches.base if batches.base) ~ ')'
    ) }}
{% endmacro %}


{# Returns a query of one row that counts for nothing (sign 0, NULLs), from which readers learn an empty batch's number. #}
{% macro _placeholder_row(relation, number) %}
    {{ return(collapsing._row_of_nulls(collapsing._describe(relation).columns, {'ledger_sign': 0, 'ledger_batch': number})) }}
{% endmacro %}


{# Returns {rows, bytes} of the data in a table's batches. Iceberg lists them; of other formats every file is opened. #}
{% macro _size_of(relation, batches) %}
    {% set files = 'select record_count as stored, file_size_in_bytes as bytes, partition.ledger_batch from ' ~ relation
        ~ '.files where content = 0' if collapsing._file_format(relation) == 'iceberg'
        else 'select count(*) as stored, max(_metadata.file_size) as bytes, ledger_batch from ' ~ relation
        ~ ' group by ledger_batch, _metadata.file_path' %}
    {% set row = collapsing._rows_of(
        'select coalesce(sum(stored), 0), coalesce(sum(bytes), 0) from (' ~ files ~ ') where ' ~ collapsing._sql_is_committed(batches)
    )[0] %}
    {{ return({'rows': row[0], 'bytes': row[1]}) }}
{% endmacro %}
