{% macro status(model=none) %}
    {% if execute %}
        {% set node = collapsing._asked_model('status', model) %}
        {% if collapsing._kind_of(node, 'status') == 'projection' %}
            {% do collapsing._print_status(node, collapsing._projection_status(node)) %}
        {% else %}
            {% do collapsing._print_status(node, collapsing._ledger_status(node)) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{# Returns the graph's node of the model that an operation is asked about, by its name. #}
{% macro _asked_model(operation, name) %}
    {% set models = graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') | list %}
    {% set found = models | selectattr('name', 'equalto', name) | list %}
    {% if not found %}
        {% set names = [] %}
        {% for node in models if collapsing._kind_if_any(node) %}
            {% do names.append(node.name) %}
        {% endfor %}
        {{ exceptions.raise_compiler_error(
            'collapsing: ' ~ operation ~ " needs --args '{model: <name of a ledger or projection>}', one of: " ~ (names | sort | join(', ') or 'none')
            ~ '; given: ' ~ (name if name is not none else 'nothing')
        ) }}
    {% endif %}
    {{ return(found[0]) }}
{% endmacro %}


{# Returns the table of a node, or stops where it has not been built. #}
{% macro _built_relation(node) %}
    {% do collapsing._check_one_shard(node) %}
    {% set relation = adapter.get_relation(node.database, node.schema, node.alias) %}
    {% if relation is none %}
        {{ collapsing._raise(node.name, 'there is no table ' ~ node.schema ~ '.' ~ node.alias ~ ' yet: run the model first') }}
    {% endif %}
    {{ return(relation) }}
{% endmacro %}


{# Returns what status prints of a ledger, {label: value}. #}
{% macro _ledger_status(node) %}
    {% set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) %}
    {% set ledger = collapsing._built_relation(node) %}
    {% set batches = collapsing._batches_of(ledger) %}
    {% set visible = collapsing._visible_rows(ledger) %}
    {% set row = collapsing._rows_of(
        'select count_if(ledger_sign = 1), count_if(ledger_sign = -1), count_if(ledger_sign = 0) from ' ~ visible
    )[0] %}
    {% set rows = row | sum %}
    {% set live = collapsing._rows_of('select count(*) from ' ~ collapsing._final_of_table(ledger, settings))[0][0] %}
    {% set lines = {
        'engine': settings.engine ~ (', input: ' ~ settings.input if not settings.join),
        'batches': ((batches.first ~ ' to ' ~ batches.last) if batches else 'none') ~ (', a base up to ' ~ batches.base if batches and batches.base else ''),
        'rows': rows,
        'live rows': live,
        'tombstones': row[2]
    } %}
    {% set engine = collapsing._engine(settings) %}
    {% if engine.keeps_every_row %}
        {% set left = collapsing._rows_of('select count(*) from ' ~ engine.collapsed(visible, settings))[0][0] %}
        {% do lines.update({'rows to collapse': rows - left}) %}
    {% else %}
        {% do lines.update({'pairs to collapse': row[1]}) %}
    {% endif %}
    {% for reader in collapsing._readers_of(node) %}
        {% set kind = 'joined ledger ' if collapsing._is_joined(reader) else 'projection ' %}
        {% do lines.update({kind ~ reader.name: collapsing._lag_of(reader, node, batches)}) %}
    {% endfor %}
    {% for source in collapsing._sources_of(node) if collapsing._is_joined(node) %}
        {% set of_source = collapsing._batches_of(collapsing._built_relation(source)) %}
        {% do lines.update({'ledger ' ~ source.name: collapsing._lag_of(node, source, of_source)}) %}
    {% endfor %}
    {% if engine.adds_up %}
        {% do lines.update(collapsing._found_in(ledger, settings)) %}
    {% endif %}
    {{ return(lines) }}
{% endmacro %}


{# Returns what status prints of the findings in a ledger, {label: value}. #}
{% macro _found_in(ledger, settings) %}
    {% set lines = {} %}
    {% set rows = collapsing._rows_of(
        "select finding, count(*), concat_ws('; ', slice(sort_array(collect_list(ledger_key)), 1, 3)) from ("
        ~ collapsing._findings(collapsing._rows_not_undone(ledger), settings, collapsing._describe(ledger).columns) ~ ') group by finding order by finding'
    ) %}
    {% for row in rows %}
        {% do lines.update({'finding ' ~ row[0]: row[1] ~ ' keys, for example ' ~ row[2]}) %}
    {% endfor %}
    {{ return(lines or {'findings': 'none'}) }}
{% endmacro %}


{# Returns what status prints of a projection, {label: value}. #}
{% macro _projection_status(node) %}
    {% set projection = collapsing._built_relation(node) %}
    {% set settings = collapsing._projection_settings(node.name, node.config.meta.collapsing) %}
    {% set rows = collapsing._visible_rows(projection) %}
    {% set final = collapsing._final_of_projection(projection, settings, collapsing._types_of(projection), rows) %}
    {% set lines = {
        'rows': collapsing._rows_of('select count(*) from ' ~ rows)[0][0],
        'groups': collapsing._rows_of('select count(*) from ' ~ final)[0][0]
    } %}
    {% for id in node.depends_on.nodes if id in graph.nodes %}
        {% set ledger = graph.nodes[id] %}
        {% set batches = collapsing._batches_of(collapsing._built_relation(ledger)) %}
        {% do lines.update({'ledger ' ~ ledger.name: collapsing._lag_of(node, ledger, batches)}) %}
    {% endfor %}
    {{ return(lines) }}
{% endmacro %}


{#
    Returns in words how far a projection or joined ledger has read a ledger, `node` in the graph, which holds the batches
    `batches`.
#}
{% macro _lag_of(reader, node, batches) %}
    {% set last, upto = batches.last if batches else 0, collapsing._upto_read_by(reader, node) or 0 %}
    {{ return('has read up to batch ' ~ upto ~ ' of ' ~ last ~ (', ' ~ (last - upto) ~ ' behind' if last > upto else '')) }}
{% endmacro %}


{# Prints what there is to say of a model, a line each. #}
{% macro _print_status(node, lines) %}
    {% do print(node.name) %}
    {% for label, value in lines.items() %}
        {% do print('  %-28s %s' | format(label, value)) %}
    {% endfor %}
{% endmacro %}
