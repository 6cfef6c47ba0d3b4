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
        {% if column.name.lower().startswith('ledger_') %}
            {% do collapsing._raise(
                settings.model, says ~ 'begins with ledger_, and such names are reserved for the package: rename it in the stage'
            ) %}
        {% elif '`' in column.name %}
            {% do collapsing._raise(
                settings.model, says ~ 'has a backtick in its name, which dbt does not quote: rename it in a view'
            ) %}
        {% endif %}
        {% for pattern, wrong in of_types.items() if modules.re.search(pattern, column.dtype) %}
            {% do collapsing._raise(settings.model, says ~ 'is ' ~ column.dtype ~ ', ' ~ wrong) %}
        {% endfor %}
        {% set given = column.name ~ ', which is ' ~ column.dtype %}
        {% set marks = {'sign': settings.sign, 'is_deleted': settings.is_deleted} %}
        {% for setting, name in marks.items() if name == column.name
            and not modules.re.match('(?:(?:boolean|tinyint|smallint|int|bigint|float|double)$|decimal|string|varchar|char)', column.dtype) %}
            {% do collapsing._raise_setting(settings.model, setting, 'a column of numbers, booleans or text', given) %}
        {% endfor %}
        {% for setting in ['key', 'version', 'order_by', 'partition_by'] if column.name in settings[setting]
            and not collapsing._is_comparable(column.dtype) %}
            {% do collapsing._raise_setting(settings.model, setting, 'a column of a type that Spark can order', given) %}
        {% endfor %}
        {% if column.name == settings.block and ('<' in column.dtype or not collapsing._is_comparable(column.dtype)) %}
            {% do collapsing._raise_setting(settings.model, 'block', 'a column of a type that has one text for each value', given) %}
        {% elif column.name in settings.key and collapsing._has_collation(column.dtype) %}
            {% do collapsing._raise_setting(
                settings.model, 'key', 'a column without a collation, in which two texts are equal only if they read alike', given
            ) %}
        {% endif %}
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
