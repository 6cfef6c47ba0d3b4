{% macro undo(model=none, batch=none, dry_run=false) %}
    {% if execute %}
        {% set node = collapsing._asked_model('undo', model, ['ledger']) %}
        {% if collapsing._kind_of(node, 'undo') == 'projection' %}
            {% do collapsing._raise(node.name, 'undo needs a ledger; this is a projection, which follows its ledger') %}
        {% endif %}
        {% set settings = collapsing._ledger_settings(node) %}
        {% do collapsing._check_undo(node, settings, batch, dry_run) %}
        {% set ledger = collapsing._built_relation(node) %}
        {% set described = collapsing._describe(ledger) %}
        {% do collapsing._check_operable(node.name, ledger, settings, described) %}
        {% do collapsing._acquire_lock(node.name, ledger) if not dry_run %}
        {% set batches = collapsing._batches_of(ledger) %}
        {% set undo = collapsing._plan_undo(batches, collapsing._manifest_of(ledger, batches), batch) %}
        {% set undo = collapsing._unless_inconsistent(undo, ledger, settings, batches) if undo.target else undo %}
        {% if undo.needless or undo.target and dry_run %}
            {% do collapsing._say(node.name, undo.says ~ (' (dry run: nothing was changed)' if undo.target else '')) %}
        {% elif undo.target %}
            {% do collapsing._append_undo(node, ledger, settings, described, batches, undo) %}
        {% endif %}
        {% do collapsing._release_lock(ledger) if not dry_run %}
        {% do collapsing._raise(node.name, undo.says) if undo.is_error %}
    {% endif %}
{% endmacro %}


