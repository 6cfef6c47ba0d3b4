{#
    Merges the oldest parts of a projection into a base: one row for each group, and one for each value that is kept, with what the
    batches add up to. The newest `keep_batches` stay as they are, for as_of.
#}
{% macro _optimize_projection(node, projection, keep_batches) %}
    {% set batches = collapsing._batches_of(projection) %}
    {% do collapsing._drop_covered(projection, batches) %}
    {% set upto = collapsing._read_by_all(node, projection, batches, batches.last - keep_batches) if batches else 0 %}
    {% if not batches or not batches.later | select('le', upto) | list %}
        {% do collapsing._say(node.name, 'there is nothing to merge') %}
    {% else %}
        {% do collapsing._fold_into_base(
                node, projection, batches, upto, collapsing._merged_partials(projection, batches, upto), has_readers=false
            ) %}
    {% endif %}
{% endmacro %}


{# Returns the rows of a projection's base. Groups that add up to nothing are left out, with any residue of floats. #}
{% macro _merged_partials(projection, batches, upto) %}
{%- set merged, kept, counts = [], [], [] -%}
{%- for column in collapsing._describe(projection).columns -%}
    {%- set name = adapter.quote(column.name) -%}
    {%- if column.name == 'ledger_batch' -%}
        {%- do merged.append(-upto ~ ' as ledger_batch') -%}
    {%- elif column.name == 'ledger_part' or column.name.startswith('ledger_value_') or not column.name.startswith('ledger_') -%}
        {%- do merged.append(name) -%}
        {%- do kept.append(column.name) -%}
    {%- else -%}
        {%- do merged.append(collapsing._sum_of_partials(projection, column.name, column.dtype) ~ ' as ' ~ name) -%}
        {%- do counts.append('coalesce(sum(' ~ name ~ '), 0) <> 0') if not column.name.startswith('ledger_sum_') -%}
    {%- endif -%}
{%- endfor -%}
select /*+ coalesce(1) */
    {{ merged | join(',\n    ') }}
from {{ projection }}
where
    {{ collapsing._is_upto(projection, batches, upto) }}
{%- if kept %}
group by {{ collapsing._row_list(kept) }}
{%- endif %}
having
    {{ counts | join('\n    or ') }}
{% endmacro %}


{#
    Runs after a projection's insert: merges its partials when there are more than 16, all but the newest 8, so that reading it
    does not grow with its age and the newest states can still be asked for. `table` as _ready_partials returned it before the insert.
#}
{% macro _merge_many_partials(projection, table) %}
    {% set batches, later = table.batches, table.batches.later + [table.upto] %}
    {% if later | length > 16 %}
        {% set node = collapsing._model_of(projection) %}
        {% set upto = collapsing._read_by_all(node, projection, batches, later[-9]) %}
        {% if later | select('le', upto) | list %}
            {% do collapsing._drop_covered(projection, batches) %}
            {% do collapsing._say(node.name, 'merging the partials of the batches up to ' ~ upto) %}
            {% do collapsing._write_base(
                projection, upto, collapsing._merged_partials(projection, batches, upto), has_readers=false
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}
