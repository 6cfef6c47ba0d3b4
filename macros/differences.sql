{% macro differences(actual, expected, columns) -%}
(
    select 'actual' as only_in, * from (
        select {{ collapsing._row_list(columns) }} from {{ actual }}
        except all
        select {{ collapsing._row_list(columns) }} from {{ expected }}
    )
)
union all
(
    select 'expected' as only_in, * from (
        select {{ collapsing._row_list(columns) }} from {{ expected }}
        except all
        select {{ collapsing._row_list(columns) }} from {{ actual }}
    )
)
{%- endmacro %}
