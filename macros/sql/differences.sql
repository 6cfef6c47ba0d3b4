{#
    Gives a query of the rows that two queries do not share, as multisets, with `only_in` saying whose they are. Both take the
    columns of `columns`, a list of names, from something that can stand behind `from`.
#}
{% macro _differences(actual, expected, columns) -%}
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
