{# Returns a query of the events in the files of a landing folder; a file is a block. #}
{% macro landed(folder) %}
select
    staged.*,
    block
from (
    select
        from_json(value, 'id bigint, version int, amount bigint') as staged,
        _metadata.file_name as block
    from text.`{{ env_var('COLLAPSING_LOCAL') }}/landing/{{ folder }}`
)
{% endmacro %}