{# Raises an error about an argument of undo, or a ledger whose engine has no cancel rows. #}
{% macro _check_undo(node, settings, batch, dry_run) %}
    {% if dry_run is not boolean %}
        {% do collapsing._raise(node.name, "undo's dry_run must be true or false; given: " ~ dry_run) %}
    {% endif %}
    {% if batch is not integer or batch < 1 %}
        {% do collapsing._raise(
            node.name, "undo needs 'batch', the number of the batch to undo; given: "
            ~ (collapsing._shown(batch) if batch is not none else 'nothing')
        ) %}
    {% endif %}
    {% if not collapsing._engine(settings).adds_up %}
        {% do collapsing._raise(
            node.name, 'undo appends the negation of a batch, and the engine ' ~ settings.engine ~ ' has no cancel rows. Stage the older rows'
            ~ ' again with a higher version, or rebuild the ledger from a stage without those blocks'
        ) %}
    {% endif %}
{% endmacro %}


{#
    Returns what an undo is to do: `target`, the batch whose negation is appended, and what it `says`; `needless` where it is done already,
    `is_error` if it cannot be done. A negation restores the state before its target only from the state right after that: the target is
    the newest batch that counts.
#}
{% macro _plan_undo(batches, manifest, batch) %}
    {% set base = ': the batches up to ' ~ batches.base ~ ' are folded into the base' if batches and batches.base else '' %}
    {% set counting = (batches.later if batches else []) | reject('in', manifest.voided) | list %}
    {% set done = manifest.undone | selectattr(1, 'equalto', batch) | first %}
    {% if done %}{{ return({
        'needless': true, 'says': 'batch ' ~ batch ~ ' is undone already, by batch ' ~ done[0] ~ ': nothing was changed'
    }) }}{% endif %}
    {% if not counting %}{{ return({'is_error': true, 'says': 'there is no batch to undo' ~ base}) }}{% endif %}
    {% set newest = counting | last %}
    {% if batch in counting and batch != newest %}{{ return({
        'is_error': true, 'says': 'batch ' ~ batch ~ ' cannot be undone before those after it: start with batch ' ~ newest
    }) }}{% endif %}
    {% if batch != newest %}{{ return({
        'is_error': true,
        'says': 'batch ' ~ batch ~ ' cannot be undone: the newest batch that counts is ' ~ newest ~ ', and only that one can' ~ base
    }) }}{% endif %}
    {% set before = counting[-2] if counting | length > 1 else batches.base %}
    {% set state = 'after batch ' ~ before if before else 'before the first batch' %}
    {{ return({'target': newest, 'says': 'undoes batch ' ~ newest ~ ': final is again what it was ' ~ state}) }}
{% endmacro %}


{# Appends what _plan_undo has planned, with its manifest before it. #}
{% macro _append_undo(node, ledger, settings, described, batches, undo) %}
    {% do collapsing._drop_covered(ledger, batches) %}
    {% set number, begun_at = batches.last + 1, modules.datetime.datetime.utcnow() %}
    {% set negation = collapsing._negation(ledger, settings, undo.target, number) %}
    {% set counts = collapsing._rows_of(
        'select count_if(ledger_sign = 1), count_if(ledger_sign = -1) from (' ~ negation ~ ')'
    )[0] %}
    {% set batch = {
        'number': number, 'build': collapsing._property_in(described, 'collapsing.build'),
        'states': counts[0], 'cancels': counts[1], 'tombstones': 0
    } %}
    {% do collapsing._write_manifest_rows(ledger, batch, number, begun_at, ['(null, 0L)'], {'undoes': undo.target}) %}
    {% do collapsing._drop_range(collapsing._beside(ledger, 'rejects'), number, number, ledger) %}
    {#- a batch without rows has a negation without rows -#}
    {% if counts | sum %}
        {% do collapsing._execute(collapsing._append_sql(ledger, negation, number)) %}
    {% else %}
        {% do collapsing._append_empty(ledger, number) %}
    {% endif %}
    {% do collapsing._say(
        node.name, 'batch ' ~ number ~ ' ' ~ undo.says ~ '; what it had read is unread again, and projections follow with their next run'
    ) %}
{% endmacro %}


{#
    Returns the query of the negation of the batch `target`: what it cancelled is live again, what it made live is cancelled. Tombstones
    have no negation; lookups pass over both batches, so that what the key was before counts. Rows that carry their own
    sign follow each other in the opposite order, so that pairs meet like brackets.
#}
{% macro _negation(ledger, settings, target, number) %}
    {% set selected, signs = [], ['ledger_sign'] %}
    {% do signs.append(settings.sign | lower) if settings.is_signed %}
    {% for column in collapsing._describe(ledger).columns %}
        {% set name = column.name %}
        {% if name | lower in signs %}
            {#- a sign may be text -#}
            {% do selected.append('cast(-ledger_sign as ' ~ collapsing._ddl_type(column.dtype) ~ ') as ' ~ adapter.quote(name)) %}
        {% elif name == 'ledger_place' %}
            {% do selected.append(
                'row_number() over (partition by ' ~ collapsing._column_list(settings.key) ~ ' order by ledger_place desc) as ledger_place'
            ) %}
        {% elif name == 'ledger_batch' %}
            {% do selected.append(number ~ ' as ledger_batch') %}
        {% else %}
            {% do selected.append(adapter.quote(name)) %}
        {% endif %}
    {% endfor %}
    {% set no_tombstones = ' and ledger_sign <> 0' if not collapsing._engine(settings).keeps_every_row else '' %}
    {{ return('select ' ~ selected | join(', ') ~ '\nfrom ' ~ ledger ~ ' where ledger_batch = ' ~ target ~ no_tombstones) }}
{% endmacro %}


{# Returns what _plan_undo has planned, or an error: what negates inconsistent signed rows does not give the state before them. #}
{% macro _unless_inconsistent(undo, ledger, settings, batches) %}
    {% set engine = collapsing._engine(settings) %}
    {% if not engine.keeps_every_row %}{{ return(undo) }}{% endif %}
    {% set columns = collapsing._describe(ledger).columns | map(attribute='name') | list %}
    {#- what orders rows in a block is of the row that carried it: of the cancel row, once that is undone. The sign is
        compared as a number: as text it may be '+1' -#}
    {% set own, others = ['ledger_sign'], settings.order_by + [settings.sign] + collapsing._system_columns() %}
    {% for name in columns if name | lower not in others | map('lower') | list %}
        {% do own.append(name) %}
    {% endfor %}
    {% set row = collapsing._row_as_json(settings.key) ~ ' as ledger_key, ' ~ collapsing._row_as_json(own) ~ ' as ledger_row' %}
    {% set sql %}
        with touched as (
            select * from {{ collapsing._visible_rows(ledger) }} as stored
            left semi join (select * from {{ ledger }} where ledger_batch = {{ undo.target }}) as target
                on {{ collapsing._same_key(settings.key, 'stored', 'target') }}
        ),
        before_it as (
            select {{ row }} from {{ engine.final('(select * from touched where ledger_batch < ' ~ undo.target ~ ')', settings) }}
        ),
        negated as (
            select {{ collapsing._column_list(columns) }} from touched
            union all
            select {{ collapsing._column_list(columns) }} from ({{ collapsing._negation(ledger, settings, undo.target, batches.last + 1) }})
        ),
        after_it as (
            select {{ row }} from {{ engine.final('negated', settings) }}
        )
        select ledger_key from (
            (select * from before_it except all select * from after_it)
            union all
            (select * from after_it except all select * from before_it)
        )
        order by ledger_key limit 1
    {% endset %}
    {% set found = collapsing._rows_of(sql) %}
    {{ return(undo if not found else {
        'is_error': true,
        'says': 'batch ' ~ undo.target ~ ' cannot be undone: its rows are inconsistent, a cancel row without its state row or a state row'
            ~ ' twice, so their negation would not restore the state before it, for example of key ' ~ found[0][0]
            ~ '. Stage the rows that put it right, or rebuild the ledger with --full-refresh from a stage without its blocks'
    }) }}
{% endmacro %}
