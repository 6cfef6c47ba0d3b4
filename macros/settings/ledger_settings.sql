{# Returns the checked settings of a ledger, in the graph or being built: every one is there, and columns are lists. #}
{% macro _ledger_settings(node) %}
    {% set model_name, given = node.name, node.config.meta.get('collapsing') %}
    {% do return(collapsing._joined_settings(node)) if given is mapping and 'join' in given %}
    {% set known = [
        'engine', 'key', 'version', 'sign', 'is_deleted', 'input', 'deletes', 'block', 'order_by', 'partition_by', 'combine',
        'on_bad_rows', 'on_changed_block', 'count_decisions', 'tombstone_retention', 'optimize', 'shards'
    ] %}
    {{ collapsing._raise(model_name, "a ledger needs settings in config(meta={'collapsing': {...}}): at least 'key'")
        if given is not mapping or not given }}
    {% do collapsing._check_known(model_name, given, known) %}

    {% set settings = {
        'model': model_name,
        'engine': collapsing._one_of(model_name, given, 'engine', collapsing._engine_names()),
        'input': collapsing._one_of(model_name, given, 'input', ['events', 'signed']),
        'deletes': collapsing._one_of(model_name, given, 'deletes', ['versioned', 'unversioned']),
        'on_bad_rows': collapsing._one_of(model_name, given, 'on_bad_rows', ['fail', 'reject']),
        'on_changed_block': collapsing._one_of(model_name, given, 'on_changed_block', ['warn', 'fail', 'ignore']),
        'counts_blocks': 'on_changed_block' in given,
        'count_decisions': collapsing._one_of(model_name, given, 'count_decisions', [true, false]),
        'key': collapsing._columns_setting(model_name, given, 'key'),
        'version': collapsing._columns_setting(model_name, given, 'version'),
        'order_by': collapsing._columns_setting(model_name, given, 'order_by'),
        'partition_by': collapsing._columns_setting(model_name, given, 'partition_by'),
        'sign': collapsing._column_setting(model_name, given, 'sign'),
        'is_deleted': collapsing._column_setting(model_name, given, 'is_deleted'),
        'block': collapsing._column_setting(model_name, given, 'block'),
        'combine': {} if given.get('combine') is none else given.combine,
        'tombstone_retention': given.get('tombstone_retention'),
        'optimize': given.get('optimize', 'manual'),
        'shards': given.get('shards')
    } %}
    {% do collapsing._check_engine(settings, given) %}
    {% set is_signed = collapsing._engine(settings).is_signed or false %}
    {% set has_deletes = not is_signed and (settings.sign or settings.is_deleted) is not none %}
    {% do settings.update({'is_signed': is_signed, 'has_deletes': has_deletes}) %}
    {% do collapsing._check_together(settings, given) %}
    {% do collapsing._check_combine(settings) %}
    {% do collapsing._check_retention(settings) %}
    {% do collapsing._check_optimize(settings) %}
    {% set shards = settings.shards %}
    {{ collapsing._raise_setting(model_name, 'shards', 'a whole number from 2 to 1000', shards)
        if shards is not none and (shards is not integer or not 2 <= shards <= 1000) }}
    {{ return(settings) }}
{% endmacro %}


{#
    Raises an error where `optimize` is no share of dead rows, or the ledger cannot be optimized; makes it the share of dead rows from which on
    a run optimizes, none for manual.
#}
{% macro _check_optimize(settings) %}
    {% set optimize = settings.optimize %}
    {{ collapsing._raise_setting(
        settings.model, 'optimize', 'manual, auto, or a share of dead rows above 0 and up to 1, such as 0.3', optimize
    ) if optimize not in ['manual', 'auto'] and (optimize is boolean or optimize is not number or not 0 < optimize <= 1) }}
    {% do settings.update({'optimize': {'manual': none, 'auto': 0.5}.get(optimize, optimize)}) %}
    {% do collapsing._check_optimizable(settings) if settings.optimize %}
{% endmacro %}


{# Raises an error if one setting needs another, or two mean the same. #}
{% macro _check_together(settings, given) %}
    {{ collapsing._raise(settings.model, "settings 'sign' and 'is_deleted' both mark deletes: give one of them")
        if settings.sign and settings.is_deleted }}
    {{ collapsing._raise(settings.model, "setting 'deletes: unversioned' needs 'sign' or 'is_deleted', which mark deletes")
        if settings.deletes == 'unversioned' and not settings.has_deletes }}
    {{ collapsing._raise(
        settings.model, "setting 'deletes: unversioned' needs 'block': without it the whole stage is one block, in which no delete of an upserted key applies"
    ) if settings.deletes == 'unversioned' and not settings.block }}
    {{ collapsing._raise(
        settings.model, "setting 'on_bad_rows: reject' needs 'block': without it every run would reject the same rows again"
    ) if settings.on_bad_rows == 'reject' and not settings.block }}
    {{ collapsing._raise(
        settings.model, "setting 'order_by' orders the rows of a block: it must not name the column of the setting 'block', " ~ settings.block
    ) if settings.block and settings.block | lower in settings.order_by | map('lower') }}
    {{ collapsing._raise(
        settings.model, "setting 'on_changed_block' needs 'block': without it every run reads the whole stage"
    ) if 'on_changed_block' in given and not settings.block }}
{% endmacro %}


{# Raises an error if `combine` names a column that orders or identifies rows: such values cannot be merged. #}
{% macro _check_combine(settings) %}
    {% set combine = settings.combine %}
    {{ collapsing._raise_setting(
        settings.model, 'combine', 'a mapping of a column to SQL over old.<column> and new.<column>', combine
    ) if combine is not mapping or combine.values() | select('string') | list | length != combine | length }}
    {{ collapsing._raise(
        settings.model,
        "setting 'combine' of the engine " ~ settings.engine ~ " needs 'block': without it every run would combine the whole stage again"
    ) if combine and not collapsing._engine(settings).repeatable and not settings.block }}
    {{ collapsing._raise(
        settings.model,
        "settings 'combine' and 'partition_by' exclude each other: the events of a key are combined across partitions, which leaves no winner of each"
    ) if combine and settings.partition_by }}
    {% for column, sql in combine.items() %}
        {% do collapsing._check_one_value(settings.model, 'combine.' ~ column, sql) %}
    {% endfor %}
    {% set fixed = settings.key + settings.version + settings.order_by + [settings.sign, settings.is_deleted, settings.block] %}
    {#- Spark does not distinguish upper and lower case in names -#}
    {{ collapsing._raise_setting(settings.model, 'combine', 'a mapping of different columns', combine)
        if combine | map('lower') | unique | list | length < combine | length }}
    {% for column in combine if column | lower in fixed | select | map('lower') %}
        {{ collapsing._raise(
            settings.model,
            "setting 'combine' cannot combine '" ~ column ~ "': key, version, order and delete columns come from the newest event"
        ) }}
    {% endfor %}
{% endmacro %}


{# Raises an error if a retention cannot be subtracted from the greatest version, which must be a single number or time. #}
{% macro _check_retention(settings) %}
    {% set retention = settings.tombstone_retention %}
    {% do return(none) if retention is none %}
    {{ collapsing._raise_setting(
        settings.model, 'tombstone_retention', "SQL that can be subtracted from a version, such as 1000 or 'interval 7 days'", retention
    ) if retention is boolean or (retention < 0 if retention is number else retention is not string or retention == '') }}
    {{ collapsing._raise(
        settings.model, "settings 'tombstone_retention' and 'partition_by' exclude each other: an older row of another partition would be live again"
    ) if settings.partition_by }}
    {{ collapsing._raise(
        settings.model, "setting 'tombstone_retention' is subtracted from the greatest version: it needs a 'version' of one column; given: "
        ~ (settings.version | join(', ') or 'nothing')
    ) if settings.version | length != 1 }}
    {{ collapsing._raise(
        settings.model, "setting 'tombstone_retention' has no effect without deletes, which leave tombstones: remove it, or set 'is_deleted' or 'sign'"
    ) if not settings.has_deletes }}
{% endmacro %}


{#
    Returns the checked settings of a joined ledger: those of any ledger, with the key of the first ledger that its model
    reads, and
        join           {name: {on, columns, type}}: `on` {column of the first ledger: column of the other}, `columns` {name here:
                       column of the other}
        rebuild_share  the share of the first ledger's rows above which a change of the others builds everything anew
#}
{% macro _joined_settings(node) %}
    {% set model_name, given = node.name, node.config.meta.collapsing %}
    {% do collapsing._check_known(model_name, given, ['join', 'rebuild_share', 'optimize']) %}
    {{ collapsing._raise_setting(
        model_name, 'join', "a mapping of the name of each joined ledger to its 'on', 'columns' and 'type'", given.join
    ) if given.join is not mapping or not given.join }}
    {% set share = given.get('rebuild_share', 0.3) %}
    {{ collapsing._raise_setting(model_name, 'rebuild_share', 'a share of the rows from 0 to 1, such as 0.3', share)
        if share is boolean or share is not number or not 0 <= share <= 1 }}
    {% set joins = {} %}
    {% for name, join in given.join.items() %}
        {{ collapsing._raise_setting(
            model_name, 'join', 'a mapping of names made of letters, digits and _, which do not begin with ledger_ and differ in more than upper'
            ~ ' and lower case', name
        ) if name is not string or not modules.re.fullmatch('[A-Za-z][A-Za-z0-9_]*', name) or name.lower().startswith('ledger_')
            or name.lower() in joins | map('lower') }}
        {% do joins.update({name: collapsing._join_settings(model_name, name, join)}) %}
    {% endfor %}
    {#- dbt keeps the refs of a model in their order -#}
    {% set first = graph.nodes.get(node.depends_on.nodes | first) %}
    {{ collapsing._raise(
        model_name, 'the first model that a joined ledger reads must be a ledger, a model whose settings say how its rows'
        ~ ' collapse; ' ~ (first.name if first else 'what it reads') ~ ' is not one'
    ) if collapsing._kind_if_any(first) != 'ledger' }}
    {% set settings = {
        'model': model_name, 'engine': 'joined', 'join': joins, 'rebuild_share': share, 'optimize': given.get('optimize', 'manual'),
        'key': collapsing._ledger_settings(first).key, 'version': [], 'order_by': [], 'partition_by': [],
        'sign': none, 'is_deleted': none, 'input': 'events', 'deletes': 'versioned', 'block': 'ledger_block', 'combine': {}, 'shards': none,
        'on_bad_rows': 'fail', 'on_changed_block': 'ignore', 'counts_blocks': false, 'count_decisions': false,
        'tombstone_retention': none, 'is_signed': false, 'has_deletes': false
    } %}
    {% do collapsing._check_optimize(settings) %}
    {{ return(settings) }}
{% endmacro %}


{# Returns the checked settings of one join. #}
{% macro _join_settings(model_name, name, join) %}
    {% set setting = 'join.' ~ name %}
    {{ collapsing._raise_setting(model_name, setting, "a mapping with 'on', 'columns' and 'type'", join) if join is not mapping }}
    {#- without quotes YAML reads on as true -#}
    {% set join = dict(join) %}
    {% do join.update({'on': join.pop(true)}) if true in join and 'on' not in join %}
    {% do collapsing._check_known(model_name, join, ['on', 'columns', 'type'], within=setting ~ '.') %}
    {% set type = collapsing._one_of(model_name, join, 'type', ['left', 'inner'], within=setting ~ '.') %}
    {{ return({
        'on': collapsing._pairs_of_columns(model_name, setting ~ '.on', join.get('on'), is_needed=true),
        'columns': collapsing._pairs_of_columns(model_name, setting ~ '.columns', join.get('columns', []), is_needed=type == 'left'),
        'type': type
    }) }}
{% endmacro %}


{# Returns a mapping of columns to columns; a column or a list of columns stands for the same names on both sides. #}
{% macro _pairs_of_columns(model_name, setting, given, is_needed) %}
    {% set allowed = 'a column, a list of different columns, or a mapping of columns to columns' %}
    {% set given = [given] if given is string else given %}
    {% set pairs = given if given is mapping else {} %}
    {% if given is not mapping and given is iterable %}
        {% for column in given if column is string %}
            {% do pairs.update({column: column}) %}
        {% endfor %}
    {% endif %}
    {% set columns = pairs.keys() | list + pairs.values() | list %}
    {{ collapsing._raise_setting(model_name, setting, allowed, given if given is not none else 'nothing')
        if given is not iterable or (is_needed and not pairs) or pairs | length != given | length
        or '' in columns or columns | select('string') | list | length != columns | length }}
    {{ return(pairs) }}
{% endmacro %}
