{#
    Gives the rows of a query as lists of Python values. dbt's run_query would guess types from the text of a column and
    make a number of a token such as '007'.
#}
{% macro _rows_of(sql) %}
    {% call statement('collapsing_rows', fetch_result=True, auto_begin=False) %}
        {{ sql }}
    {% endcall %}
    {{ return(load_result('collapsing_rows')['data']) }}
{% endmacro %}


{# Gives whether this command may write: compile, docs, show and test render the same body and must not. #}
{% macro _may_write() %}
    {{ return(flags.WHICH in ['run', 'build']) }}
{% endmacro %}


{#
    Writes rows into partitions of a table that none has been registered for, which the rows may be read from: Spark allows that
    for partitions that it finds in the rows, not for one that is named.
#}
{% macro _write_partitions(relation, sql) %}
    {% call statement('overwrite_mode') %}
        set spark.sql.sources.partitionOverwriteMode = DYNAMIC
    {% endcall %}
    {% call statement('write_partitions') %}
        insert overwrite table {{ relation }} partition (ledger_batch)
        {{ sql }}
    {% endcall %}
{% endmacro %}
