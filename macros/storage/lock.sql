{#
    A lock keeps two runs from writing one table at once. It is the table <table>__lock, whose properties say which run has it and
    since when: creating a table is one atomic act in the metastore, so of two runs one gets the lock and the other reads whose it is.

    A Spark session inside dbt's process with an embedded Derby metastore needs none: Derby admits one process. A run that is killed
    elsewhere leaves its lock behind. It is stale after `collapsing_lock_timeout_hours`, or is removed by the operation unlock.
#}
{% macro _acquire_lock(name, relation) %}
    {% if collapsing._is_sole_writer() %}{{ return(none) }}{% endif %}
    {% set lock = collapsing._create_lock(relation) %}
    {% if lock.run is none %}
        {% do collapsing._check_own(collapsing._beside(relation, 'lock'), 'nothing') %}
        {{ collapsing._raise(name, relation ~ ' was being written by another run that has just ended: run it again') }}
    {% elif lock.run != invocation_id and collapsing._is_stale(lock.since) %}
        {% set lock = collapsing._take_over(name, relation, lock) %}
    {% endif %}
    {% if lock.run != invocation_id %}
        {{ collapsing._raise(
            name, relation ~ ' is being written by the dbt run ' ~ lock.run ~ ' since ' ~ lock.since
            ~ ' UTC. Wait until it has ended; if it was killed, remove its lock: dbt run-operation collapsing.unlock'
            ~ " --args '{model: " ~ collapsing._name_to_ask(collapsing._model_of(relation)) ~ "}'"
            ~ " (a run that starts more than " ~ collapsing._lock_timeout_hours()
            ~ ' hours after that time removes the lock itself; the variable collapsing_lock_timeout_hours sets the limit)'
        ) }}
    {% endif %}
{% endmacro %}


{#
    Replaces a stale lock by one of this run, and returns {run, since} of the lock that is there then. Of several runs that find it stale
    the one that creates <table>__takeover goes on, and reads the lock again: another one may have replaced it since.
#}
{% macro _take_over(name, relation, stale) %}
    {% if collapsing._create_lock(relation, 'takeover').run == invocation_id %}
        {% if collapsing._lock_on(relation).run == stale.run %}
            {% do collapsing._say(name, 'the lock of run ' ~ stale.run ~ ' since ' ~ stale.since ~ ' UTC is stale: removed') %}
            {% do adapter.drop_relation(collapsing._beside(relation, 'lock')) %}
            {% do collapsing._create_lock(relation) %}
        {% endif %}
        {% do adapter.drop_relation(collapsing._beside(relation, 'takeover')) %}
    {% endif %}
    {{ return(collapsing._lock_on(relation)) }}
{% endmacro %}


{# Removes this run's lock on a table; a lock of another run stays. #}
{% macro _release_lock(relation) %}
    {% do adapter.drop_relation(collapsing._beside(relation, 'lock'))
        if not collapsing._is_sole_writer() and collapsing._lock_on(relation).run == invocation_id %}
{% endmacro %}


{#
    Runs at the end of run, build, test, seed and snapshot: removes what a model that failed could not remove, its lock and its temporary
    views.
#}
{% macro _clean_up_after_failure(results) %}
    {% for result in results if execute and result.status == 'error' and collapsing._kind_if_any(result.node) is not none %}
        {% set relation = api.Relation.create(
            database=result.node.database, schema=result.node.schema, identifier=result.node.alias
        ) %}
        {% do collapsing._drop_cached(relation, result.node) %}
        {% do collapsing._release_lock(relation) %}
        {#- an optimize takes those of its projections, to mark them -#}
        {% for reader in collapsing._readers_of(result.node) %}
            {#- none where its schema is not there either -#}
            {% set built = collapsing._relation_if_any(reader) %}
            {% do collapsing._release_lock(built) if built is not none %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{#
    Returns whether no other process can write: Spark runs inside dbt's process (a server's session has another name), with an embedded
    Derby metastore, the default.
#}
{% macro _is_sole_writer() %}
    {% set settings = dict(collapsing._rows_of('set') | map('list')) if target.type == 'spark' else {} %}
    {{ return(
        settings.get('spark.app.name') == 'pyspark-shell' and not env_var('SPARK_REMOTE', '') and collapsing._has_derby(settings)
    ) }}
{% endmacro %}


{#
    Returns whether a session with these settings has an embedded Derby for its metastore. No setting shows what a hive-site.xml
    says, so where no URL is given, a folder in which Spark would look for one counts as a metastore that others may use. Spark
    hides what a setting named URL says; any other database, and Derby's network server, need the name of their driver too.
#}
{% macro _has_derby(settings) %}
    {#- Hive hears of its settings with and without these prefixes -#}
    {% set by_name = dict(zip(settings | map('replace', 'spark.', '') | map('replace', 'hadoop.', ''), settings.values())) %}
    {% set url = by_name.get('javax.jdo.option.ConnectionURL', '') %}
    {% set others = by_name | select('in', [
        'hive.metastore.uris', 'hive.metastore.client.factory.class', 'hive.imetastoreclient.factory.class',
        'javax.jdo.option.ConnectionDriverName', 'sql.catalog.spark_catalog.catalog-impl', 'sql.catalog.spark_catalog.uri'
    ]) | list %}
    {% set folders = [] %}
    {% for name in [
        'HADOOP_CONF_DIR', 'YARN_CONF_DIR', 'SPARK_CONF_DIR', 'SPARK_DIST_CLASSPATH', 'SPARK_HOME', 'HIVE_CONF_DIR', 'HIVE_HOME'
    ] %}
        {% do folders.append(name) if env_var(name, '') %}
    {% endfor %}
    {#- any other catalog than Spark's own, or these two over it, may be shared -#}
    {% set over_it = ['org.apache.spark.sql.delta.catalog.DeltaCatalog', 'org.apache.iceberg.spark.SparkSessionCatalog'] %}
    {% set is_own = settings.get('spark.sql.defaultCatalog', 'spark_catalog') == 'spark_catalog'
        and settings.get('spark.sql.catalog.spark_catalog', over_it[0]) in over_it
        and settings.get('spark.sql.catalog.spark_catalog.type', 'hive') == 'hive' %}
    {#- a URL with // is of Derby's network server, which admits many -#}
    {% set names_embedded = url.startswith('jdbc:derby:') and not url.startswith('jdbc:derby://') %}
    {{ return(is_own and (names_embedded or '(redacted)' in url or not (url or folders)) and not others) }}
{% endmacro %}


{# Creates a table's lock, or its takeover, where there is none, and returns {run, since} of the one that is there. #}
{% macro _create_lock(relation, what='lock') %}
    {% set lock = collapsing._beside(relation, what) %}
    {% set since = modules.datetime.datetime.utcnow().strftime('%Y-%m-%d %H:%M:%S') %}
    {% do collapsing._execute(
        'create table if not exists ' ~ lock ~ ' (nothing int) using ' ~ collapsing._format_beside(relation) ~ '\ntblproperties ('
        ~ collapsing._literal_pairs({'collapsing.run': invocation_id, 'collapsing.since': since}, ' = ') ~ ')'
    ) %}
    {% do collapsing._add_to_cache(lock) %}
    {{ return(collapsing._lock_on(relation, what)) }}
{% endmacro %}


{# Returns {run, since} of the lock on a table, or of its takeover, both none where there is none. #}
{% macro _lock_on(relation, what='lock') %}
    {% set lock, found = collapsing._beside(relation, what), {'run': none, 'since': none} %}
    {% if collapsing._is_in_catalog(lock) %}
        {% for row in collapsing._rows_of('show tblproperties ' ~ lock) if row[0] in ['collapsing.run', 'collapsing.since'] %}
            {% do found.update({row[0].split('.')[1]: row[1]}) %}
        {% endfor %}
    {% endif %}
    {{ return(found) }}
{% endmacro %}


{# Returns whether a lock is older than a run may take. #}
{% macro _is_stale(since) %}
    {% set age = modules.datetime.datetime.utcnow() - modules.datetime.datetime.strptime(since, '%Y-%m-%d %H:%M:%S') %}
    {{ return(age.total_seconds() > collapsing._lock_timeout_hours() * 3600) }}
{% endmacro %}


{# Returns after how many hours a lock is stale. #}
{% macro _lock_timeout_hours() %}
    {% set hours = var('collapsing_lock_timeout_hours', 6) %}
    {{ exceptions.raise_compiler_error(
        'collapsing: the variable collapsing_lock_timeout_hours must be a number of hours above 0; given: ' ~ collapsing._shown(hours)
    ) if hours is boolean or hours is not number or hours <= 0 }}
    {{ return(hours) }}
{% endmacro %}
