{% macro undo(model=none, batch=none, redo=false, unread=false, dry_run=false) %}
    {% if execute %}
        {% set node = collapsing._asked_model('undo', model, ['ledger']) %}
        {{ collapsing._raise(
            node.name, 'undo takes back a batch of a ledger; this is a projection, which follows its ledger'
        ) if collapsing._kind_of(node, 'undo') == 'projection' }}
        {% do collapsing._check_has_stage(node, 'undo') %}
        {% set settings = collapsing._ledger_settings(node) %}
        {% do collapsing._check_undo(node, settings, batch, {'redo': redo, 'unread': unread, 'dry_run': dry_run}) %}
        {% set ledger = collapsing._built_relation(node) %}
        {% set described = collapsing._describe(ledger) %}
        {% do collapsing._check_operable(node.name, ledger, settings, described) %}
        {% do collapsing._acquire_lock(node.name, ledger) if not dry_run %}
        {% set batches = collapsing._batches_of(ledger) %}
        {% set undo = collapsing._plan_undo(batches, collapsing._manifest_of(ledger, batches), batch, redo) %}
        {% set undo = collapsing._unless_inconsistent(undo, ledger, settings, batches) if undo.target else undo %}
        {% if undo.needless or undo.target and dry_run %}
            {% do collapsing._say(node.name, undo.says ~ (' (dry run: nothing was changed)' if undo.target else '')) %}
        {% elif undo.target %}
            {% do collapsing._append_undo(node, ledger, settings, described, batches, undo, unread) %}
        {% endif %}
        {% do collapsing._release_lock(ledger) if not dry_run %}
        {% do collapsing._raise(node.name, undo.says) if undo.is_error %}
    {% endif %}
{% endmacro %}


