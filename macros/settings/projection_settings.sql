{#
    Returns the checked settings of a projection, `node` in the graph or the model that is built: `group_by` as a mapping of name to SQL,
    `measures` as a list of what _measure returns.
#}
{% macro _projection_settings(node) %}
    {% set model_name, given = node.name, node.config.meta.get('collapsing') %}
    {% do collapsing._check_known(model_name, given, ['group_by', 'measures']) if given is mapping %}
    {{ collapsing._raise(
        model_name, "a projection needs 'group_by' and 'measures' in config(meta={'collapsing': {...}}); given: "
        ~ (given | join(', ') if given is mapping and given else 'nothing')
    ) if given is not mapping or 'measures' not in given or 'group_by' not in given }}

    {% set group_by, measures = given.group_by, [] %}
    {% if group_by is not mapping %}
        {% set group_by = {} %}
        {% for column in collapsing._columns_setting(model_name, given, 'group_by') %}
            {% do group_by.update({column: adapter.quote(column)}) %}
        {% endfor %}
    {% endif %}
    {{ collapsing._raise_setting(
        model_name, 'group_by', 'a list of columns, or a mapping of a name to SQL', given.group_by
    ) if group_by.values() | select('string') | list | length != group_by | length }}
    {{ collapsing._raise_setting(
        model_name, 'measures', "a mapping of a name to an aggregate such as 'sum(x)'", given.measures
    ) if given.measures is not mapping or not given.measures }}
    {% for name, sql in group_by.items() %}
        {% do collapsing._check_one_value(model_name, 'group_by.' ~ name, sql) %}
    {% endfor %}
    {% for name, aggregate in given.measures.items() %}
        {% do measures.append(collapsing._measure(model_name, name, aggregate)) %}
    {% endfor %}

    {% do collapsing._check_names_of_columns(model_name, group_by.keys() | list + measures | map(attribute='name') | list) %}
    {% do collapsing._check_operands(model_name, measures) %}
    {% set values = collapsing._value_measures(measures) | length %}
    {{ collapsing._raise(
        model_name, 'its ' ~ group_by | length ~ ' groups and ' ~ values ~ ' different arguments of min, max, min_by, max_by and count(distinct) are more than'
        ~ ' the 64 columns that Spark groups by: split it into two projections'
    ) if values and group_by | length + values > 64 }}
    {{ return({'group_by': group_by, 'measures': measures}) }}
{% endmacro %}


{# Raises an error where groups or measures cannot be columns of one table by their names. #}
{% macro _check_names_of_columns(model_name, names) %}
    {% set seen = [] %}
    {% for name in names %}
        {{ collapsing._raise(
            model_name, 'the name of a group or a measure must be text without a backtick; given: ' ~ collapsing._shown(name)
            ~ (', as YAML reads names such as no, on or 2024 that have no quotes' if name is not string)
        ) if name is not string or name == '' or '`' in name }}
        {{ collapsing._raise(
            model_name, "the name '" ~ name ~ "' begins with ledger_: such names are reserved for the package"
        ) if name.lower().startswith('ledger_') }}
        {{ collapsing._raise(
            model_name, "two groups or measures are named '" ~ name ~ "': Spark does not distinguish upper and lower case"
        ) if name.lower() in seen }}
        {% do seen.append(name.lower()) %}
    {% endfor %}
{% endmacro %}


{#
    Returns {name, function, argument, aggregate} of one measure, x, y and c being any row-level SQL. `argument` is the SQL of the value that
    a row brings to the function, NULL where it does not count; with `filter (where c)` it is NULL where c is not true. The function of

        count(distinct x, y)          is 'distinct', and its argument is one value of all, NULL where one of them is
        count_if(c)                   is 'count'
        max_by(x, y), min_by(x, y)    has as its argument one value of y and x, which orders by y first. `of` are x and y, `by` is the
                                      argument that max(y) has, or with the filter max(y) filter (where c)
        a / b                         is 'ratio', without an argument: it follows from two other measures, whose names are `of`
#}
{% macro _measure(model_name, name, aggregate) %}
    {% set given = aggregate if aggregate is string else '' %}
    {% set ratio = modules.re.match('^\\s*(`[^`]+`|\\w+)\\s*/\\s*(`[^`]+`|\\w+)\\s*$', given) %}
    {% if ratio %}
        {{ return({
            'name': name, 'function': 'ratio', 'argument': none, 'aggregate': given.strip(),
            'of': [ratio.group(1).strip('`'), ratio.group(2).strip('`')]
        }) }}
    {% endif %}
    {% set call = collapsing._call_of(given) %}
    {{ collapsing._raise_setting(
        model_name, 'measures.' ~ name, 'count(*), count(x), count_if(c), sum(x), avg(x), min(x), max(x), max_by(x, y), min_by(x, y),'
        ~ ' count(distinct x) or count(distinct x, y, ...), each also with filter (where c), or a quotient a / b of two other measures', aggregate
    ) if not call }}

    {% set measure = {
        'name': name,
        'function': 'distinct' if call.distinct else 'count' if call.function == 'count_if' else call.function,
        'argument': collapsing._filtered(collapsing._one_argument(call.function, call.arguments), call.filter),
        'aggregate': given.strip()
    } %}
    {% do measure.update(
        {'of': call.arguments, 'by': collapsing._filtered(call.arguments[1], call.filter)}
    ) if call.function in ['max_by', 'min_by'] %}
    {{ return(measure) }}
{% endmacro %}


{# Returns SQL for a value that is NULL where a condition is not true; `*`, the row itself, becomes a value. #}
{% macro _filtered(value, condition) %}
    {{ return('case when ' ~ condition ~ ' then ' ~ ('true' if value == '*' else value) ~ ' end' if condition else value) }}
{% endmacro %}


{# Returns SQL for the one value that a row brings to an aggregate: the argument, or a struct of several. #}
{% macro _one_argument(function, arguments) %}
    {% do return(collapsing._filtered('true', arguments[0])) if function == 'count_if' %}
    {% do return(arguments[0]) if arguments | length == 1 %}
    {% set is_by = function in ['max_by', 'min_by'] %}
    {% set nulls, fields = [], [] %}
    {% for argument in (arguments | reverse if is_by else arguments) %}
        {% do nulls.append('(' ~ argument ~ ') is null') if loop.first or not is_by %}
        {% do fields.append("'value_" ~ loop.index ~ "', " ~ argument) %}
    {% endfor %}
    {{ return('if(' ~ nulls | join(' or ') ~ ', null, named_struct(' ~ fields | join(', ') ~ '))') }}
{% endmacro %}


{# Returns {function, arguments, distinct, filter} of a call of an aggregate, or none for text that no measure can be. #}
{% macro _call_of(sql) %}
    {% set begun = modules.re.match('(?is)^\\s*(count_if|count|sum|avg|max_by|min_by|max|min)\\s*\\((.*)$', sql) %}
    {% set parts = collapsing._until_closed(begun.group(2)) if begun else none %}
    {% do return(none) if not parts %}
    {% set function = begun.group(1).lower() %}
    {% set distinct = modules.re.match('(?is)^\\s*distinct\\b(.*)$', parts[0]) if function == 'count' else none %}
    {% set arguments = collapsing._arguments_of(distinct.group(1) if distinct else parts[0]) %}
    {% set filter = modules.re.match('(?is)^\\s*filter\\s*\\(\\s*where\\b(.*)\\)\\s*$', parts[1]) if parts[1].strip() else none %}
    {% set conditions = collapsing._arguments_of(filter.group(1)) if filter else [] %}
    {% do return(none) if not arguments or '' in arguments or conditions is none or '' in conditions
        or (parts[1].strip() and conditions | length != 1)
        or ('*' in arguments and (distinct or function != 'count'))
        or (not distinct and arguments | length != (2 if function.endswith('_by') else 1))
        or modules.re.match('(?is)^(distinct|all)\\b', arguments[0]) %}
    {{ return({
        'function': function, 'arguments': arguments, 'distinct': distinct is not none, 'filter': conditions[0] if conditions else none
    }) }}
{% endmacro %}


{# Returns SQL as a list of its tokens: literals and quoted names as they are, all else character by character. #}
{% macro _sql_tokens(sql) %}
    {{ return(modules.re.findall("(?s)--[^\\n]*|/\\*.*?\\*/|'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|.", sql)) }}
{% endmacro %}


{# Returns (SQL up to the parenthesis that closes one opened before it, what follows), or none where there is none. #}
{% macro _until_closed(sql) %}
    {% set state = namespace(depth=1, at=0) %}
    {% set tokens = collapsing._sql_tokens(sql) %}
    {% for token in tokens if state.depth %}
        {% set state.depth = state.depth + {'(': 1, ')': -1}.get(token, 0) %}
        {% set state.at = loop.index0 %}
    {% endfor %}
    {{ return((tokens[:state.at] | join, tokens[state.at + 1:] | join) if not state.depth else none) }}
{% endmacro %}


{# Returns the arguments in the SQL of a call's parentheses; none where it closes one that it did not open, as in 'a) + sum(b'. #}
{% macro _arguments_of(sql) %}
    {% set state = namespace(depth=0, lowest=0, argument='') %}
    {% set arguments = [] %}
    {% for token in collapsing._sql_tokens(sql) %}
        {% set state.depth = state.depth + {'(': 1, ')': -1}.get(token, 0) %}
        {% set state.lowest = [state.lowest, state.depth] | min %}
        {% if token == ',' and state.depth == 0 %}
            {% do arguments.append(state.argument.strip()) %}
            {% set state.argument = '' %}
        {% else %}
            {% set state.argument = state.argument ~ token %}
        {% endif %}
    {% endfor %}
    {% do arguments.append(state.argument.strip()) %}
    {{ return(arguments if state.depth == 0 and state.lowest == 0 else none) }}
{% endmacro %}


{# Raises an error about a quotient of what is no measure of the projection, or a quotient itself. #}
{% macro _check_operands(model_name, measures) %}
    {% set names = collapsing._aggregates(measures) | map(attribute='name') | list %}
    {% for measure in measures if measure.function == 'ratio' %}
        {% for name in measure.of if name not in names %}
            {{ collapsing._raise_setting(
                model_name, 'measures.' ~ measure.name, 'a quotient of two other measures that are not quotients themselves (' ~ names | join(', ') ~ ')',
                measure.aggregate
            ) }}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{# Returns the measures that are kept as partials: all but quotients of others. #}
{% macro _aggregates(measures) %}
    {{ return(measures | rejectattr('function', 'equalto', 'ratio') | list) }}
{% endmacro %}
