{#
    Returns {files, bytes} of a table's data. A format with a log knows them; of plain parquet they are NULL, or with `scan` counted, for
    which every file is opened.
#}
{% macro _storage_figures(relation, batches, scan) %}
    {% set format = collapsing._file_format(relation) %}
    {% if not batches or not (scan or collapsing._has_log(relation)) %}
        {{ return({'files': none, 'bytes': none}) }}
    {% elif format == 'delta' %}
        {% call statement('collapsing_detail', fetch_result=True, auto_begin=False) %}
            describe detail {{ relation }}
        {% endcall %}
        {% set detail = load_result('collapsing_detail').table.columns %}
        {{ return({'files': detail['numFiles'][0] | int, 'bytes': detail['sizeInBytes'][0] | int}) }}
    {% elif format == 'iceberg' %}
        {% set files = relation ~ '.files where content = 0' %}
    {% else %}
        {% set files = '(select max(_metadata.file_size) as file_size_in_bytes from ' ~ relation ~ ' where '
            ~ collapsing._is_committed(batches) ~ ' group by _metadata.file_path)' %}
    {% endif %}
    {% set row = collapsing._rows_of('select count(*), coalesce(sum(file_size_in_bytes), 0) from ' ~ files)[0] %}
    {{ return({'files': row[0], 'bytes': row[1]}) }}
{% endmacro %}