{#
    Returns what an undo or redo is to do: `target`, the batch whose negation is appended, and what it `says`; `needless` where it is done
    already, `is_error` if it cannot be done. A negation restores the state before its target only from the state right after that: the
    target of an undo is the newest batch that counts, and of a redo an undo that no batch that counts has followed.
#}
{% macro _plan_undo(batches, manifest, batch, redo) %}
    {% set base = ': the batches up to ' ~ batches.base ~ ' are folded into the base' if batches and batches.base else '' %}
    {% set counting = (batches.later if batches else []) | reject('in', manifest.voided) | list %}
    {% set newest, undone = counting | last if counting else 0, manifest.undone | rejectattr(1, 'in', manifest.undos) | list %}
    {% set open = undone | selectattr(0, 'gt', [newest, batches.base if batches else 0] | max) | list %}
    {% if redo %}
        {% set last = batches.later | last if batches and batches.later else none %}
        {#- a redo that is asked for again brings nothing more back -#}
        {% set is_done = last in manifest.undos and last not in undone | map('first') | list %}
        {% do return({
            'needless': true, 'says': 'batch ' ~ last ~ ' is a redo already: nothing was changed (batch: ' ~ open[0][1]
            ~ ' brings that batch back too)'
        }) if is_done and open and batch is none %}
        {% set pair = (open or ([] if is_done else undone)) | first if batch is none
            else undone | selectattr(1, 'equalto', batch) | first %}
        {% if not pair %}
            {% set what = 'no batch is' if batch is none else 'batch ' ~ batch ~ ' is not' %}
            {{ return({'needless': true, 'says': what ~ ' taken back: there is nothing to bring back'}) }}
        {% elif not open or pair != open[0] %}
            {% set since = newest if pair[0] < newest else open[0][0] if open %}
            {% set because = ': batch ' ~ since ~ ' has come since it was taken back' if since else base %}
            {{ return({'is_error': true, 'says': 'batch ' ~ pair[1] ~ ' cannot be brought back' ~ because}) }}
        {% endif %}
        {% set says = 'brings back batch ' ~ pair[1] ~ ': final is again what it was after that batch' %}
        {{ return({'target': pair[0], 'brings_back': pair[1], 'says': says}) }}
    {% endif %}
    {% set done = undone | selectattr(0, 'equalto', batches.later | last) | first if batch is none and batches
        else undone | selectattr(1, 'equalto', batch) | first %}
    {% if done %}
        {{ return({
            'needless': true, 'says': 'batch ' ~ done[1] ~ ' is taken back already, by batch ' ~ done[0]
            ~ ': nothing was changed' ~ (' (redo: true brings it back)' if done in open[:1])
        }) }}
    {% elif not newest or batch not in [none, newest] %}
        {% if batch in counting %}
            {% set says = 'batch ' ~ batch ~ ' cannot be taken back before those after it: start with batch ' ~ newest %}
            {{ return({'is_error': true, 'says': says}) }}
        {% endif %}
        {% set error = 'there is no batch to take back' if not newest
            else 'batch ' ~ batch ~ ' cannot be taken back: the newest batch that counts is ' ~ newest ~ ', and only that one can' %}
        {{ return({'is_error': true, 'says': error ~ base}) }}
    {% endif %}
    {% set before = counting[-2] if counting | length > 1 else batches.base %}
    {% set state = 'after batch ' ~ before if before else 'before the first batch' %}
    {{ return({'target': newest, 'says': 'takes back batch ' ~ newest ~ ': final is again what it was ' ~ state}) }}
{% endmacro %}


{# Appends what _plan_undo has planned, with its manifest before it. #}
{% macro _append_undo(node, ledger, settings, described, batches, undo, unread) %}
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
    {% do collapsing._write_manifest_rows(
        ledger, batch, number, begun_at, ['(null, 0L, null)'], {'undoes': undo.target, 'unread': unread}
    ) %}
    {% do collapsing._drop_range(collapsing._beside(ledger, 'rejects'), number, number, ledger) %}
    {#- a batch without rows has a negation without rows -#}
    {% if counts | sum %}
        {% do collapsing._execute(collapsing._append_sql(ledger, negation, number)) %}
    {% else %}
        {% do collapsing._append_empty(ledger, number) %}
    {% endif %}
    {% set blocks = '' if undo.brings_back else '; its blocks ' ~ ('count as unread again' if unread else 'stay read') %}
    {% do collapsing._say(node.name, 'batch ' ~ number ~ ' ' ~ undo.says ~ blocks ~ '; projections follow with their next run') %}
{% endmacro %}


{# Raises an error if a ledger cannot be undone, or an argument is not a boolean. `choices` are {argument: given}. #}
{% macro _check_undo(node, settings, batch, choices) %}
    {% for name, given in choices.items() if given is not boolean %}
        {{ collapsing._raise(node.name, "undo's " ~ name ~ ' must be true or false; given: ' ~ given) }}
    {% endfor %}
    {{ collapsing._raise(node.name, "undo's batch must be the number of a batch; given: " ~ collapsing._shown(batch))
        if batch is not none and (batch is not integer or batch < 1) }}
    {{ collapsing._raise(node.name, "undo takes unread or redo, not both") if choices.redo and choices.unread }}
    {{ collapsing._raise(
        node.name, 'undo appends the negation of a batch, and the engine ' ~ settings.engine ~ ' has no cancel rows. Stage the older rows'
        ~ ' again with a higher version, or rebuild the ledger from a stage without those blocks'
    ) if not collapsing._engine(settings).adds_up }}
    {{ collapsing._raise(
        node.name, "without the setting 'block' every run reads the whole stage, also what was taken back: take those rows out of"
        ~ " the stage first, and say so with --args '{model: " ~ collapsing._name_to_ask(node) ~ ", unread: true}'"
    ) if not settings.block and not choices.unread and not choices.redo }}
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
    {% do return(undo) if not engine.keeps_every_row %}
    {% set columns = collapsing._describe(ledger).columns | map(attribute='name') | list %}
    {#- what orders rows in a block is of the row that carried it: of the cancel row, once that is taken back. The sign is
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
        'says': 'batch ' ~ (undo.brings_back or undo.target) ~ ' cannot be ' ~ ('brought' if undo.brings_back else 'taken')
            ~ ' back: its rows are inconsistent, a cancel row without its state row or a state row twice, so their negation'
            ~ ' would not restore the state before it, for example of key ' ~ found[0][0] ~ '. Stage the rows that put it right,'
            ~ ' or rebuild the ledger with --full-refresh from a stage without its blocks'
    }) }}
{% endmacro %}
