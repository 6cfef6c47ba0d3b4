{#
    Storage on plain parquet, where nothing but the metastore is atomic. A batch is a partition, and its registration is the commit:
    every batch of a ledger or projection goes to a partition that was never registered, files of a killed run are not registered and the
    next run overwrites them. All but _drop_covered are named in storage/ alone. docs/crash_safety.md says what a kill leaves at
    each step.
#}


{# Returns the numbers that a table is partitioned by: what is registered. #}
{% macro _parquet_batches(relation) %}
    {#- dbt has listed its format and columns -#}
    {% set listed = relation.information or '' %}
    {% do collapsing._raise_foreign(relation)
        if listed and not ('provider: parquet' in listed | lower and 'ledger_batch' in listed) %}
    {% set partitions = collapsing._rows_of('show partitions ' ~ relation) | map('first') %}
    {{ return(partitions | map('replace', 'ledger_batch=', '') | map('int') | list) }}
{% endmacro %}


{#
    Returns the statement that appends a batch, or overwrites what a killed run has left of it. The partition is found in the rows: Spark
    refuses to overwrite a partition that is named of a table that the rows are read from, and would add to it the files of tasks that a
    killed job has left in the table's _temporary. The tables are created with partitionOverwriteMode dynamic.
#}
{% macro _parquet_append(relation, sql) -%}
insert overwrite table {{ relation }} partition (ledger_batch)
{{ sql }}
{%- endmacro %}


{# Drops batches, a list of numbers. #}
{% macro _parquet_drop_batches(relation, numbers) %}
    {% do collapsing._execute(
        'alter table ' ~ relation ~ ' drop if exists partition (ledger_batch = ' ~ numbers | join('), partition (ledger_batch = ') ~ ')'
    ) %}
{% endmacro %}


{#
    Writes a base as a partition that was never there. <table>__dropped says first that it is about to be written; the files that
    a killed optimize has left, and no later one has written anew, are registered in it, and dropped with it.
#}
{% macro _parquet_write_base(relation, upto, sql) %}
    {% set dropped = collapsing._beside(relation, 'dropped') %}
    {% do collapsing._check_own(dropped, 'nothing') %}
    {% set begun = collapsing._parquet_batches(dropped) if load_relation(dropped) is not none else [] %}
    {% set registered = collapsing._parquet_batches(relation) if begun else [] %}
    {% for number in begun if number < 0 and number not in registered %}
        {% set folder = collapsing._describe(relation).details.Location ~ '/ledger_batch=' ~ number %}
        {% do collapsing._set_location(dropped, number, folder) %}
    {% endfor %}
    {% do collapsing._parquet_drop(dropped) %}
    {% do collapsing._create_dropped(dropped) %}
    {% do collapsing._execute('alter table ' ~ dropped ~ ' add partition (ledger_batch = ' ~ -upto ~ ')') %}
    {% do collapsing._execute(collapsing._parquet_append(relation, sql)) %}
    {% do collapsing._execute(collapsing._parquet_append(relation, collapsing._placeholder_row(relation, -upto)))
        if -upto not in collapsing._parquet_batches(relation) %}
{% endmacro %}


{#
    Drops the batches that a base stands for and that are still registered; formats with a log leave none. Each exchanges folders
    with an empty one of <table>__dropped, which owns its files until the next base is written or the table is created again, so
    that queries which read them can finish, and is then dropped. Every step can be repeated.
#}
{% macro _drop_covered(relation, batches) %}
    {% if not batches or not batches.covered %}{{ return(none) }}{% endif %}
    {% set dropped = collapsing._beside(relation, 'dropped') %}
    {% do collapsing._create_dropped(dropped) %}
    {% do collapsing._execute(
        'alter table ' ~ dropped ~ ' add if not exists partition (ledger_batch = '
        ~ batches.covered | join(') partition (ledger_batch = ') ~ ')'
    ) %}
    {% set here, there = collapsing._describe(relation).details.Location, collapsing._describe(dropped).details.Location %}
    {% for number in batches.covered %}
        {% do collapsing._set_location(relation, number, there ~ '/ledger_batch=' ~ number) %}
        {% do collapsing._set_location(dropped, number, here ~ '/ledger_batch=' ~ number) %}
    {% endfor %}
    {% do collapsing._parquet_drop_batches(relation, batches.covered) %}
{% endmacro %}


{# Makes a batch of a table the files of a folder. #}
{% macro _set_location(relation, number, folder) %}
    {% do collapsing._execute(
        'alter table ' ~ relation ~ ' partition (ledger_batch = ' ~ number ~ ') set location ' ~ collapsing._text_literal(folder)
    ) %}
{% endmacro %}


{# Creates <table>__dropped, the owner of the files of dropped batches, without what a killed drop of it has left. #}
{% macro _create_dropped(dropped) %}
    {% do collapsing._parquet_drop(dropped) if load_relation(dropped) is none %}
    {% do collapsing._execute(
        'create table if not exists ' ~ dropped ~ ' (nothing int, ledger_batch int) using parquet partitioned by (ledger_batch)'
    ) %}
    {% do collapsing._add_to_cache(dropped) %}
{% endmacro %}


{#
    Drops a table with its files, if there is one. Spark refuses to create a table over a folder with files, which a kill in the middle
    of a drop leaves, and every drop in Iceberg's session catalog: <table>__unfinished, an external table over the folder, is created
    first. If it exists without the table, the files are left-overs of this package, and an overwrite without rows removes them.
#}
{% macro _parquet_drop(relation) %}
    {% set existing, unfinished = load_relation(relation), collapsing._beside(relation, 'unfinished') %}
    {% if existing is not none %}
        {% set details = {} if existing.is_view else collapsing._describe(relation).details %}
        {#- dbt drops no files of an external table, and none are left over -#}
        {% do collapsing._create_unfinished(unfinished, details.Location) if details.get('Type') == 'MANAGED' %}
        {% do adapter.drop_relation(existing) %}
    {% endif %}
    {% do collapsing._empty_unfinished(unfinished) if load_relation(unfinished) is not none %}
{% endmacro %}


{# Empties the folder of a table that is not there: Iceberg's session catalog leaves files of another format, whoever drops it. #}
{% macro _parquet_empty_folder(relation) %}
    {% set unfinished = collapsing._beside(relation, 'unfinished') %}
    {% for row in collapsing._rows_of('describe schema ' ~ relation.without_identifier()) if row[0] == 'Location' %}
        {% do collapsing._create_unfinished(unfinished, row[1] ~ '/' ~ relation.identifier | lower) %}
        {% do collapsing._empty_unfinished(unfinished) %}
    {% endfor %}
{% endmacro %}


{# Creates <table>__unfinished over a folder, where there is none yet. #}
{% macro _create_unfinished(unfinished, location) %}
    {% do collapsing._execute(
        "create table if not exists " ~ unfinished ~ " (nothing int, part int) using parquet options ("
        ~ "'mapreduce.fileoutputcommitter.marksuccessfuljobs' 'false', 'partitionOverwriteMode' 'static') partitioned by (part)"
        ~ " location " ~ collapsing._text_literal(location)
    ) %}
    {% do collapsing._add_to_cache(unfinished) %}
{% endmacro %}


{# Removes the files of the folder that <table>__unfinished is over, and then the table itself. #}
{% macro _empty_unfinished(unfinished) %}
    {% do collapsing._execute('insert overwrite table ' ~ unfinished ~ ' select 1, 1 where false') %}
    {% do adapter.drop_relation(unfinished) %}
{% endmacro %}


{# Drops a table, if there is one, and creates it empty. #}
{% macro _parquet_recreate(relation, columns, properties) %}
    {% set dropped = collapsing._beside(relation, 'dropped') %}
    {% do collapsing._check_own(dropped, 'nothing') %}
    {% do collapsing._parquet_drop(relation) %}
    {#- it owns folders in that of the table, which the new one is going to write to -#}
    {% do collapsing._parquet_drop(dropped) %}
    {% do collapsing._execute(
        collapsing._create_table('create table', relation, columns, properties, {'partitionOverwriteMode': 'dynamic'})
    ) %}
{% endmacro %}
