{#
    Configures a model whose run merges the rows of its query by their id.

    properties   {format: {name: value}} of the table; by default as the documents of the formats advise for many small updates
#}
{% macro merges(properties=none) %}
    {%- set many_small_updates = {
        'delta': {'delta.enableDeletionVectors': 'true'},
        'iceberg': {
            'format-version': '3',
            'write.merge.mode': 'merge-on-read',
            'write.update.mode': 'merge-on-read',
            'write.delete.mode': 'merge-on-read',
            'write.parquet.row-group-size-bytes': '16777216'
        }
    } -%}
    {{- config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='id',
        file_format=target.name,
        tblproperties=(properties or many_small_updates).get(target.name, {})
    ) -}}
{% endmacro %}
