{# Returns {files, bytes} of a table's data, NULL if unknown: of plain parquet only `scan` tells, which opens every file. #}
{% macro _storage_figures(relation, batches, scan) %}
    {% if not batches or not (scan or collapsing._has_log(relation)) %}
        {{ return({'files': none, 'bytes': none}) }}
    {% elif collapsing._file_format(relation) == 'delta' %}
        {% call statement('collapsing_detail', fetch_result=True, auto_begin=False) %}
            describe detail {{ relation }}
        {% endcall %}
        {% set detail = load_result('collapsing_detail').table.columns %}
        {{ return({'files': detail['numFiles'][0] | int, 'bytes': detail['sizeInBytes'][0] | int}) }}
    {% endif %}
    {% set size = collapsing._size_of(relation, batches) %}
    {{ return({'files': size.files, 'bytes': size.bytes}) }}
{% endmacro %}
