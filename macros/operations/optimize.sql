{% macro optimize(model=none, keep_batches=0, dry_run=false) %}
    {% if execute %}
        {% if keep_batches is not integer or keep_batches < 0 %}
            {% do exceptions.raise_compiler_error(
                "collapsing: optimize's keep_batches must be a number of batches, 0 or more; given: " ~ collapsing._shown(keep_batches)
            ) %}
        {% endif %}
        {% if dry_run is not boolean %}
            {% do exceptions.raise_compiler_error("collapsing: optimize's dry_run must be true or false; given: " ~ dry_run) %}
        {% endif %}
        {% for node in collapsing._asked_models('optimize', model, ['ledger']) %}
            {% if collapsing._kind_of(node, 'optimize') == 'projection' %}
                {% do collapsing._raise(
                    node.name, 'optimize needs a ledger; this is a projection, which merges in its own runs'
                ) %}
            {% endif %}
            {% set because = collapsing._why_left_out(node) if model is none else none %}
            {% if because %}
                {% do collapsing._say(node.name, 'left out: ' ~ because) %}
            {% else %}
                {% do collapsing._optimize_one(node, keep_batches, dry_run) %}
            {% endif %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{# Optimizes one ledger, or in a dry run says how many batches it would fold. #}
{% macro _optimize_one(node, keep_batches, dry_run) %}
    {% set ledger, settings = collapsing._built_relation(node), collapsing._ledger_settings(node) %}
    {% set described = collapsing._describe(ledger) %}
    {% do collapsing._check_operable(node.name, ledger, settings, described) %}
    {% do collapsing._check_retention_sql(settings, described.columns) %}
    {% if dry_run %}
        {% set batches = collapsing._batches_of(ledger) %}
        {% set undone = collapsing._manifest_of(ledger, batches).undone %}
        {% set upto = collapsing._last_to_fold(node, ledger, batches, undone, keep_batches, dry_run=true) %}
        {% set count = (batches.later if batches else []) | select('le', upto) | list | length %}
        {% do collapsing._say(node.name, 'batches after the base to fold: ' ~ count ~ ' (dry run: nothing was changed)') %}
    {% else %}
        {% do collapsing._acquire_lock(node.name, ledger) %}
        {% do collapsing._optimize_ledger(node, ledger, settings, keep_batches) %}
        {% do collapsing._release_lock(ledger) %}
    {% endif %}
{% endmacro %}


{# Returns in words why an optimize of all ledgers leaves one out, or none. #}
{% macro _why_left_out(node) %}
    {% set ledger = collapsing._relation_if_any(node) %}
    {% if ledger is none %}{{ return('it has not been built') }}{% endif %}
    {% set lock = collapsing._lock_on(ledger) if not collapsing._is_sole_writer() else {'run': none} %}
    {% if lock.run is not none and not collapsing._is_stale(lock.since) %}
        {{ return('it is being written by the dbt run ' ~ lock.run) }}
    {% endif %}
    {% set settings, described = collapsing._ledger_settings(node), collapsing._describe(ledger) %}
    {% if not collapsing._is_appendable(ledger, described) %}
        {{ return('its table is not one that this package has created, in the format of the model') }}
    {% endif %}
    {% if collapsing._changed_rules(described, settings) %}{{ return('its rows were folded by other settings') }}{% endif %}
    {{ return(collapsing._wrong_manifest_of(ledger, settings, described)) }}
{% endmacro %}


{# Returns the last batch that an optimize folds, 0 where there is none; `undone` as _manifest_of has it. #}
{% macro _last_to_fold(node, ledger, batches, undone, keep_batches, dry_run=false) %}
    {% if not batches %}{{ return(0) }}{% endif %}
    {% set limit = namespace(upto=collapsing._last_read_by_all(node, ledger, batches, batches.last - keep_batches, dry_run)) %}
    {#- a batch is not folded without the later batch that undoes it: readers cannot skip a part of a base -#}
    {% for pair in undone if pair[1] <= limit.upto < pair[0] %}
        {% set limit.upto = pair[1] - 1 %}
    {% endfor %}
    {{ return(limit.upto) }}
{% endmacro %}


{#
    Folds the oldest batches of a ledger into its base: the rows that OPTIMIZE FINAL leaves of them, sorted by key. The newest
    `keep_batches` stay as they are, for as_of, and so do those that a projection has not read, and a batch whose undo stays.
#}
{% macro _optimize_ledger(node, ledger, settings, keep_batches) %}
    {% set batches = collapsing._batches_of(ledger) %}
    {% do collapsing._drop_covered(ledger, batches) %}
    {% set undone = collapsing._manifest_of(ledger, batches).undone %}
    {% set upto = collapsing._last_to_fold(node, ledger, batches, undone, keep_batches) %}
    {#- a table that was created again goes on from earlier numbers: a base of nothing would hide that it is new -#}
    {% if not batches or not batches.later | select('le', upto) | list %}
        {% set base = ': the base stands for those up to ' ~ batches.base if batches and batches.base else '' %}
        {% do collapsing._say(node.name, 'there is no batch to fold' ~ base) %}
    {% else %}
        {% do collapsing._merge_manifests(ledger, batches, upto) %}
        {% set names = collapsing._describe(ledger).columns | map(attribute='name') | list %}
        {% set rows = collapsing._rows_to_fold(ledger, settings, batches, upto, undone) %}
        {#- of an engine that appends older rows as well, a later batch may have one of a key that a tombstone keeps deleted -#}
        {% set keeps = collapsing._engine(settings).keeps_every_row and upto < batches.last %}
        {% set base = collapsing._base_rows(rows, dict(settings, tombstone_retention=none) if keeps else settings, names, upto) %}
        {% set before = collapsing._size_of(ledger, batches) %}
        {% do collapsing._say(node.name, 'folding the batches up to ' ~ upto ~ ' into a base') %}
        {% do collapsing._write_base(ledger, upto, base) %}
        {% set after = collapsing._size_of(ledger, collapsing._batches_of(ledger)) %}
        {% do collapsing._say(node.name, 'rows: ' ~ before.rows ~ ', now ' ~ after.rows) %}
        {% do collapsing._say(node.name, 'bytes: ' ~ before.bytes ~ ', now ' ~ after.bytes) %}
        {#- those that the merged one stands for, and those of older bases -#}
        {% do collapsing._drop_range(collapsing._beside(ledger, 'manifest'), 1 - upto, upto, ledger) %}
    {% endif %}
{% endmacro %}


{# Optimizes a ledger at the end of a run, once `optimize_after` batches are after its base. #}
{% macro _optimize_if_due(ledger, settings) %}
    {% if settings.optimize_after and collapsing._batches_of(ledger).later | length >= settings.optimize_after %}
        {% do collapsing._optimize_ledger(collapsing._model_of(ledger), ledger, settings, 0) %}
    {% endif %}
{% endmacro %}
