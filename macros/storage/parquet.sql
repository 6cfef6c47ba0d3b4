{#
    Plain parquet, where the metastore alone is atomic. Rows go to a folder of the run's own inside the table's; the registration of a partition
    that was never there is the commit. Casts stand in for the store assignment that a folder does not get.
#}
{% macro _commit_parquet(table, number, rows, empties, reads, source, beside_runs) %}
    {% set folder = collapsing._text_literal(table.location ~ '/run=' ~ invocation_id ~ number) %}
    {% call statement('collapsing', auto_begin=False) %}
        insert overwrite directory {{ folder }} using parquet
        {%- if table.options %} options ({{ collapsing._literal_pairs(table.options, ' ') }}){% endif %}
        select
            {{ collapsing._columns_to_store(table) | indent(8) }}
        from (
        {{ rows }}
        )
    {% endcall %}
    {#- what it has read is still what counts -#}
    {% if table.compacted is none %}{% do collapsing._check_identity(table) %}{% endif %}
    {% if reads %}
        {% set now = collapsing._list(table) %}
        {% if reads | reject('in', now.numbers) | list or (beside_runs and now.compacted != table.compacted) %}
            {% do collapsing._refuse(table) %}
        {% endif %}
    {% endif %}
    {% if source and source.numbers | reject('in', collapsing._list(source.table).numbers) | list %}
        {% do collapsing._refuse(source.table) %}
    {% endif %}
    {% set taken = [] %}
    {% for empty in empties %}
        {% do taken.append('partition (ledger_batch = ' ~ empty ~ ')') %}
    {% endfor %}
    {% do collapsing._execute(
        'alter table ' ~ table.relation ~ ' add ' ~ (taken + ['partition (ledger_batch = ' ~ number ~ ') location ' ~ folder]) | join(' ')
    ) %}
{% endmacro %}
