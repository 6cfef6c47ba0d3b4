{#
    A hold keeps two runs from writing one table at once. It is the table <table>__hold, whose properties say which run has it and
    since when: to create a table is one act in the metastore, so that of two runs one gets it and the other reads whose it is.

    A session of its own upon an embedded Derby metastore needs none: Derby lets one process in. A run that is killed elsewhere
    leaves its hold behind, which is taken for stale after `collapsing_hold_hours`, or is given up by the operation release.
#}
{% macro _take_hold(name, relation) %}
    {% if not collapsing._is_alone() %}
        {% set hold = collapsing._hold_on(relation, create=true) %}
        {% if hold.run != invocation_id and collapsing._is_stale(hold.since) %}
            {% do collapsing._say(name, 'the hold of run ' ~ hold.run ~ ' since ' ~ hold.since ~ ' UTC is stale: given up') %}
            {% do adapter.drop_relation(collapsing._hold_relation(relation)) %}
            {% set hold = collapsing._hold_on(relation, create=true) %}
        {% endif %}
        {% if hold.run != invocation_id %}
            {{ collapsing._refuse(
                name, relation ~ ' is being written by the dbt run ' ~ hold.run ~ ' since ' ~ hold.since
                ~ ' UTC. Wait until it has ended; if it was killed, give its hold up: dbt run-operation collapsing.release'
                ~ " --args '{model: " ~ name ~ "}' (it is given up by itself after " ~ var('collapsing_hold_hours', 6)
                ~ ' hours, the variable collapsing_hold_hours)'
            ) }}
        {% endif %}
    {% endif %}
{% endmacro %}


{# Lets a table go that this run holds. #}
{% macro _release_hold(relation) %}
    {% set hold = load_relation(collapsing._hold_relation(relation)) %}
    {% if hold is not none and collapsing._hold_on(relation, create=false).run == invocation_id %}
        {% do adapter.drop_relation(collapsing._hold_relation(relation)) %}
    {% endif %}
{% endmacro %}


{# Runs at the end of a run of dbt: lets go what failed models hold. `results` is dbt's. #}
{% macro _release_after_failure(results) %}
    {% if execute %}
        {% for result in results if result.status == 'error' and collapsing._kind_if_any(result.node) is not none %}
            {% do collapsing._release_hold(api.Relation.create(
                database=result.node.database, schema=result.node.schema, identifier=result.node.alias
            )) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#
    Gives whether no other process can write: dbt's own Spark session (a server has another name), upon a metastore of its own
    that is Derby, the default.
#}
{% macro _is_alone() %}
    {% set found = [] %}
    {% for key in ['spark.app.name', 'spark.hadoop.hive.metastore.uris', 'spark.hadoop.javax.jdo.option.ConnectionDriverName'] %}
        {% do found.append(collapsing._rows_of('set ' ~ key)[0][1]) %}
    {% endfor %}
    {{ return(found == ['pyspark-shell', '<undefined>', '<undefined>']) }}
{% endmacro %}


{# Gives the table that a hold is. #}
{% macro _hold_relation(relation) %}
    {{ return(collapsing._beside(relation, 'hold')) }}
{% endmacro %}


{# Gives {run, since} of the hold on a table, this run's where there was none and `create` is true. #}
{% macro _hold_on(relation, create) %}
    {% set hold = collapsing._hold_relation(relation) %}
    {% set found = {'run': none, 'since': none} %}
    {% if create %}
        {% call statement('take_hold') %}
            create table if not exists {{ hold }} (nothing int) using parquet
            tblproperties (
                'collapsing.run' = '{{ invocation_id }}',
                'collapsing.since' = '{{ modules.datetime.datetime.utcnow().strftime('%Y-%m-%d %H:%M:%S') }}'
            )
        {% endcall %}
        {% do adapter.cache_added(hold) %}
    {% endif %}
    {% if create or collapsing._rows_of("show tables in " ~ hold.without_identifier() ~ " like '" ~ hold.identifier ~ "'") %}
        {% for row in collapsing._rows_of('show tblproperties ' ~ hold) if row[0] in ['collapsing.run', 'collapsing.since'] %}
            {% do found.update({row[0].split('.')[1]: row[1]}) %}
        {% endfor %}
    {% endif %}
    {{ return(found) }}
{% endmacro %}


{# Gives whether a hold has been there for longer than a run may take. #}
{% macro _is_stale(since) %}
    {% set hours = var('collapsing_hold_hours', 6) %}
    {% set age = modules.datetime.datetime.utcnow() - modules.datetime.datetime.strptime(since, '%Y-%m-%d %H:%M:%S') %}
    {{ return(age.total_seconds() > hours * 3600) }}
{% endmacro %}
