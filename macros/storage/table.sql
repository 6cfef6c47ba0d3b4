{#
    Returns the statement that creates a model's table empty, by the model's own config: contract, format, options, properties, location
    and comment, as dbt-spark reads them.

    create      'create table' or 'create or replace table'
    columns     [{name, dtype}], ledger_batch among them: the tables are partitioned by it
    properties  {name: value} of the package's own
    options     {name: value} of the package's own, which override a config of the same name
#}
{% macro _create_table(create, relation, columns, properties, options) %}
    {#- Spark does not distinguish upper and lower case in options -#}
    {% set own, others = options | map('lower') | list, {} %}
    {% for name, value in (config.get('options') or {}).items() if name | lower not in own %}
        {% do others.update({name: value}) %}
    {% endfor %}
    {% set options, properties = dict(others, **options), dict(config.get('tblproperties') or {}, **properties) %}
    {% set clauses = [
        create ~ ' ' ~ relation ~ ' (' ~ collapsing._definitions(columns) ~ ')',
        'using ' ~ collapsing._file_format(relation),
        'options (' ~ collapsing._literal_pairs(options, ' ') ~ ')' if options else '',
        'partitioned by (ledger_batch)',
        location_clause() if target.type == 'spark' else spark__location_clause(),
        comment_clause(),
        'tblproperties (' ~ collapsing._literal_pairs(properties, ' = ') ~ ')' if properties else ''
    ] %}
    {{ return(clauses | map('trim') | select | join('\n')) }}
{% endmacro %}


{#
    Raises dbt's error where a model's contract is enforced and asks for other columns than the table has or is to have, and one where
    Delta would enforce a constraint on rows that are no data: tombstones, whose columns may be NULL, and rows that stand for a batch
    without rows.
#}
{% macro _check_contract(columns) %}
    {% if not config.get('contract').enforced %}{{ return(none) }}{% endif %}
    {% do get_assert_columns_equivalent(collapsing._row_of_nulls(columns)) %}
    {% set found = [] %}
    {% for constraint in model.constraints + model.columns.values() | map(attribute='constraints') | sum(start=[])
        if constraint.type == 'check' and 'ledger_sign' not in (constraint.expression or '') | lower %}
        {% do found.append('check (' ~ constraint.expression ~ ')') %}
    {% endfor %}
    {% for column in model.columns.values() if column.name | lower not in ['ledger_sign', 'ledger_batch'] %}
        {% do found.append('not_null of ' ~ column.name) if 'not_null' in column.constraints | map(attribute='type') %}
    {% endfor %}
    {{ collapsing._raise(
        model.name, 'the constraint ' ~ found[0] ~ ' would hold for every row of the table: tombstones too, and the row of NULLs'
        ~ ' that stands for a batch without rows. Test the rows of final instead, or let a check of a ledger begin with:'
        ~ ' ledger_sign <> 1 or'
    ) if found and collapsing._file_format(this) == 'delta' }}
{% endmacro %}


{# Raises an error about a table under the name of a model. #}
{% macro _raise_foreign(relation) %}
    {{ collapsing._raise(
        relation.identifier, 'the table ' ~ relation ~ ' is not one that this package has created, in the format of the model. Of another'
        ~ ' format, set file_format to it; otherwise drop it, or give the model another name'
    ) }}
{% endmacro %}


{# Returns a mapping as a list of quoted names and values. #}
{% macro _literal_pairs(mapping, between) %}
    {% set pairs = [] %}
    {% for name, value in mapping.items() %}
        {% do pairs.append(collapsing._text_literal(name) ~ between ~ collapsing._text_literal(value)) %}
    {% endfor %}
    {{ return(pairs | join(', ')) }}
{% endmacro %}


{# Drops a table beside a ledger, if there is one, and what a killed drop has left. #}
{% macro _drop_beside(relation, ledger) %}
    {% set existing, unfinished = load_relation(relation), load_relation(collapsing._beside(relation, 'unfinished')) %}
    {% if existing is none and unfinished is none %}{{ return(none) }}{% endif %}
    {% if collapsing._format_beside(ledger) == 'parquet' %}
        {#- Iceberg's session catalog does not tell Spark's that a table is gone, and Spark goes on knowing its columns -#}
        {% do collapsing._execute('refresh table ' ~ relation) if existing is not none and collapsing._has_log(ledger) %}
        {% do collapsing._parquet_drop(relation) %}
    {% elif existing is not none %}
        {% do adapter.drop_relation(existing) %}
    {% endif %}
{% endmacro %}


{# Creates a table beside a ledger where there is none yet. `columns` are as in `create table`. #}
{% macro _create_beside(relation, ledger, columns) %}
    {% if load_relation(relation) is not none %}{{ return(none) }}{% endif %}
    {% set format = collapsing._format_beside(ledger) %}
    {#- another command may have created it since this one began -#}
    {% if not collapsing._is_in_catalog(relation) %}
        {#- over the files that a killed drop has left, no table can be created -#}
        {% do collapsing._drop_beside(relation, ledger) %}
        {% set in_iceberg = format == 'parquet' and collapsing._file_format(ledger) == 'iceberg' %}
        {% do collapsing._parquet_empty_folder(relation) if in_iceberg %}
        {% do collapsing._execute(
            'create table if not exists ' ~ relation ~ ' (' ~ columns ~ ')\nusing ' ~ format
            ~ (" options ('partitionOverwriteMode' 'dynamic')" if format == 'parquet') ~ '\npartitioned by (ledger_batch)'
        ) %}
    {% endif %}
    {% do collapsing._add_to_cache(
        relation.incorporate(is_delta=format == 'delta', is_iceberg=format == 'iceberg') if target.type == 'spark' else relation
    ) %}
{% endmacro %}


{# Adds columns to a table, [{name, dtype}]. #}
{% macro _add_columns(relation, columns) %}
    {% do collapsing._say(model.name, 'new columns in ' ~ relation ~ ': ' ~ columns | map(attribute='name') | join(', ')) %}
    {% do collapsing._execute('alter table ' ~ relation ~ ' add columns (' ~ collapsing._definitions(columns) ~ ')') %}
{% endmacro %}


{# Sets properties of a table, {name: value}. #}
{% macro _set_properties(relation, properties) %}
    {% do collapsing._execute(
        'alter table ' ~ relation ~ ' set tblproperties (' ~ collapsing._literal_pairs(properties, ' = ') ~ ')'
    ) %}
{% endmacro %}
