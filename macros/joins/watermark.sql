{#
    How far a joined ledger has read each side is in its manifest, as the blocks of its batches: `model.shop.orders:41` says
    that orders was read up to batch 41. Like any block it counts once its batch is committed, so that no crash parts the rows
    from it.
#}


{#
    Returns how far a joined ledger that has the batches `batches` has read the ledgers under it, {unique_id: batch}, as `read`, and `last` and
    `builds` as _manifest_of has them.
#}
{% macro _watermarks_of(ledger, batches) %}
    {% set found = {'read': {}, 'last': 0, 'builds': []} %}
    {% set manifest = collapsing._manifest_table(ledger) if batches else none %}
    {% do return(found) if manifest is none %}
    {% set sql %}
        select
            substring_index(block, ':', 1) as side,
            max(try_cast(substring_index(block, ':', -1) as int)) as upto,
            max(planned_in) as last,
            to_json(collect_set(build)) as builds
        from {{ manifest }}
        where {{ collapsing._sql_is_committed(batches) }}
        group by substring_index(block, ':', 1)
    {% endset %}
    {% for side, upto, last, builds in collapsing._rows_of(sql) %}
        {#- the rows without a block are those of the batches themselves -#}
        {% do found.read.update({side: upto}) if side else found.update({'last': last, 'builds': fromjson(builds)}) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{#
    Returns in words why a joined ledger that has the batches `batches` cannot go on from where it has read its sides, or none. Where it
    cannot, or has no batches, all sides are to be read from the beginning.
#}
{% macro _reset_if_stale(sides, batches) %}
    {% set stale = [] %}
    {% for side in sides if batches %}
        {% if side.after is none %}
            {% do stale.append('how far it has read ' ~ side.name ~ ' is not known') %}
        {% elif side.after > side.upto %}
            {% do stale.append(side.name ~ ' has been rebuilt: of the ' ~ side.after ~ ' batches that were read it has ' ~ side.upto) %}
        {% elif side.batches and (side.after < side.batches.base or 0 < side.after < side.batches.first) %}
            {% do stale.append(
                side.name ~ ' has been rebuilt, or optimized beyond batch ' ~ side.after ~ ', up to which it was read'
            ) %}
        {% endif %}
    {% endfor %}
    {% do collapsing._read_from_start(sides) if stale or not batches %}
    {{ return(stale | first if stale else none) }}
{% endmacro %}


{# Marks all sides as unread from the beginning. #}
{% macro _read_from_start(sides) %}
    {% for side in sides %}
        {% do side.update({'after': none}) %}
    {% endfor %}
{% endmacro %}


{#
    Returns what a run does with a joined ledger's table, in the words of _plan_table and
        is_due   whether there is anything to do
        whole    whether all rows are written anew, and nothing is to be cancelled
        reads    whether a batch is to be written
        has_other_rules   whether the table is marked with other rules than those of the settings
    `watermarks` as _watermarks_of returns them.
    A table that no longer fits is rebuilt as a new base where its columns stay, so that readers never lose it; else it is
    created again.
#}
{% macro _plan_joined_table(ledger, settings, sides, batches, stale, watermarks) %}
    {% set existing = load_relation(ledger) %}
    {% set described = collapsing._describe(ledger) if existing is not none and not existing.is_view else none %}
    {% do collapsing._check_no_ledger(ledger, described) %}
    {% set build = collapsing._property_in(described, 'collapsing.build') if described else none %}
    {% set fits = described and collapsing._is_appendable(ledger, described) %}
    {% if described and not fits %}
        {% set stale = 'its table is not one that this package has created, in the format of the model' %}
    {% elif described and collapsing._changed_rules(described, settings) %}
        {% set stale = 'its settings or the ledgers that it reads are not those that it was built from' %}
    {% elif described and batches and not (stale or collapsing._is_of_this_table(watermarks, batches, build)) %}
        {% set stale = 'its manifest was not written for the rows that it has now' %}
    {% endif %}
    {% set unread = collapsing._sides_with_news(sides) %}
    {#- a run of the first ledger without news may have added columns -#}
    {% if fits and not (unread or stale) %}
        {% set stored = described.columns | map(attribute='name') | map('lower') | list + collapsing._system_columns() %}
        {% set added = collapsing._types_of(sides[0].relation) | map('lower') | reject('in', stored) | list %}
    {% endif %}
    {% if described and (flags.EMPTY or not (unread or stale or added or should_full_refresh())) %}
        {% do collapsing._say(
            model.name, stale ~ ': --empty leaves it as it is, and the next run builds it again'
        ) if stale and flags.EMPTY %}
        {{ return({'is_due': false, 'reads': false, 'created': false, 'rebuild': false}) }}
    {% endif %}
    {% set wanted = collapsing._ledger_columns(collapsing._take_columns(sides), settings, ledger) %}
    {% do collapsing._check_contract(wanted) %}
    {% set changes = collapsing._column_changes(described, wanted, wanted) if fits else {} %}
    {% set is_changed = changes.added or changes.other %}
    {% set stale = stale or ('the columns of the ledgers that it reads have changed' if is_changed else none) %}
    {% do collapsing._say(
        model.name, stale ~ ': building it again from the whole of ' ~ sides | map(attribute='name') | join(', ')
    ) if stale %}
    {#- a table without batches is marked with the rules that its first rows follow -#}
    {% set stored_rules = collapsing._property_in(described, 'collapsing.rules') if described else none %}
    {% set has_other_rules = stored_rules != collapsing._rules_of(settings) %}
    {% do collapsing._warn_of_views() if described and (is_changed or has_other_rules) %}
    {% set created = not fits or is_changed or (stale and not batches) %}
    {% set whole = created or not batches or stale or should_full_refresh() %}
    {% do collapsing._read_from_start(sides) if whole %}
    {{ return({
        'is_due': true, 'created': created, 'rebuild': whole and not created and batches is not none, 'whole': whole, 'added': [],
        'build': invocation_id if created else build, 'has_other_rules': has_other_rules,
        'wanted': wanted, 'stored': (wanted if created else described.columns) | map(attribute='name') | list,
        'reads': not flags.EMPTY and (not whole or sides[0].upto > 0 or (batches is not none and not created))
    }) }}
{% endmacro %}


{# Returns the sides of which something is to be read. #}
{% macro _sides_with_news(sides) %}
    {% set found = [] %}
    {% for side in sides if side.after is none or side.after < side.upto %}
        {% do found.append(side) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}
