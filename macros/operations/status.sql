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


{# Gives the graph's node of the model that an operation is asked about, by its name. #}
{% macro _asked_model(operation, name) %}
    {% set models = graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') %}
    {% set found = models | selectattr('name', 'equalto', name) | list %}
    {% if not found %}
        {{ exceptions.raise_compiler_error(
            'collapsing: ' ~ operation ~ " needs --args '{model: <name of a ledger or projection>}'; given: "
            ~ (name if name is not none else 'nothing')
        ) }}
    {% endif %}
    {{ return(found[0]) }}
{% endmacro %}


{# Gives the table of a node, or stops where it has not been built. #}
{% macro _built_relation(node) %}
    {% do collapsing._refuse_all_shards(node) %}
    {% set relation = adapter.get_relation(node.database, node.schema, node.alias) %}
    {% if relation is none %}
        {{ collapsing._refuse(node.name, 'there is no table ' ~ node.schema ~ '.' ~ node.alias ~ ' yet: run the model first') }}
    {% endif %}
    {{ return(relation) }}
{% endmacro %}


{# Gives what status prints of a ledger, {label: value}. #}
{% macro _ledger_status(node) %}
    {% set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) %}
    {% set ledger = collapsing._built_relation(node) %}
    {% set held = collapsing._batches_of(ledger) %}
    {% set counted = collapsing._counted_rows(ledger) %}
    {% set row = collapsing._rows_of(
        'select count_if(ledger_sign = 1), count_if(ledger_sign = -1), count_if(ledger_sign = 0) from ' ~ counted
    )[0] %}
    {% set rows = row | sum %}
    {% set live = collapsing._rows_of('select count(*) from ' ~ collapsing._final_of_table(ledger, settings))[0][0] %}
    {% set lines = {
        'engine': settings.engine ~ ', input: ' ~ settings.input,
        'batches': ((held.first ~ ' to ' ~ held.last) if held else 'none') ~ (', a base up to ' ~ held.base if held and held.base else ''),
        'rows': rows,
        'live rows': live,
        'tombstones': row[2]
    } %}
    {% if collapsing._keeps_every_row(settings) %}
        {% set left = collapsing._rows_of('select count(*) from ' ~ collapsing._collapsed_rows(counted, settings))[0][0] %}
        {% do lines.update({'rows to collapse': rows - left}) %}
    {% else %}
        {% do lines.update({'pairs to collapse': row[1]}) %}
    {% endif %}
    {% for projection in graph.nodes.values() if node.unique_id in projection.depends_on.nodes
        and collapsing._kind_if_any(projection) == 'projection' %}
        {% do lines.update({'projection ' ~ projection.name: collapsing._lag_of(projection, held)}) %}
    {% endfor %}
    {% if settings.engine != 'replacing' %}
        {% do lines.update(collapsing._found_in(ledger, settings)) %}
    {% endif %}
    {{ return(lines) }}
{% endmacro %}


{# Gives what status prints of the findings in a ledger, {label: value}. #}
{% macro _found_in(ledger, settings) %}
    {% set lines = {} %}
    {% set rows = collapsing._rows_of(
        "select finding, count(*), concat_ws('; ', slice(sort_array(collect_list(ledger_key)), 1, 3)) from ("
        ~ collapsing._findings(collapsing._rows_not_undone(ledger), settings, adapter.get_columns_in_relation(ledger)) ~ ') group by finding order by finding'
    ) %}
    {% for row in rows %}
        {% do lines.update({'finding ' ~ row[0]: row[1] ~ ' keys, for example ' ~ row[2]}) %}
    {% endfor %}
    {{ return(lines or {'findings': 'none'}) }}
{% endmacro %}


{# Gives what status prints of a projection, {label: value}. #}
{% macro _projection_status(node) %}
    {% set projection = collapsing._built_relation(node) %}
    {% set settings = collapsing._projection_settings(node.name, node.config.meta.collapsing) %}
    {% set rows = collapsing._counted_rows(projection) %}
    {% set final = collapsing._final_of_projection(projection, settings, collapsing._types_of(projection), rows) %}
    {% set lines = {
        'rows': collapsing._rows_of('select count(*) from ' ~ rows)[0][0],
        'groups': collapsing._rows_of('select count(*) from ' ~ final)[0][0]
    } %}
    {% for id in node.depends_on.nodes if id in graph.nodes %}
        {% set ledger = graph.nodes[id] %}
        {% set held = collapsing._batches_of(collapsing._built_relation(ledger)) %}
        {% do lines.update({'ledger ' ~ ledger.name: collapsing._lag_of(node, held)}) %}
    {% endfor %}
    {{ return(lines) }}
{% endmacro %}


{# Gives in words how far a projection has read its ledger, which holds the batches `held`. #}
{% macro _lag_of(node, held) %}
    {% set relation = adapter.get_relation(node.database, node.schema, node.alias) %}
    {% set read = collapsing._batches_of(relation) if relation is not none else none %}
    {% set last, upto = held.last if held else 0, read.last if read else 0 %}
    {{ return('has read up to batch ' ~ upto ~ ' of ' ~ last ~ (', ' ~ (last - upto) ~ ' behind' if last > upto else '')) }}
{% endmacro %}


{# Prints what there is to say of a model, a line each. #}
{% macro _print_status(node, lines) %}
    {% do print(node.name) %}
    {% for label, value in lines.items() %}
        {% do print('  %-28s %s' | format(label, value)) %}
    {% endfor %}
{% endmacro %}
