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
    {% if given.join is not mapping or not given.join %}
        {{ collapsing._raise_setting(
            model_name, 'join', "a mapping of the name of each joined ledger to its 'on', 'columns' and 'type'", given.join
        ) }}
    {% endif %}
    {% set share = given.get('rebuild_share', 0.3) %}
    {% if share is boolean or share is not number or not 0 <= share <= 1 %}
        {{ collapsing._raise_setting(model_name, 'rebuild_share', 'a share of the rows from 0 to 1, such as 0.3', share) }}
    {% endif %}
    {% set joins = {} %}
    {% for name, join in given.join.items() %}
        {% if not modules.re.fullmatch('[A-Za-z][A-Za-z0-9_]*', name | string) or name.lower().startswith('ledger_')
            or name.lower() in joins | map('lower') %}
            {{ collapsing._raise_setting(
                model_name, 'join', 'a mapping of names made of letters, digits and _, which do not begin with ledger_ and differ in more than upper'
                ~ ' and lower case', name
            ) }}
        {% endif %}
        {% do joins.update({name: collapsing._join_settings(model_name, name, join)}) %}
    {% endfor %}
    {% set settings = {
        'model': model_name, 'engine': 'joined', 'join': joins, 'rebuild_share': share, 'optimize': given.get('optimize', 'manual'),
        'key': collapsing._settings_of_first(node).key, 'version': [], 'order_by': [], 'partition_by': [],
        'sign': none, 'is_deleted': none, 'input': 'events', 'deletes': 'versioned', 'block': 'ledger_block', 'combine': {}, 'shards': none,
        'on_bad_rows': 'fail', 'on_changed_block': 'ignore', 'counts_blocks': false, 'count_decisions': false,
        'tombstone_retention': none
    } %}
    {% do collapsing._check_optimize(model_name, settings) %}
    {{ return(settings) }}
{% endmacro %}


{# Returns the checked settings of one join. #}
{% macro _join_settings(model_name, name, join) %}
    {% set setting = 'join.' ~ name %}
    {% if join is not mapping %}
        {{ collapsing._raise_setting(model_name, setting, "a mapping with 'on', 'columns' and 'type'", join) }}
    {% endif %}
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
    {% if given is not iterable or (is_needed and not pairs) or pairs | length != given | length
        or '' in columns or columns | select('string') | list | length != columns | length %}
        {{ collapsing._raise_setting(model_name, setting, allowed, given if given is not none else 'nothing') }}
    {% endif %}
    {{ return(pairs) }}
{% endmacro %}


{# Returns the settings of the first ledger that a joined one reads: dbt keeps the refs of a model in their order. #}
{% macro _settings_of_first(node) %}
    {% set first = graph.nodes.get(node.depends_on.nodes | first) %}
    {% if collapsing._kind_if_any(first) != 'ledger' %}
        {{ collapsing._raise(
            node.name, 'the first model that a joined ledger reads must be a ledger, a model whose settings say how its rows'
            ~ ' collapse; ' ~ (first.name if first else 'what it reads') ~ ' is not one'
        ) }}
    {% endif %}
    {{ return(collapsing._ledger_settings(first)) }}
{% endmacro %}
