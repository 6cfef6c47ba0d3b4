{% macro undo(model=none, unread=false) %}
    {% if execute %}
        {% set node = collapsing._asked_model('undo', model) %}
        {% if collapsing._kind_of(node, 'undo') == 'projection' %}
            {{ collapsing._refuse(
                node.name, 'undo takes back a batch of a ledger; this is a projection, which follows its ledger'
            ) }}
        {% endif %}
        {% set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) %}
        {% do collapsing._refuse_undo(node, settings, unread) %}
        {% set ledger = collapsing._built_relation(node) %}
        {% set held = collapsing._batches_of(ledger) %}
        {% if not held or held.last <= held.base %}
            {{ collapsing._refuse(node.name, 'there is no batch to take back'
                ~ (': the batches up to ' ~ held.base ~ ' are folded into the base' if held else '')) }}
        {% endif %}
        {% do collapsing._take_hold(node.name, ledger) %}
        {% do collapsing._drop_covered(ledger, held) %}
        {% do collapsing._note(ledger, held.last + 1, ['(null, 0L, null, ' ~ held.last ~ ', ' ~ unread ~ ')']) %}
        {% do collapsing._append_negation(ledger, settings, held.last) %}
        {% set written = collapsing._batches_of(collapsing._history_relation(ledger), ledger) %}
        {% do collapsing._write_history(ledger, collapsing._batches_of(ledger), written) %}
        {% do collapsing._say(
            node.name, 'batch ' ~ (held.last + 1) ~ ' takes back batch ' ~ held.last ~ ': its blocks '
            ~ ('count as unread again' if unread else 'stay read') ~ '; projections follow with their next run'
        ) %}
        {% do collapsing._release_hold(ledger) %}
    {% endif %}
{% endmacro %}


{# Stops where a batch cannot be taken back. #}
{% macro _refuse_undo(node, settings, unread) %}
    {% if unread is not boolean %}
        {{ collapsing._refuse(node.name, "undo's unread must be true or false; given: " ~ unread) }}
    {% endif %}
    {% if settings.engine == 'replacing' %}
        {{ collapsing._refuse(
            node.name, 'undo appends the negation of a batch, and the engine replacing has no cancel rows. Stage the older rows'
            ~ ' again with a higher version, or rebuild the ledger from a stage without those blocks'
        ) }}
    {% endif %}
    {% if not settings.block and not unread %}
        {{ collapsing._refuse(
            node.name, "without the setting 'block' every run reads the whole stage, also what was taken back: take those rows out of"
            ~ " the stage first, and say so with --args '{model: " ~ node.name ~ ", unread: true}'"
        ) }}
    {% endif %}
{% endmacro %}


{#
    Appends the negation of a batch as the next one: what it cancelled is live again, what it made live is cancelled. Tombstones
    have no negation; lookups pass over both batches, so that what the key was before counts. Rows that carry their own
    sign follow each other in the opposite order, so that pairs meet like brackets.
#}
{% macro _append_negation(ledger, settings, number) %}
    {% set every_row = collapsing._keeps_every_row(settings) %}
    {% set selected = [] %}
    {% for name in adapter.get_columns_in_relation(ledger) | map(attribute='name') %}
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
    {% set sql %}
        select
            {{ selected | join(',\n            ') }}
        from {{ ledger }}
        where ledger_batch = {{ number }}{{ ' and ledger_sign <> 0' if not every_row }}
    {% endset %}
    {% do collapsing._write_partitions(ledger, sql) %}
    {#- a batch without rows has a negation without rows -#}
    {% do collapsing._close_empty_batch(ledger, number + 1) if collapsing._batches_of(ledger).last == number %}
{% endmacro %}
