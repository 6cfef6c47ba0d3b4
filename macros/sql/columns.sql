{# Returns quoted columns as a list for a select, a line each; `of` is the alias they are taken from. #}
{% macro _select_list(columns, of=none, indent=8) %}
    {% set parts = [] %}
    {% for column in columns %}
        {% do parts.append((of ~ '.' if of else '') ~ adapter.quote(column)) %}
    {% endfor %}
    {{ return(parts | join(',\n' ~ ' ' * indent)) }}
{% endmacro %}


{# Returns quoted columns on one line, for `partition by`, `group by` and `order by`; `suffix` is ' desc' or nothing. #}
{% macro _row_list(columns, of=none, suffix='') %}
    {% set parts = [] %}
    {% for column in columns %}
        {% do parts.append((of ~ '.' if of else '') ~ adapter.quote(column) ~ suffix) %}
    {% endfor %}
    {{ return(parts | join(', ')) }}
{% endmacro %}


{# Returns the condition that two aliases hold the same key. Keys are never NULL in a ledger, so `=` is enough. #}
{% macro _same_key(key, one, other) %}
    {% set parts = [] %}
    {% for column in key %}
        {% do parts.append(one ~ '.' ~ adapter.quote(column) ~ ' = ' ~ other ~ '.' ~ adapter.quote(column)) %}
    {% endfor %}
    {{ return(parts | join(' and ')) }}
{% endmacro %}


{# Returns one comparable value of the columns of a version: the column itself, or a struct, compared field by field. #}
{% macro _one_value(columns, of) %}
    {% set fields = collapsing._row_list(columns, of) %}
    {{ return(fields if columns | length == 1 else 'struct(' ~ fields ~ ')') }}
{% endmacro %}


{# Returns the names of the columns that compare, group and order: maps do not. `columns` are a list of {name, dtype}. #}
{% macro _comparable_columns(columns) %}
    {% set names = [] %}
    {% for column in columns if 'map<' not in column.dtype %}
        {% do names.append(column.name) %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}


{# Returns SQL for the key of a row as JSON text. #}
{% macro _key_as_json(key) %}
    {{ return("to_json(struct(" ~ collapsing._row_list(key) ~ "), map('ignoreNullFields', 'false'))") }}
{% endmacro %}
