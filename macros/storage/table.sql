{#
    A handle says what one DESCRIBE and one listing have found of a table; it is made once and passed on:
        relation, format (parquet, delta or iceberg), columns [{name, dtype}] in the table's order, location
        properties  the table's properties as text; options  {name: value} with which its files are written
        identity    new with each CREATE of the package; none of a table that it has not created
        first       the number that the table begins at
        numbers     of plain parquet the numbers that are registered, of formats with a log the least and the greatest
        compacted   c: the batch -c stands for all batches up to c; none of an unfinished table
        last        the greatest of all numbers, whatever their sign; 0 without any
#}
{% macro _table(relation) %}
    {% set table = collapsing._described(relation) %}
    {{ return(collapsing._list(table) if table is not none else none) }}
{% endmacro %}


{# Returns a handle without the numbers, or none where there is no table. #}
{% macro _described(relation) %}
    {% set relation = collapsing._plain(relation) %}
    {% set existing = load_relation(relation) %}
    {% if existing is none or existing.is_view %}{{ return(none) }}{% endif %}
    {#- a session goes on showing what it has loaded of an Iceberg table -#}
    {% if collapsing._file_format(relation) == 'iceberg' %}{% do collapsing._execute('refresh table ' ~ relation) %}{% endif %}
    {% set described, options = collapsing._describe(relation), {} %}
    {% for name, value in modules.re.findall('([\\w.]+)=([^,\\]]*)', described.details.get('Storage Properties') or '') %}
        {% if name != 'serialization.format' %}{% do options.update({name: value}) %}{% endif %}
    {% endfor %}
    {% set table = {
        'relation': relation, 'format': (described.details.get('Provider') or '') | lower, 'columns': described.columns,
        'location': described.details.get('Location'), 'properties': described.details.get('Table Properties') or '', 'options': options
    } %}
    {{ return(dict(
        table, identity=collapsing._property(table, 'identity'), first=(collapsing._property(table, 'first') or 0) | int
    )) }}
{% endmacro %}


{# Returns a handle with the numbers that its table has now. #}
{% macro _list(table) %}
    {% if table.identity is none %}
        {% set numbers = [] %}
    {% elif collapsing._is_log(table) %}
        {% set ends = collapsing._rows_of('select min(ledger_batch), max(ledger_batch) from ' ~ table.relation)[0] %}
        {% set numbers = ends | reject('none') | map('int') | list %}
    {% else %}
        {% set partitions = collapsing._rows_of('show partitions ' ~ table.relation) | map('first') %}
        {% set numbers = partitions | map('replace', 'ledger_batch=', '') | map('int') | sort %}
    {% endif %}
    {{ return(collapsing._with_numbers(table, numbers)) }}
{% endmacro %}


{# Returns a handle with these numbers, in order, and what follows from them. #}
{% macro _with_numbers(table, numbers) %}
    {% set is_finished = numbers and numbers[0] <= 0 %}
    {{ return(dict(
        table, numbers=numbers, compacted=-numbers[0] if is_finished else none, last=numbers | map('abs') | max if numbers else 0
    )) }}
{% endmacro %}


{# Returns the text of a property `collapsing.<name>` of a table, or none. #}
{% macro _property(table, name) %}
    {% set found = modules.re.search('collapsing\\.' ~ name ~ '=(.*?)(?:, ?[\\w.-]+=|\\]$)', table.properties) %}
    {{ return(found.group(1) if found else none) }}
{% endmacro %}


{# Returns whether each statement on a table is one commit of its format. #}
{% macro _is_log(table) %}
    {{ return(table.format in ['delta', 'iceberg']) }}
{% endmacro %}


{# Returns the numbers of a table on plain parquet that are visible, up to `upto` if that is given. #}
{% macro _visible_numbers(table, upto=none) %}
    {% set visible = [] %}
    {% for number in table.numbers if table.compacted is not none and (number == -table.compacted or number > table.compacted) %}
        {% if upto is none or number <= upto %}{% do visible.append(number) %}{% endif %}
    {% endfor %}
    {{ return(visible) }}
{% endmacro %}


{# Returns SQL that is true for the rows of a table that are visible, in the numbers listed and up to `upto` if that is given. #}
{% macro _sql_is_visible(table, upto=none) %}
    {% if table.compacted is none %}{{ return('false') }}{% endif %}
    {{ return(
        '(ledger_batch = ' ~ -table.compacted ~ ' or ledger_batch > ' ~ table.compacted ~ ')'
        ~ (' and ledger_batch <= ' ~ upto if upto is not none else '')
    ) }}
{% endmacro %}


{# Raises an error about a table that the package has not created, with the statements that make a right copy. #}
{% macro _check_ours(model_name, table) %}
    {% if table.identity is none %}
        {% set copy = collapsing._text_literal(invocation_id) %}
        {% do collapsing._raise(
            model_name, 'the table ' ~ table.relation ~ ' is not one that this package has created: nothing was changed. Give the model another name, or'
            ~ " replace the table with --full-refresh. If it is a copy of a model's table, make it again: create table " ~ table.relation ~ ' using '
            ~ table.format ~ " partitioned by (ledger_batch) tblproperties ('collapsing.identity' = " ~ copy ~ ", 'collapsing.first' = '<first>')"
            ~ ' as select * from <original>' ~ ('' if collapsing._is_log(table) else '; alter table ' ~ table.relation
                ~ ' add if not exists partition (ledger_batch = -<first>)')
            ~ ". <first> is the original's property collapsing.first"
        ) %}
    {% endif %}
{% endmacro %}


{#
    Creates the table of a model empty, in the place of what is there under its name; `table` is its handle, or none. Its numbers begin above
    those of the table before it. Returns its handle.
#}
{% macro _create(relation, columns, properties, table) %}
    {% set before, existing, format = collapsing._table(relation), load_relation(relation), collapsing._file_format(relation) %}
    {% set first = 1 + ([before.last, before.first] | max) if before and before.identity is not none else 0 %}
    {% set properties = dict(properties, **{'collapsing.identity': invocation_id, 'collapsing.first': first}) %}
    {% if table and before and (before.last != table.last or before.compacted != table.compacted) %}
        {% do collapsing._refuse(table) %}
    {% endif %}
    {#- an Iceberg table that is replaced keeps its branches, and a run that has one would bring the old rows back -#}
    {% set is_replaced = before and format == 'delta' and before.format == 'delta' %}
    {% if existing is not none and not is_replaced %}
        {#- dbt's own drop keeps the files of an Iceberg table -#}
        {% if before and before.format == 'iceberg' %}{% do collapsing._execute('drop table ' ~ relation ~ ' purge') %}
        {% else %}{% do adapter.drop_relation(existing) %}{% endif %}
    {% endif %}
    {% do collapsing._execute(collapsing._create_statement(
        'create or replace table' if is_replaced else 'create table', relation, format, columns, properties
    )) %}
    {#- so that load_relation finds it; dbt_created: without it dbt 1 compares names case-sensitively -#}
    {% do adapter.cache_added(relation.incorporate(type='table', dbt_created=true)) if load_relation(relation) is none %}
    {#- dbt-spark would take a table without file_format for Delta -#}
    {% if format == 'delta' %}{% do persist_constraints(relation, model) %}{% endif %}
    {#- a number that another run has committed to it since refuses the first commit -#}
    {{ return(collapsing._with_numbers(collapsing._described(relation), [])) }}
{% endmacro %}


{# Returns the statement that creates a model's table, by the model's own config as dbt-spark reads it. #}
{% macro _create_statement(create, relation, format, columns, properties) %}
    {% set defaults, given = collapsing._format_properties(format, columns), config.get('tblproperties') or {} %}
    {% set properties = dict(dict(defaults, **given), **properties) %}
    {% set options = config.get('options') or {} %}
    {% set clauses = [
        create ~ ' ' ~ relation ~ ' (' ~ collapsing._definitions(columns) ~ ')',
        'using ' ~ format,
        'options (' ~ collapsing._literal_pairs(options, ' ') ~ ')' if options else '',
        'partitioned by (ledger_batch)',
        location_clause() if target.type == 'spark' else spark__location_clause(),
        comment_clause(),
        'tblproperties (' ~ collapsing._literal_pairs(properties, ' = ') ~ ')'
    ] %}
    {{ return(clauses | map('trim') | select | join('\n')) }}
{% endmacro %}


{#
    Returns the properties that a format needs. Iceberg would send all of a batch to one task, and has row groups eight times as large as
    lookups want; Delta keeps statistics of the first 32 columns alone, fields of structs counted, and the package's come last.
#}
{% macro _format_properties(format, columns) %}
    {% if format == 'iceberg' %}{{ return({
        'write.distribution-mode': 'none', 'write.spark.fanout.enabled': 'true', 'write.parquet.row-group-size-bytes': '16777216'
    }) }}{% endif %}
    {% set counted, key = [], (config.get('meta').get('collapsing') or {}).get('key') or [] %}
    {% for column in columns if column.name != 'ledger_batch' and (column.name in key or column.name.startswith('ledger_'))
        and modules.re.match('(?:(?:tinyint|smallint|int|bigint|float|double|date|timestamp|timestamp_ntz|string)$|decimal)', column.dtype) %}
        {% do counted.append(adapter.quote(column.name)) %}
    {% endfor %}
    {% set structs = modules.re.findall('(?m)^struct.*', columns | map(attribute='dtype') | join('\n')) %}
    {% set fields = columns | length + (structs | join).count(':') %}
    {{ return({'delta.dataSkippingStatsColumns': counted | join(',')} if format == 'delta' and fields > 32 else {}) }}
{% endmacro %}


{# Adds columns, [{name, dtype}], to a table; returns its handle, which stands on the numbers that were listed before. #}
{% macro _add_columns(table, columns) %}
    {% do collapsing._say(model.name, 'new columns: ' ~ columns | map(attribute='name') | join(', ')) %}
    {% do collapsing._execute('alter table ' ~ table.relation ~ ' add columns (' ~ collapsing._definitions(columns) ~ ')') %}
    {{ return(dict(table, columns=collapsing._describe(table.relation).columns)) }}
{% endmacro %}


{# Returns the format of a model's table, with --defer of another environment's. On Databricks it is Delta by default. #}
{% macro _file_format(relation) %}
    {% set node = collapsing._model_of(relation) %}
    {% set is_deferred = node.defer_relation and not collapsing._is_table_of(node, relation) %}
    {% set config = node.defer_relation.config if is_deferred else node.config %}
    {{ return(config.file_format or ('delta' if target.type == 'databricks' else 'parquet')) }}
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


{# Raises an error where a model's table is to have a format that the package does not write. #}
{% macro _check_format() %}
    {% set format = collapsing._file_format(this) %}
    {% if format not in ['parquet', 'delta', 'iceberg'] %}
        {% do collapsing._raise(
            model.name, 'the config file_format must be one of parquet, delta, iceberg, in lower case; given: ' ~ format
        ) %}
    {% endif %}
    {% for name, value in (config.get('tblproperties') or {}).items() %}
        {% if format == 'delta' and name | lower == 'delta.appendonly' and value | string | lower == 'true' %}
            {% do collapsing._raise(
                model.name, 'the property ' ~ name ~ ' keeps Delta from deleting rows, as an optimize does with those that it has compacted:'
                ~ ' leave it out of tblproperties'
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#
    Raises dbt's error where a model's contract is enforced and asks for other columns than the table has or is to have, and one where
    Delta would enforce a constraint on rows that are no data: tombstones and notes, whose columns may be NULL.
#}
{% macro _check_contract(columns) %}
    {% if not config.get('contract').enforced %}{{ return(none) }}{% endif %}
    {% do get_assert_columns_equivalent(collapsing._row_of_nulls(columns)) %}
    {% if collapsing._file_format(this) != 'delta' %}{{ return(none) }}{% endif %}
    {% set found = [] %}
    {% for constraint in model.constraints + model.columns.values() | map(attribute='constraints') | sum(start=[])
        if constraint.type == 'check' and 'ledger_sign' not in (constraint.expression or '') | lower %}
        {% do found.append('check (' ~ constraint.expression ~ ')') %}
    {% endfor %}
    {% for column in model.columns.values() if column.name | lower not in ['ledger_sign', 'ledger_batch'] %}
        {% if 'not_null' in column.constraints | map(attribute='type') %}
            {% do found.append('not_null of ' ~ column.name) %}
        {% endif %}
    {% endfor %}
    {% if found %}
        {% do collapsing._raise(
            model.name, 'the constraint ' ~ found[0] ~ ' would hold for every row of the table: tombstones and notes too, which have NULLs.'
            ~ ' Test the rows of final instead, or let a check of a ledger begin with: ledger_sign <> 1 or'
        ) %}
    {% endif %}
{% endmacro %}


{# Returns a mapping as a list of quoted names and values. #}
{% macro _literal_pairs(mapping, between) %}
    {% set pairs = [] %}
    {% for name, value in mapping.items() %}
        {% do pairs.append(collapsing._text_literal(name) ~ between ~ collapsing._text_literal(value)) %}
    {% endfor %}
    {{ return(pairs | join(', ')) }}
{% endmacro %}
