{#
    Storage on Delta and Iceberg, where each statement is one commit of the format and readers see one snapshot. The package names
    these macros in storage/batches.sql alone.
#}


{# Returns the numbers of the batches of a table. A gap is harmless: a number without rows selects nothing. #}
{% macro _log_batches(relation, ledger, described) %}
    {#- dbt lists no columns here: a ledger of the package has a manifest, and a run of a projection has described its table -#}
    {% set is_known = ledger is not none or load_relation(collapsing._beside(relation, 'manifest')) is not none
        or collapsing._is_projection(collapsing._model_of(relation)) %}
    {% set described = described or (none if is_known else collapsing._describe(relation)) %}
    {% do collapsing._raise_foreign(relation) if described and 'ledger_batch' not in described.columns | map(attribute='name') %}
    {% set ends = collapsing._rows_of('select min(ledger_batch), max(ledger_batch) from ' ~ relation)[0] %}
    {% if ends[0] is none %}{{ return([]) }}{% endif %}
    {% set least, greatest = ends[0] | int, ends[1] | int %}
    {% set numbers = [least] if least < 0 else [] %}
    {#- dbt's Jinja refuses ranges of more than 100,000 numbers -#}
    {% for first in range(least if least > 0 else 1 - least, greatest + 1, 100000) %}
        {% do numbers.extend(range(first, [first + 100000, greatest + 1] | min)) %}
    {% endfor %}
    {{ return(numbers) }}
{% endmacro %}


{#
    Returns the statement that appends a batch, so that of two writers only one counts. On Iceberg the second replaces the first. On Delta the
    second fails: the statement reads whether the batch is there, or a later one, and Delta checks this read against concurrent commits. The
    read takes half a second, and is left out where no other process can write. Delta does not use `replace where`, because Spark would put
    the batch number into generated code, and compile that code anew in each run. `after` as _append_sql has it.
#}
{% macro _log_append(relation, sql, number, format, after) -%}
{%- set last = after if after is not none else number - 1 -%}
{%- set is_written = 'ledger_batch = ' ~ number if number < 0 else 'abs(ledger_batch) > ' ~ last -%}
{% if format == 'iceberg' -%}
{{ collapsing._log_overwrite(relation, sql, 'ledger_batch > ' ~ after if after is not none else 'ledger_batch = ' ~ number) }}
{%- elif collapsing._is_sole_writer() -%}
insert into {{ relation }}
{{ sql }}
{%- else -%}
insert into {{ relation }}
select *
from (
{{ sql }}
)
where
    if(
        exists(select 1 from {{ relation }} where {{ is_written }}),
        {{ collapsing._raise_in_sql('another run has written batch ' ~ number ~ ' of ' ~ relation.identifier) }},
        true
    )
{%- endif %}
{%- endmacro %}


{# Returns the statement that writes rows in the place of those for which `condition` is true. #}
{% macro _log_overwrite(relation, sql, condition) -%}
insert into {{ relation }} replace where {{ condition }}
{{ sql }}
{%- endmacro %}


{# Writes a base in one commit that removes what it stands for. #}
{% macro _log_write_base(relation, upto, sql) %}
    {% set is_empty = not collapsing._rows_of('select 1 from (' ~ sql ~ ') limit 1') %}
    {% set rows = collapsing._placeholder_row(relation, -upto) if is_empty else sql %}
    {% do collapsing._execute(collapsing._log_overwrite(relation, rows, 'ledger_batch <= ' ~ upto)) %}
{% endmacro %}


{#
    Creates a table empty, in one commit that replaces the one that is there. Iceberg's history ends there, Delta's goes on. An Iceberg
    table of other columns is dropped first: a Hive metastore compares columns by their place, and refuses for example text where a
    number was.
#}
{% macro _log_recreate(relation, columns, properties) %}
    {% set existing, format = load_relation(relation), collapsing._file_format(relation) %}
    {#- by default Iceberg hashes what is written by partition: all of a batch to one task, and the order of a base is lost -#}
    {#- and has row groups that are eight times as large: a lookup of keys that are close together reads twice the rows -#}
    {% if format == 'iceberg' %}
        {% set defaults = {
            'write.distribution-mode': 'none', 'write.spark.fanout.enabled': 'true', 'write.parquet.row-group-size-bytes': '16777216'
        } %}
        {% set properties = dict(dict(defaults, **(config.get('tblproperties') or {})), **properties) %}
    {% endif %}
    {% set described = collapsing._describe(relation) if existing is not none and not existing.is_view else none %}
    {#- no format replaces a table of another one -#}
    {% if existing is not none and (described is none or described.details.get('Provider', format) | lower != format) %}
        {% do adapter.drop_relation(existing) %}
    {% elif existing is not none and format == 'iceberg' and described.columns != columns %}
        {% do collapsing._execute('drop table ' ~ relation ~ ' purge') %}
    {% endif %}
    {% do collapsing._execute(collapsing._create_table('create or replace table', relation, columns, properties, {})) %}
{% endmacro %}
