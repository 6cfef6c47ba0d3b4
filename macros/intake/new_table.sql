{#
    Sees to it that a kill leaves nothing that stands in the way of the next run while a table of plain parquet is built from
    nothing: files without a table, which Spark refuses to build upon.

    A table that is not there is made empty, before dbt looks for it, so that dbt fills it by a partition as it fills any other
    batch. A full refresh is dbt's own: it drops the table and creates it with its rows. <table>__unfinished, an
    external table over the same folder, says that such a build has begun; where it is found beside no table, the folder's
    files are left-overs of ours, and are removed.

    relation  the ledger or projection
    sql       the rows it will hold
    is_empty  whether it holds no batch
#}
{% macro _begin_table(relation, sql, is_empty) %}
    {% if collapsing._may_write() and not collapsing._commits_atomically(relation) and not config.get('contract').enforced %}
        {% set existing = load_relation(relation) %}
        {#- the columns of an empty table may be those of other settings -#}
        {% set is_useless = existing is not none and is_empty and not should_full_refresh() and not existing.is_view %}
        {% do collapsing._drop_marked(relation) if is_useless %}
        {% if existing is none or is_useless %}
            {% do collapsing._remove_left_overs(relation) %}
            {% do collapsing._create_empty(relation, sql) %}
        {% endif %}
        {% do collapsing._mark_unfinished(relation) if should_full_refresh() %}
    {% endif %}
{% endmacro %}


{# Creates a table of plain parquet without rows, by the model's own config. #}
{% macro _create_empty(relation, sql) %}
    {% call statement('create_empty') %}
        create table {{ relation }} (
            {%- for row in collapsing._rows_of('describe query ' ~ sql) %}
            {{ adapter.quote(row[0]) }} {{ row[1] }}{{ ',' if not loop.last }}
            {%- endfor %}
        )
        {{ file_format_clause() }}
        {{ options_clause() }}
        {{ tblproperties_clause() }}
        {{ partition_cols(label="partitioned by") }}
        {{ clustered_cols(label="clustered by") }}
        {{ location_clause() }}
        {{ comment_clause() }}
    {% endcall %}
    {% do adapter.cache_added(relation.incorporate(type='table')) %}
{% endmacro %}


{# Gives the table that says that the build of another one has begun. #}
{% macro _unfinished_relation(relation) %}
    {{ return(collapsing._beside(relation, 'unfinished')) }}
{% endmacro %}


{# Drops a table that is built again at once. #}
{% macro _drop_marked(relation) %}
    {% do collapsing._mark_unfinished(relation) if not collapsing._commits_atomically(relation) %}
    {% do adapter.drop_relation(load_relation(relation)) %}
{% endmacro %}


{# Says that a table is about to be dropped and built again. Of an external one dbt drops no files, and none are left over. #}
{% macro _mark_unfinished(relation) %}
    {% set unfinished = collapsing._unfinished_relation(relation) %}
    {% set existing = load_relation(relation) %}
    {% if existing.is_view or config.get('location_root') %}
        {{ return(none) }}
    {% endif %}
    {% call statement('mark_unfinished') %}
        create table if not exists {{ unfinished }} (nothing int, part int)
        using parquet
        options ('mapreduce.fileoutputcommitter.marksuccessfuljobs' 'false', 'partitionOverwriteMode' 'static')
        partitioned by (part)
        location {{ collapsing._text_literal(collapsing._detail_of(relation, 'Location')) }}
    {% endcall %}
    {% do adapter.cache_added(unfinished) %}
{% endmacro %}


{#
    Drops a table of a full refresh that was killed in the middle of `create table ... as`: Spark writes the rows, creates the table,
    and only then registers its partition.
#}
{% macro _drop_unregistered(relation) %}
    {% set existing = load_relation(relation) %}
    {% if existing is not none and load_relation(collapsing._unfinished_relation(relation)) is not none
        and collapsing._detail_of(relation, 'Partition Provider') != 'Catalog' %}
        {% do adapter.drop_relation(existing) %}
    {% endif %}
{% endmacro %}


{# Empties the folder of a table that is not there, where a killed build has left one: an overwrite without rows. #}
{% macro _remove_left_overs(relation) %}
    {% set unfinished = collapsing._unfinished_relation(relation) %}
    {% if load_relation(unfinished) is not none %}
        {% do collapsing._log('removing what a killed build has left') %}
        {% call statement('remove_left_overs') %}
            insert overwrite table {{ unfinished }} select 1, 1 where false
        {% endcall %}
        {% do adapter.drop_relation(unfinished) %}
    {% endif %}
{% endmacro %}


{# Runs after a table was filled: its build is finished. #}
{% macro _finish_table(relation) %}
    {% if execute and load_relation(collapsing._unfinished_relation(relation)) is not none %}
        {% do adapter.drop_relation(collapsing._unfinished_relation(relation)) %}
    {% endif %}
{% endmacro %}
