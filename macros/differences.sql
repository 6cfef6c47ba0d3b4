{% macro differences(actual, expected, columns) -%}
{%- set columns = collapsing._compared_columns(columns) -%}
(
    select 'actual' as only_in, * from (
        select {{ collapsing._column_list(columns) }} from {{ actual }}
        except all
        select {{ collapsing._column_list(columns) }} from {{ expected }}
    )
)
union all
(
    select 'expected' as only_in, * from (
        select {{ collapsing._column_list(columns) }} from {{ expected }}
        except all
        select {{ collapsing._column_list(columns) }} from {{ actual }}
    )
)
{%- endmacro %}


{# Returns the columns to compare as a list: those that are given, by default those that there are (`known`). #}
{% macro _compared_columns(columns, known=none) %}
    {% set given = [columns] if columns is string else columns or known or [] %}
    {% do return(given) if not execute %}
    {{ collapsing._raise(
        model.name if model is defined else '?', "'columns' must be a column or a list of columns"
        ~ (' (' ~ known | join(', ') ~ ')' if known else '') ~ '; given: ' ~ (collapsing._shown(columns) if columns else 'nothing')
    ) if not given or given is not iterable or given is mapping or given | select('string') | list | length < given | length
        or known and given | map('lower') | reject('in', known | map('lower') | list) | list }}
    {{ return(given) }}
{% endmacro %}
