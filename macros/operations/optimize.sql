{% macro optimize(model=none, keep_batches=0, dead_share=none, batches=none, dry_run=false) %}
    {% if execute %}
        {% do collapsing._check_policy(keep_batches, dead_share, batches, dry_run) %}
        {% set by_policy = model in [none, 'all'] or dead_share is not none or batches is not none %}
        {% set policy = {
            'dead_share': dead_share if dead_share is not none else 0.5, 'batches': batches if batches is not none else 100
        } if by_policy else none %}
        {% for node in collapsing._asked_models('optimize', none if model == 'all' else model, ['ledger', 'projection']) %}
            {% set kind = collapsing._kind_of(node, 'optimize') %}
            {% set because = collapsing._why_left_out(node, kind) if by_policy else none %}
            {% if because %}
                {% do collapsing._say(node.name, 'left out: ' ~ because) %}
            {% else %}
                {% do collapsing._optimize_one(node, kind, keep_batches, policy, dry_run) %}
            {% endif %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{# Raises an error about an argument of optimize. #}
{% macro _check_policy(keep_batches, dead_share, batches, dry_run) %}
    {% set wrong = [] %}
    {% if keep_batches is not integer or keep_batches < 0 %}
        {% do wrong.append("keep_batches must be a number of batches, 0 or more; given: " ~ collapsing._shown(keep_batches)) %}
    {% elif batches is not none and (batches is not integer or batches < 1) %}
        {% do wrong.append("batches must be a number of batches, 1 or more; given: " ~ batches) %}
    {% elif dead_share is not none and (dead_share is not number or dead_share is boolean or not 0 < dead_share <= 1) %}
        {% do wrong.append("dead_share must be a share of the rows, above 0 and up to 1; given: " ~ dead_share) %}
    {% elif dry_run is not boolean %}
        {% do wrong.append("dry_run must be true or false; given: " ~ dry_run) %}
    {% endif %}
    {{ exceptions.raise_compiler_error("collapsing: optimize's " ~ wrong[0]) if wrong }}
{% endmacro %}


{# Optimizes a ledger or a projection, where a policy is given only if it is due by that; in a dry run says what would be done. #}
{% macro _optimize_one(node, kind, keep_batches, policy, dry_run) %}
    {% set relation = collapsing._built_relation(node) %}
    {% set settings = collapsing._ledger_settings(node) if kind == 'ledger' %}
    {#- by policy, _why_left_out has already left out what must not be optimized, and what an operation must not write to -#}
    {% do collapsing._check_optimizable(settings) if settings and not policy %}
    {% do collapsing._check_not_fed_on(node, 'optimized') if settings and not policy %}
    {% set described = collapsing._describe(relation) if settings or not policy %}
    {% do collapsing._check_operable(node.name, relation, settings, described) if not policy %}
    {% do collapsing._check_retention_sql(settings, described.columns) if settings %}
    {% set batches = collapsing._batches_of(relation) %}
    {% set due = collapsing._due_by_policy(node, relation, settings, batches, keep_batches, policy, dry_run) %}
    {% set note = ' (dry run: nothing was changed)' if dry_run and due.is_due else '' %}
    {% do collapsing._say(node.name, due.says ~ note) if policy or dry_run %}
    {% if not dry_run and (due.is_due or not policy) %}
        {% do collapsing._acquire_lock(node.name, relation) %}
        {% if settings %}
            {% do collapsing._optimize_ledger(node, relation, settings, keep_batches) %}
        {% else %}
            {% do collapsing._optimize_projection(node, relation, keep_batches) %}
        {% endif %}
        {% do collapsing._release_lock(relation) %}
    {% endif %}
{% endmacro %}


{#
    Returns {is_due, says}: whether a ledger, or a projection (without `settings`), is to be optimized, and in words why. Without a policy it is where
    there is something to fold; only a dry run asks what readers and undos leave of it. A projection has no dead rows: its partials are merged
    once there are many batches of them.
#}
{% macro _due_by_policy(node, relation, settings, batches, keep_batches, policy, dry_run) %}
    {#- a ledger has each number after its base, a projection only some, of which a format with a log does not tell -#}
    {% set later = [] if not batches else batches.later if settings else collapsing._batches_with_rows(relation, batches) %}
    {% set old = later[:[later | length - keep_batches, 0] | max] %}
    {% if old and dry_run and not policy %}
        {% set undone = collapsing._manifest_of(relation, batches).undone if settings else [] %}
        {% set upto = collapsing._last_to_fold(node, relation, batches, old[-1], undone, dry_run=true) %}
        {% set old = old | select('le', upto) | list %}
    {% endif %}
    {% set count = old | length %}
    {% do return({'is_due': count > 0, 'says': 'batches after the base to fold: ' ~ count}) if not count or not policy %}
    {% set says = 'batches after the base: ' ~ count ~ ' (limit ' ~ policy.batches ~ ')' %}
    {% if settings %}
        {% set share = collapsing._dead_share(relation, settings, batches) %}
        {% set percent, limit = (100 * share) | round(1) ~ ' %', (100 * policy.dead_share) | round(1) ~ ' %' %}
        {% set says = says ~ ', dead rows: ' ~ percent ~ ' (limit ' ~ limit ~ ')' %}
    {% endif %}
    {% set is_due = count >= policy.batches or (settings and share >= policy.dead_share) %}
    {{ return({'is_due': is_due, 'says': ('due: ' if is_due else 'not due: ') ~ says}) }}
{% endmacro %}


{# Returns the share of a ledger's rows that an optimize would remove. #}
{% macro _dead_share(ledger, settings, batches) %}
    {% set figures = collapsing._row_figures(ledger, settings, batches, collapsing._manifest_figures(ledger, batches)) %}
    {% do return(figures.dead_share) if figures.live is not none %}
    {% set row = collapsing._rows_of(
        'select count(*), approx_count_distinct(struct(' ~ collapsing._column_list(settings.key + settings.partition_by) ~ '), 0.01) from '
        ~ collapsing._visible_rows(ledger)
    )[0] %}
    {{ return([(row[0] - row[1]) / row[0], 0] | max if row[0] else 0) }}
{% endmacro %}


{# Returns in words why an optimize of all models leaves one out, or none. #}
{% macro _why_left_out(node, kind) %}
    {% do return('its keys are split into shards: say which by the variable collapsing_shard')
        if collapsing._shards_of(node) and collapsing._shard_of_run() is none %}
    {% set relation = collapsing._relation_if_any(node) %}
    {% do return('it has not been built') if relation is none %}
    {% set lock = collapsing._lock_on(relation) if not collapsing._is_sole_writer() else {'run': none} %}
    {% do return('it is being written by the dbt run ' ~ lock.run)
        if lock.run is not none and not collapsing._is_stale(lock.since) %}
    {% set described = collapsing._describe(relation) %}
    {% do return('its table is not one that this package has created, in the format of the model')
        if not collapsing._is_appendable(relation, described) %}
    {% do return(none) if kind == 'projection' %}
    {% set settings = collapsing._ledger_settings(node) %}
    {% do return("without the setting 'block' its runs would append again what optimize leaves out")
        if collapsing._keeps_what_it_reads(settings) %}
    {% do return('its rows were folded by other settings') if collapsing._changed_since(described, settings) %}
    {% set wrong = collapsing._wrong_manifest_of(relation, settings, described) %}
    {% do return(wrong) if wrong %}
    {% set fed = collapsing._ledger_fed_by(node) %}
    {{ return("the ledger '" ~ fed[0].name ~ "' is fed by its changes" if fed else none) }}
{% endmacro %}


{# Returns whether a ledger would take rows for new again, once an optimize has left them out. #}
{% macro _keeps_what_it_reads(settings) %}
    {{ return(collapsing._engine(settings).keeps_every_row and not settings.block) }}
{% endmacro %}


{# Raises an error about a ledger that would take rows for new again, once an optimize has left them out. #}
{% macro _check_optimizable(settings) %}
    {{ collapsing._raise(
        settings.model, "it cannot be optimized without the setting 'block': each run compares its whole stage with the rows that it keeps,"
        ~ ' and would append again those that optimize leaves out'
    ) if collapsing._keeps_what_it_reads(settings) }}
{% endmacro %}


{# Returns the last batch, `upto` at most, that an optimize folds; `undone` as _manifest_of has it. #}
{% macro _last_to_fold(node, relation, batches, upto, undone=[], dry_run=false) %}
    {% set limit = namespace(upto=collapsing._last_read_by_all(node, relation, batches, upto, dry_run)) %}
    {#- a batch is not folded without the later batch that takes it back: readers cannot skip a part of a base -#}
    {% for pair in undone if pair[1] <= limit.upto < pair[0] %}
        {% set limit.upto = pair[1] - 1 %}
    {% endfor %}
    {{ return(limit.upto) }}
{% endmacro %}


{#
    Folds the oldest batches of a ledger into its base: the rows that OPTIMIZE FINAL leaves of them, sorted by key. The newest
    `keep_batches` stay as they are, for as_of, and so do those that a projection or joined ledger has not read, and a batch whose undo stays.
#}
{% macro _optimize_ledger(node, ledger, settings, keep_batches) %}
    {% set batches = collapsing._batches_of(ledger) %}
    {% do collapsing._drop_covered(ledger, batches) %}
    {% set undone = collapsing._manifest_of(ledger, batches).undone %}
    {% set upto = collapsing._last_to_fold(node, ledger, batches, batches.last - keep_batches, undone) if batches else 0 %}
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
        {% do collapsing._fold_into_base(node, ledger, batches, upto, base) %}
        {#- those that the merged one stands for, and those of older bases -#}
        {% do collapsing._drop_range(collapsing._beside(ledger, 'manifest'), 1 - upto, upto, ledger) %}
    {% endif %}
{% endmacro %}


{# Writes a base of the batches up to `upto`, and prints what there was before and what is left. #}
{% macro _fold_into_base(node, relation, batches, upto, sql) %}
    {% set before = collapsing._size_of(relation, batches) %}
    {% do collapsing._say(node.name, 'folding the batches up to ' ~ upto ~ ' into a base') %}
    {% do collapsing._write_base(relation, upto, sql) %}
    {% set after = collapsing._size_of(relation, collapsing._batches_of(relation)) %}
    {% do collapsing._say(node.name, 'rows: ' ~ before.rows ~ ', now ' ~ after.rows) %}
    {% do collapsing._say(node.name, 'bytes: ' ~ before.bytes ~ ', now ' ~ after.bytes) %}
{% endmacro %}


{# Optimizes a ledger at the end of a run, if its setting `optimize` asks for that and so much of it is dead. #}
{% macro _optimize_if_due(ledger, settings) %}
    {% if settings.optimize and collapsing._dead_share(ledger, settings, collapsing._batches_of(ledger)) >= settings.optimize %}
        {% do collapsing._optimize_ledger(collapsing._model_of(ledger), ledger, settings, 0) %}
    {% endif %}
{% endmacro %}
