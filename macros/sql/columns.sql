{# Returns quoted columns as a list for a select, one per line; `of` is the alias that they are taken from. #}
{% macro _select_list(columns, of=none, indent=8) %}
    {{ return(collapsing._column_list(columns, of, between=',\n' ~ ' ' * indent)) }}
{% endmacro %}


{# Returns quoted columns on one line, for `partition by`, `group by` and `order by`; `suffix` follows each, such as ' desc'. #}
{% macro _column_list(columns, of=none, suffix='', between=', ') %}
    {% set parts = [] %}
    {% for column in columns %}
        {% do parts.append((of ~ '.' if of else '') ~ adapter.quote(column) ~ suffix) %}
    {% endfor %}
    {{ return(parts | join(between)) }}
{% endmacro %}


{# Returns the condition that two aliases hold the same key. Keys are never NULL in a ledger, so `=` is enough. #}
{% macro _same_key(key, one, other) %}
    {% set parts = [] %}
    {% for column in key %}
        {% do parts.append(one ~ '.' ~ adapter.quote(column) ~ ' = ' ~ other ~ '.' ~ adapter.quote(column)) %}
    {% endfor %}
    {{ return(parts | join(' and ')) }}
{% endmacro %}


{# Returns whether values of a type compare, group and order: no map, variant, interval without a unit or NULL without a type. #}
{% macro _is_comparable(dtype) %}
    {{ return(not modules.re.search('(^|[<:,])(map<|(variant|interval|void)($|[,>]))', dtype)) }}
{% endmacro %}


{# Returns the names of the columns, [{name, dtype}], that compare, group and order. #}
{% macro _comparable_columns(columns) %}
    {% set names = [] %}
    {% for column in columns if collapsing._is_comparable(column.dtype) %}
        {% do names.append(column.name) %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}


{# Returns SQL for columns of a row, such as its key, as JSON text. #}
{% macro _row_as_json(columns) %}
    {{ return(collapsing._as_json('struct(' ~ collapsing._column_list(columns) ~ ')')) }}
{% endmacro %}


{# Returns SQL for a struct as JSON text with its NULLs and microseconds, which Spark leaves out by default. #}
{% macro _as_json(row) %}
    {% set to_the_second = "yyyy-MM-dd'T'HH:mm:ss" %}
    {% set options = {
        'ignoreNullFields': 'false', 'timestampFormat': to_the_second ~ '.SSSSSSXXX', 'timestampNTZFormat': to_the_second ~ '.SSSSSS'
    } %}
    {{ return('to_json(' ~ row ~ ', map(' ~ collapsing._literal_pairs(options, ', ') ~ '))') }}
{% endmacro %}


{# Returns a type as a statement takes it: names of fields quoted, a timestamp with its zone, whatever the session's default. #}
{% macro _ddl_type(dtype) %}
    {% set at, stack, ddl = namespace(name=none, word='', parentheses=0), [], [] %}
    {% for token in modules.re.findall('[<>,:()]|[^<>,:()]+', dtype) %}
        {% if at.name is not none and not (token == '>' and at.name == '') %}
            {% do ddl.append('`' ~ at.name | replace('`', '``') ~ '`:') if token == ':' %}
            {% set at.name = none if token == ':' else at.name ~ token %}
        {% else %}
            {% set at.parentheses = at.parentheses + {'(': 1, ')': -1}.get(token, 0) %}
            {% do stack.append(at.word == 'struct') if token == '<' %}
            {% do stack.pop() if token == '>' %}
            {% set at.name = '' if token in '<,' and stack and stack[-1] and not at.parentheses else none %}
            {% set at.word = token %}
            {% do ddl.append('timestamp_ltz' if token == 'timestamp' else token) %}
        {% endif %}
    {% endfor %}
    {{ return(ddl | join) }}
{% endmacro %}


{# Returns columns, [{name, dtype}], as the definitions of a statement that creates them. #}
{% macro _definitions(columns) %}
    {% set definitions = [] %}
    {% for column in columns %}
        {% do definitions.append(adapter.quote(column.name) ~ ' ' ~ collapsing._ddl_type(column.dtype)) %}
    {% endfor %}
    {{ return(definitions | join(', ')) }}
{% endmacro %}


{# Returns a query of one row of the columns given, [{name, dtype}]: NULLs, but for those of `values`, {name: SQL}. #}
{% macro _row_of_nulls(columns, values={}) %}
    {% set parts = [] %}
    {% for column in columns %}
        {% set value, dtype = values[column.name] if column.name in values else 'null', collapsing._ddl_type(column.dtype) %}
        {% do parts.append('cast(' ~ value ~ ' as ' ~ dtype ~ ') as ' ~ adapter.quote(column.name)) %}
    {% endfor %}
    {{ return('select ' ~ parts | join(', ')) }}
{% endmacro %}


{# Returns the names of the columns that the package adds to a ledger's rows. #}
{% macro _system_columns() %}
    {{ return(['ledger_sign', 'ledger_block', 'ledger_note', 'ledger_place', 'ledger_batch']) }}
{% endmacro %}


{# Returns SQL for the number that a sign or a mark of deletes stands for, of whatever type; NULL, in ANSI mode too, for none. #}
{% macro _as_number(column) %}
    {{ return('try_cast(' ~ adapter.quote(column) ~ ' as double)') }}
{% endmacro %}
