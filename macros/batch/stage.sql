{#
    Returns the columns of a stage as a list of {name, dtype}, in the stage's order, spelled as the settings spell them, and gives the settings
    one spelling of each. Checks that every column that a setting names exists and has a type that it can have, and that none has a
    name that cannot be used. `query` is the model's own, which reads the stage.
#}
{% macro _stage_columns(query, settings) %}
    {% set columns, spelled = collapsing._columns_of_query(query), {} %}
    {% do collapsing._check_stage_names(columns, settings.model) %}
    {% for setting in ['key', 'version', 'order_by', 'partition_by', 'sign', 'is_deleted', 'block', 'combine'] %}
        {% set named, found = settings[setting], [] %}
        {% for name in ([named] if named is string else named or []) %}
            {% set spelling = collapsing._spell(columns, name, spelled) %}
            {{ collapsing._raise_setting(
                settings.model, setting, 'a column of the stage ' ~ collapsing._stage_name(query) ~ ' ('
                ~ columns | map(attribute='name') | join(', ') ~ ')', name
            ) if spelling is none }}
            {% do found.append(spelling) %}
        {% endfor %}
        {% if named is string %}
            {% do settings.update({setting: found[0]}) %}
        {% elif named is mapping %}
            {% do settings.update({setting: dict(zip(found, named.values()))}) %}
        {% elif named %}
            {% do settings.update({setting: found}) %}
        {% endif %}
    {% endfor %}
    {% do collapsing._check_types(columns, settings) %}
    {% do settings.update({'block_form': collapsing._token_form(settings, columns)}) %}
    {% do collapsing._check_comparable(columns, settings) %}
    {{ return(columns) }}
{% endmacro %}


{# Raises an error where a column of the stage has a name that the package's tables cannot have. #}
{% macro _check_stage_names(columns, model_name) %}
    {% for column in columns %}
        {{ collapsing._raise(
            model_name, "the stage's column '" ~ column.name ~ "' begins with ledger_: such names are reserved for the package"
        ) if column.name.lower().startswith('ledger_') }}
        {{ collapsing._raise(
            model_name, "the stage's column '" ~ column.name ~ "' has a backtick in its name, which dbt does not quote: rename it in a view"
        ) if '`' in column.name }}
    {% endfor %}
{% endmacro %}


{# Raises an error where a column has a type that cannot be kept, or rows cannot be identified, ordered or read by. #}
{% macro _check_types(columns, settings) %}
    {% for column in columns %}
        {{ collapsing._raise(
            settings.model, "the stage's column '" ~ column.name ~ "' is " ~ column.dtype
            ~ ', a NULL without a type, which no table can keep: cast it, as in cast(null as string)'
        ) if modules.re.search('(^|[<:,])void($|[>,])', column.dtype) }}
        {{ collapsing._raise(
            settings.model, "the stage's column '" ~ column.name ~ "' is " ~ column.dtype
            ~ ', an interval without a unit, which no table can keep: cast it to one of days or months'
        ) if modules.re.search('(^|[<:,])interval($|[,>])', column.dtype) }}
        {{ collapsing._raise(
            settings.model, "the stage's column '" ~ column.name ~ "' is " ~ column.dtype
            ~ ', and in the name of a field is a colon, which cannot be told from the one before its type: rename the field in a view'
        ) if modules.re.search('[<,][^<>,()]*:[^<>,()]*:', column.dtype) }}
        {{ collapsing._raise_setting(
            settings.model, 'sign' if column.name == settings.sign else 'is_deleted', 'a column of numbers, booleans or text',
            column.name ~ ', which is ' ~ column.dtype
        ) if column.name in [settings.sign, settings.is_deleted]
            and not modules.re.match('(boolean|tinyint|smallint|int|bigint|float|double)$|decimal', column.dtype)
            and not collapsing._is_text_type(column.dtype) }}
    {% endfor %}
    {% for setting in ['key', 'version', 'order_by', 'partition_by', 'block'] %}
        {% set named = settings[setting] %}
        {% for column in columns if column.name in ([named] if named is string else named or []) %}
            {% set given = column.name ~ ', which is ' ~ column.dtype %}
            {{ collapsing._raise_setting(settings.model, 'block', 'a column of a type that has one text for each value', given)
                if setting == 'block' and ('<' in column.dtype or column.dtype == 'variant') }}
            {{ collapsing._raise_setting(settings.model, setting, 'a column of a type that Spark can order', given)
                if not collapsing._is_comparable(column.dtype) }}
            {{ collapsing._raise_setting(
                settings.model, 'shards', 'left out where the key has a collation, because texts that are equal have different hashes',
                settings.shards ~ ', with ' ~ column.name ~ ' of type ' ~ column.dtype
            ) if setting == 'key' and settings.shards and collapsing._has_collation(column.dtype) }}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{# Raises an error where the rows that a ledger has are to be compared with the stage's in each run, and cannot be. #}
{% macro _check_comparable(columns, settings) %}
    {% set kept, engine, others = collapsing._kept_columns(columns, settings), collapsing._engine(settings), [] %}
    {% if engine.keeps_every_row and not settings.block %}
        {% do others.extend(kept | rejectattr('name', 'in', collapsing._comparable_columns(kept))) %}
    {% elif '{same_row}' in (engine.applies or '') and not settings.block %}
        {% for column in kept if collapsing._sql_is_same_value(column, 'incoming', 'last_state') is none %}
            {% do others.append(column) %}
        {% endfor %}
    {% endif %}
    {{ collapsing._raise_setting(
        settings.model, 'block', 'a column with the block token: without it each run compares the whole stage with the rows'
        ~ " that it keeps, and the column '" ~ others[0].name ~ "' of type " ~ others[0].dtype ~ ' does not compare', 'nothing'
    ) if others }}
{% endmacro %}


{#
    Returns how a column that a setting names is spelled, or none where there is none: as the first setting that names it does. Spark does not
    distinguish upper and lower case, and a view may not preserve it: Iceberg's views in a Hive catalog have lower case only.
#}
{% macro _spell(columns, name, spelled) %}
    {% set lower, names = name | lower, columns | map(attribute='name') | list %}
    {% do return(spelled[lower]) if name not in names and lower in spelled %}
    {% for column in columns if column.name == name or (name not in names and column.name | lower == lower) %}
        {% do column.update({'name': name}) %}
        {% do spelled.update({lower: name}) %}
        {{ return(name) }}
    {% endfor %}
    {{ return(none) }}
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
    {% set system = [{'name': 'ledger_sign', 'dtype': 'tinyint'}, {'name': 'ledger_block', 'dtype': 'string'}] %}
    {% do system.append({'name': 'ledger_place', 'dtype': 'int'}) if collapsing._engine(settings).keeps_every_row %}
    {% do system.append({'name': 'ledger_batch', 'dtype': 'int'}) %}
    {{ return(collapsing._stored_columns(collapsing._kept_columns(columns, settings) + system, relation)) }}
{% endmacro %}
