{% macro undo(model=none, unread=false) %}
    {% if execute %}
        {% set node = collapsing._asked_model('undo', model) %}
        {% if collapsing._kind_of(node, 'undo') == 'projection' %}
            {{ collapsing._raise(
                node.name, 'undo takes back a batch of a ledger; this is a projection, which follows its ledger'
            ) }}
        {% endif %}
        {% set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) %}
        {% do collapsing._check_undo(node, settings, unread) %}
        {% set ledger = collapsing._built_relation(node) %}
        {% set batches = collapsing._batches_of(ledger) %}
        {% if not batches or batches.last <= batches.base %}
            {{ collapsing._raise(node.name, 'there is no batch to take back'
                ~ (': the batches up to ' ~ batches.base ~ ' are folded into the base' if batches else '')) }}
        {% endif %}
        {% do collapsing._acquire_lock(node.name, ledger) %}
        {% do collapsing._drop_covered(ledger, batches) %}
        {% set number, begun_at = batches.last + 1, modules.datetime.datetime.utcnow() %}
        {% set row = '(null, 0L, null, ' ~ batches.last ~ ', ' ~ unread ~ ')' %}
        {% do collapsing._write_manifest_rows(ledger, number, number, [row]) %}
        {% set batch = dict(collapsing._append_negation(ledger, settings, batches.last), number=number) %}
        {% do collapsing._write_history(ledger, settings, batch, begun_at, undoes=batches.last) %}
        {% do collapsing._say(
            node.name, 'batch ' ~ number ~ ' takes back batch ' ~ batches.last ~ ': its blocks '
            ~ ('count as unread again' if unread else 'stay read') ~ '; projections follow with their next run'
        ) %}
        {% do collapsing._release_lock(ledger) %}
    {% endif %}
{% endmacro %}


{# Raises an error where a batch cannot be taken back. #}
{% macro _check_undo(node, settings, unread) %}
    {% if unread is not boolean %}
        {{ collapsing._raise(node.name, "undo's unread must be true or false; given: " ~ unread) }}
    {% endif %}
    {% if not collapsing._engine(settings).adds_up %}
        {{ collapsing._raise(
            node.name, 'undo appends the negation of a batch, and the engine ' ~ settings.engine ~ ' has no cancel rows. Stage the older rows'
            ~ ' again with a higher version, or rebuild the ledger from a stage without those blocks'
        ) }}
    {% endif %}
    {% if not settings.block and not unread %}
        {{ collapsing._raise(
            node.name, "without the setting 'block' every run reads the whole stage, also what was taken back: take those rows out of"
            ~ " the stage first, and say so with --args '{model: " ~ node.name ~ ", unread: true}'"
        ) }}
    {% endif %}
{% endmacro %}


{#
    Appends the negation of a batch as the next one and returns how many {states, cancels, tombstones} it has: what it
    cancelled is live again, what it made live is cancelled. Tombstones
    have no negation; lookups pass over both batches, so that what the key was before counts. Rows that carry their own
    sign follow each other in the opposite order, so that pairs meet like brackets.
#}
{% macro _append_negation(ledger, settings, number) %}
    {% set engine, selected = collapsing._engine(settings), [] %}
    {% for name in collapsing._describe(ledger).columns | map(attribute='name') %}
        {% if name in ['ledger_sign'] + ([settings.sign] if settings.input == 'signed' else []) %}
            {% do selected.append('-' ~ adapter.quote(name) ~ ' as ' ~ adapter.quote(name)) %}
        {% elif name == 'ledger_place' %}
            {% do selected.append(
                'row_number() over (partition by ' ~ collapsing._row_list(settings.key) ~ ' order by ledger_place desc) as ledger_place'
            ) %}
        {% elif name == 'ledger_batch' %}
            {% do selected.append((number + 1) ~ ' as ledger_batch') %}
        {% else %}
            {% do selected.append(adapter.quote(name)) %}
        {% endif %}
    {% endfor %}
    {% set no_tombstones = ' and ledger_sign <> 0' if not engine.keeps_every_row else '' %}
    {% set rows = 'from ' ~ ledger ~ ' where ledger_batch = ' ~ number ~ no_tombstones %}
    {% set counts = collapsing._rows_of('select count_if(ledger_sign = -1), count_if(ledger_sign = 1) ' ~ rows)[0] %}
    {#- a batch without rows has a negation without rows -#}
    {% if counts | sum %}
        {% do collapsing._execute(collapsing._append(ledger, 'select ' ~ selected | join(', ') ~ '\n' ~ rows, number + 1)) %}
    {% else %}
        {% do collapsing._register_if_empty(ledger, number + 1) %}
    {% endif %}
    {{ return({'states': counts[0], 'cancels': counts[1], 'tombstones': 0}) }}
{% endmacro %}
