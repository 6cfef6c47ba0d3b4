{% macro release(model=none) %}
    {% if execute %}
        {% set node = collapsing._asked_model('release', model) %}
        {% do collapsing._kind_of(node, 'release') %}
        {% set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) %}
        {% set hold = collapsing._hold_on(relation, create=false) %}
        {% if hold.run is none %}
            {% do collapsing._say(node.name, 'no run holds it') %}
        {% else %}
            {% do adapter.drop_relation(collapsing._hold_relation(relation)) %}
            {% do collapsing._say(node.name, 'the hold of run ' ~ hold.run ~ ' since ' ~ hold.since ~ ' UTC is given up') %}
        {% endif %}
    {% endif %}
{% endmacro %}
