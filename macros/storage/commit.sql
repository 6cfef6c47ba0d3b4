{#
    Appends one number to a table, written out of sight and then published in one act. It stands on what `table` has listed: if another
    commit came first, an error says so and nothing has changed. A compacted batch, whose number is negative, makes garbage, which goes.

    rows         query of the table's columns but ledger_batch
    empties      numbers that plain parquet takes empty in the same act
    begins       f, of a ledger's first commit: it takes -f too, on plain parquet also f
    reads        numbers of the table that must still be there, by default those that are visible
    source       {table, numbers, least} of what the rows of a projection were read from: the numbers must still be there, none of them below `least`
    beside_runs  whether numbers may have come above those listed: an optimize changes no state
#}
{% macro _commit(table, number, rows, empties=[], begins=none, reads=none, source=none, beside_runs=false) %}
    {% if table.format == 'iceberg' %}
        {% do collapsing._commit_iceberg(table, number, rows, begins, source, beside_runs) %}
    {% elif table.format == 'delta' %}
        {% if table.compacted is none %}{% do collapsing._check_identity(table) %}{% endif %}
        {% do collapsing._execute(collapsing._guarded_insert(table, table.relation, number, rows, begins, source, beside_runs)) %}
    {% else %}
        {% set taken = empties + ([-begins, begins] | unique | list if begins is not none else []) %}
        {% set numbers = reads if reads is not none else collapsing._visible_numbers(table) %}
        {% do collapsing._commit_parquet(table, number, rows, taken, numbers, source, beside_runs) %}
    {% endif %}
    {% if number < 0 and table.compacted is not none %}{% do collapsing._drop_garbage(table, compacted=-number) %}{% endif %}
{% endmacro %}


{# Raises the error of a commit that came second. #}
{% macro _refuse(table) %}
    {% do exceptions.raise_compiler_error('collapsing: ' ~ collapsing._refusal(table)) %}
{% endmacro %}


{# Returns in words that another commit came first. #}
{% macro _refusal(table) %}
    {{ return(
        'another commit of ' ~ table.relation ~ ' came first: its last batch was ' ~ table.last ~ ' when this one began. Nothing was changed: run it'
        ~ ' again'
    ) }}
{% endmacro %}


{# Raises an error where a table is no longer the one that was listed: one that somebody drops takes its folder with it. #}
{% macro _check_identity(table) %}
    {% if (collapsing._described(table.relation) or {}).identity != table.identity %}{% do collapsing._refuse(table) %}{% endif %}
{% endmacro %}


{# Returns the columns of a table for a select that stores them, by name, in its order and types; `number` as _commit has it. #}
{% macro _columns_to_store(table, number=none) %}
    {% set selected = [] %}
    {% for column in table.columns if column.name != 'ledger_batch' or number is not none %}
        {% set name = adapter.quote(column.name) %}
        {% do selected.append(
            'cast(' ~ (number if column.name == 'ledger_batch' else name) ~ ' as ' ~ collapsing._ddl_type(column.dtype) ~ ') as ' ~ name
        ) %}
    {% endfor %}
    {{ return(selected | join(',\n    ')) }}
{% endmacro %}


{#
    Drops what no reader sees: on plain parquet what `table` has listed, so that queries over what has become garbage since go on; with a log all.
    `compacted` is the number that was committed as -compacted.
#}
{% macro _drop_garbage(table, compacted) %}
    {% if collapsing._is_log(table) %}
        {#- a number below -compacted is a newer compacted batch -#}
        {% do collapsing._execute(
            'delete from ' ~ table.relation ~ ' where ledger_batch <= ' ~ compacted ~ ' and ledger_batch > ' ~ -compacted
        ) %}
        {% if table.format == 'iceberg' %}{% do collapsing._drop_old_branches(table) %}{% endif %}
    {% else %}
        {#- the negative ones come first -#}
        {% set garbage = table.numbers | reject('in', collapsing._visible_numbers(table)) | list %}
        {% if garbage %}
            {% do collapsing._execute(
                'alter table ' ~ table.relation ~ ' drop if exists partition (ledger_batch = '
                ~ garbage | join('), partition (ledger_batch = ') ~ ')'
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}
