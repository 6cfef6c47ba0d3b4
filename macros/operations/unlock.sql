{% macro unlock(model=none) %}
    {% if execute %}
        {% set node = collapsing._asked_model('unlock', model) %}
        {% do collapsing._kind_of(node, 'unlock') %}
        {% set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) %}
        {% set has_schema = collapsing._has_schema(relation) %}
        {% set lock = collapsing._lock_on(relation) if has_schema else {} %}
        {#- of a run that died while it replaced a stale lock -#}
        {% set takeover = collapsing._beside(relation, 'takeover') %}
        {% do adapter.drop_relation(takeover) if has_schema and collapsing._lock_on(relation, 'takeover').run %}
        {% if not lock.run %}
            {% do collapsing._say(node.name, 'it is not locked') %}
        {% else %}
            {% do adapter.drop_relation(collapsing._beside(relation, 'lock')) %}
            {% do collapsing._say(node.name, 'removed the lock of run ' ~ lock.run ~ ' since ' ~ lock.since ~ ' UTC') %}
        {% endif %}
    {% endif %}
{% endmacro %}
