{#
    Returns the columns of a stage as a list of {name, dtype}, in the stage's order, spelled as the settings spell them: Spark does not
    distinguish upper and lower case. Checks that every column that a setting names exists and has a type that it can have, and that none has
    a name that cannot be used. `query` is the model's own, which reads the stage.
#}
{% macro _stage_columns(query, settings) %}
    {% set staged, named = collapsing._columns_of_query(query), [] %}
    {% set known = staged | map(attribute='name') | map('lower') | list %}
    {% for setting in ['key', 'version', 'order_by', 'partition_by', 'sign', 'is_deleted', 'block', 'combine'] %}
        {% set names = settings[setting] or [] %}
        {% for name in ([names] if names is string else names) %}
            {% if name | lower not in known %}
                {% do collapsing._raise_setting(
                    settings.model, setting, 'a column of the stage ' ~ collapsing._stage_name(query) ~ ' ('
                    ~ staged | map(attribute='name') | join(', ') ~ ')', name
                ) %}
            {% endif %}
            {% do named.append(name) %}
        {% endfor %}
    {% endfor %}
    {% set columns = collapsing._spelled(staged, named) %}
    {% do collapsing._check_columns(columns, settings) %}
    {{ return(columns) }}
{% endmacro %}


{# Returns columns, [{name, dtype}], spelled as in `names` where these name them in other letters. #}
{% macro _spelled(columns, names) %}
    {% set spellings, spelled = dict(zip(names | map('lower'), names)), [] %}
    {% for column in columns %}
        {% do spelled.append({'name': spellings[column.name | lower] or column.name, 'dtype': column.dtype}) %}
    {% endfor %}
    {{ return(spelled) }}
{% endmacro %}


{# Raises an error where a column of the stage has a name or a type that its ledger cannot have. #}
{% macro _check_columns(columns, settings) %}
    {% set of_types = {
        '(?:^|[<:,])void(?:$|[>,])': 'a NULL without a type, which no table can keep: cast it, as in cast(null as string)',
        '(?:^|[<:,])interval(?:$|[,>])': 'an interval without a unit, which no table can keep: cast it to one of days or months',
        '[<,][^<>,()]*:[^<>,()]*:':
            'and in the name of a field is a colon, which cannot be told from the one before its type: rename the field in a view'
    } %}
    {% for column in columns %}
        {% set says = "the stage's column '" ~ column.name ~ "' " %}
        {% if column.name.lower().startswith('ledger_') or '`' in column.name %}
            {% do collapsing._raise(
                settings.model, says ~ ('has a backtick in its name, which dbt does not quote' if '`' in column.name
                    else 'begins with ledger_, and such names are reserved for the package') ~ ': rename it in the stage'
            ) %}
        {% endif %}
        {% for pattern, wrong in of_types.items() if modules.re.search(pattern, column.dtype) %}
            {% do collapsing._raise(settings.model, says ~ 'is ' ~ column.dtype ~ ', ' ~ wrong) %}
        {% endfor %}
        {% set marks = '(?:(?:boolean|tinyint|smallint|int|bigint|float|double)$|decimal|string|varchar|char)' %}
        {% set is_mark, has_order = modules.re.match(marks, column.dtype), collapsing._is_comparable(column.dtype) %}
        {% set allowed = {
            'mark': 'a column of numbers, booleans or text',
            'order': 'a column of a type that Spark can order',
            'token': 'a column of a type that has one text for each value',
            'plain': 'a column without a collation, in which two texts are equal only if they read alike'
        } %}
        {% for setting, kind, is_right in [
            ('sign', 'mark', is_mark), ('is_deleted', 'mark', is_mark), ('key', 'order', has_order), ('version', 'order', has_order),
            ('order_by', 'order', has_order), ('partition_by', 'order', has_order), ('block', 'token', has_order and '<' not in column.dtype),
            ('key', 'plain', ' collate ' not in column.dtype | lower)
        ] if not is_right
            and column.name in (settings[setting] if settings[setting] is not string else [settings[setting]]) | default([], true) %}
            {% do collapsing._raise_setting(
                settings.model, setting, allowed[kind], column.name ~ ', which is ' ~ column.dtype
            ) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{# Returns the name of the stage that a query reads, for messages. #}
{% macro _stage_name(query) %}
    {% set named = modules.re.search('select \\* from ([^\\s()]+)', query) %}
    {{ return(named.group(1) if named else '?') }}
{% endmacro %}


{# Returns the columns that a ledger keeps: not the token or delete mark, unless rows are identified, ordered or signed by it. #}
{% macro _kept_columns(columns, settings) %}
    {% set not_kept = [settings.block, settings.is_deleted] + ([] if settings.is_signed else [settings.sign]) %}
    {% set used = settings.key + settings.version + settings.order_by + settings.partition_by %}
    {{ return(columns | rejectattr('name', 'in', not_kept | reject('in', used) | list) | list) }}
{% endmacro %}


{# Returns the columns of a ledger's table, in its order: those that it keeps of the stage, then the system columns. #}
{% macro _ledger_columns(columns, settings, relation) %}
    {% set place = [{'name': 'ledger_place', 'dtype': 'int'}] if collapsing._engine(settings).keeps_every_row else [] %}
    {% set system = [
        {'name': 'ledger_sign', 'dtype': 'tinyint'}, {'name': 'ledger_block', 'dtype': 'string'}, {'name': 'ledger_note', 'dtype': 'string'}
    ] + place + [{'name': 'ledger_batch', 'dtype': 'int'}] %}
    {{ return(collapsing._stored_columns(collapsing._kept_columns(columns, settings) + system, relation)) }}
{% endmacro %}


{# Returns SQL that is true for rows of these blocks: tokens compared in their own type, so that Spark opens only their files. #}
{% macro _sql_is_block_in(settings, columns, tokens) %}
    {% if not tokens %}{{ return('false') }}{% endif %}
    {% set block = adapter.quote(settings.block) %}
    {% set quotes = {
        'tinyint': ['', 'Y'], 'smallint': ['', 'S'], 'int': ['', ''], 'bigint': ['', 'L'], 'date': ["date'", "'"],
        'timestamp': ['timestamp_micros(', ')'], 'binary': ["X'", "'"]
    }.get(collapsing._token_type(settings, columns)) %}
    {% if quotes %}
        {{ return(block ~ ' in (' ~ quotes[0] ~ tokens | join(quotes[1] ~ ', ' ~ quotes[0]) ~ quotes[1] ~ ')') }}
    {% endif %}
    {{ return(collapsing._token(settings, columns) ~ ' in (' ~ collapsing._carried_literals(tokens) ~ ')') }}
{% endmacro %}


{# Returns SQL that is true for rows of no folded block, and for rows without a token: they are bad, and have to be seen. #}
{% macro _sql_is_unread(settings, columns, folded) %}
    {{ return(
        'not ' ~ collapsing._sql_is_block_in(settings, columns, folded) ~ ' or ' ~ adapter.quote(settings.block) ~ ' is null'
    ) }}
{% endmacro %}


{#
    Returns SQL for the text by which notes know a block, NULL without a token; `of` is the alias of the stage, if it has one.
    It is the same in every session: of a timestamp its microseconds since 1970, of binary its hexadecimal digits, of a decimal its digits
    without an exponent, which ANSI mode decides about, and without zeros at the end.
#}
{% macro _token(settings, columns, of=none) %}
    {% set block, dtype = collapsing._arrival(settings, of), collapsing._token_type(settings, columns) %}
    {% if dtype == 'timestamp' %}{{ return('cast(unix_micros(' ~ block ~ ') as string)') }}{% endif %}
    {% if dtype.startswith('decimal') %}{{ return('format_number(' ~ block ~ ", '0." ~ '#' * 38 ~ "')") }}{% endif %}
    {{ return('hex(' ~ block ~ ')' if dtype == 'binary' else block if dtype == 'string' else 'cast(' ~ block ~ ' as string)') }}
{% endmacro %}


{# Returns SQL for the token of a block as it is staged, by which the blocks of a batch are ordered; NULL without a token. #}
{% macro _arrival(settings, of=none) %}
    {{ return((of ~ '.' if of else '') ~ adapter.quote(settings.block) if settings.block else 'cast(null as string)') }}
{% endmacro %}


{# Returns how tokens are written as text, 'none' without a token: where that changes, every block would be another one. #}
{% macro _token_form(settings, columns) %}
    {% set dtype = collapsing._token_type(settings, columns) if settings.block else 'none' %}
    {% if dtype.startswith('decimal') or collapsing._is_integer(dtype) %}{{ return('number') }}{% endif %}
    {{ return(dtype if dtype in ['none', 'timestamp', 'timestamp_ntz', 'date', 'binary', 'float', 'double'] else 'text') }}
{% endmacro %}


{# Returns the type of the stage's token column, that of text without one. #}
{% macro _token_type(settings, columns) %}
    {{ return((columns | selectattr('name', 'equalto', settings.block) | first).dtype if settings.block else 'string') }}
{% endmacro %}
