{#
    Plans the batch of a joined ledger: caches the keys that it may change, with the first ledger's rows before and after it.
    Returns
        number   the batch number that its rows will have
        blocks   [{token, rows}]: how far it reads each side that has something new
        rows     how many keys it may change; of a whole build 0
        view     the view of what is cached, or none
    and what _write_manifest takes. A change of the other sides that touches too many rows makes it a whole
    build.
#}
{% macro _plan_joined(ledger, settings, sides, table, batches) %}
    {% set number = collapsing._next_number(ledger, batches) %}
    {% set batch = {'number': number, 'rows': 0, 'decisions': {}, 'view': none, 'states': 0, 'cancels': 0, 'tombstones': 0} %}
    {% set stayed = collapsing._cache_stayed(ledger, settings, sides, table) if not table.whole %}
    {% set blocks = [] %}
    {#- one ledger may be several sides, and has one token; its rows are not counted, for that would be a scan -#}
    {% for side in collapsing._sides_with_news(sides) %}
        {% do blocks.append({'token': side.token, 'rows': 0}) %}
    {% endfor %}
    {% do batch.update({'blocks': blocks | unique(case_sensitive=true, attribute='token') | list}) %}
    {% do collapsing._check_consistent(sides[0]) if collapsing._engine(sides[0].settings).keeps_every_row %}
    {% if not table.whole and (sides[0].after < sides[0].upto or stayed) %}
        {% set view = collapsing._cache(ledger, 'unread', collapsing._rows_to_join(sides, stayed)) %}
        {% do batch.update(dict(collapsing._profile_unread_keys(view, sides), view=view)) %}
    {% endif %}
    {{ return(batch) }}
{% endmacro %}


{#
    Caches the changed rows of the other sides, and the keys of the first ledger that find one. Returns {rows, bounds, count}
    of these keys, or none where there are none; marks the table for a whole build, and says so, where they are too many.
#}
{% macro _cache_stayed(ledger, settings, sides, table) %}
    {% set first, changed = sides[0], [] %}
    {% for side in collapsing._sides_with_news(sides[1:]) %}
        {% set view = collapsing._cache(ledger, 'changed_' ~ side.name, collapsing._changed_rows(side)) %}
        {% set profile = collapsing._profile_keys(view, collapsing._columns_to_bound(side, side.on)) %}
        {% if profile.count %}
            {% do side.update({'changed': view, 'changed_bounds': profile.bounds.get(''), 'changed_count': profile.count}) %}
            {% do changed.append(side.name) %}
        {% endif %}
    {% endfor %}
    {% do return(none) if not changed %}
    {% set view = collapsing._cache(ledger, 'stayed', collapsing._keys_that_find_changes(sides)) %}
    {% set key = first.settings.key %}
    {% set profile = collapsing._profile_keys(view, collapsing._columns_to_bound(first, zip(key, key))) %}
    {% do return(none) if not profile.count %}
    {% set live = collapsing._rows_of(collapsing._count_of_live(first))[0][0] %}
    {#- what is fed by its changes would count a base once more -#}
    {% if profile.count > settings.rebuild_share * live and not collapsing._ledger_fed_by(model) %}
        {% do collapsing._say(
            model.name, 'what has changed in ' ~ changed | join(', ') ~ ' touches ' ~ profile.count ~ ' of ' ~ live ~ ' rows of '
            ~ first.name ~ ', more than the setting rebuild_share (' ~ settings.rebuild_share ~ '): building it again as a new base'
        ) %}
        {% do table.update({'whole': true, 'rebuild': true}) %}
        {% do collapsing._read_from_start(sides) %}
        {{ return(none) }}
    {% endif %}
    {{ return({'rows': view, 'bounds': profile.bounds.get(''), 'count': profile.count}) }}
{% endmacro %}


{# Returns a query that counts the live rows of a side: of events their signs add up to them, of signed rows they may not. #}
{% macro _count_of_live(side) %}
    {% set rows = collapsing._rows_upto(side, side.upto) %}
    {{ return(
        'select count(*) from ' ~ collapsing._live_among(side, rows) if collapsing._engine(side.settings).keeps_every_row
        else 'select coalesce(sum(ledger_sign), 0) from ' ~ rows
    ) }}
{% endmacro %}


{# Returns the ranges that _profile_keys is to find of a side's columns; `pairs` are [what is compared, the side's column]. #}
{% macro _columns_to_bound(side, pairs) %}
    {% set values = [] %}
    {% for name, own in pairs %}
        {% for column in side.columns if column.name == own %}
            {% do values.append({'of': '', 'name': name, 'dtype': column.dtype, 'sqls': [adapter.quote(own)]}) %}
        {% endfor %}
    {% endfor %}
    {{ return(values) }}
{% endmacro %}


{#
    Sets the other sides' range of the keys that the cached rows look up there, and returns how many `rows` are cached, and how many of them are
    `states` and `cancels` if no row that they find has changed.
#}
{% macro _profile_unread_keys(view, sides) %}
    {% set values = [] %}
    {% for side in sides[1:] %}
        {% for mine, theirs in side.on %}
            {% set column = sides[0].columns | selectattr('name', 'equalto', mine) | first %}
            {% set quoted = adapter.quote(mine) %}
            {% do values.append({
                'of': side.name, 'name': theirs, 'dtype': column.dtype, 'sqls': ['ledger_before.' ~ quoted, 'ledger_after.' ~ quoted]
            }) %}
        {% endfor %}
    {% endfor %}
    {% set differs = ' is not null and not (' ~ collapsing._same_images(sides[0].columns) ~ '))' %}
    {% set aggregates = ['count_if(ledger_after' ~ differs, 'count_if(ledger_before' ~ differs] %}
    {% set profile = collapsing._profile_keys(view, values, aggregates) %}
    {% for side in sides[1:] %}
        {% do side.update({'bounds': profile.bounds.get(side.name)}) %}
    {% endfor %}
    {{ return({'rows': profile.count, 'states': profile.aggregates[0], 'cancels': profile.aggregates[1]}) }}
{% endmacro %}


{#
    Returns {count, aggregates, bounds} of cached rows: how many there are, what the `aggregates` give, and literal ranges over the
    alias `stored` outside of which no value lies, by the `of` of each of `ranges`, {of, name, dtype, sqls}: SQL for one value in a row or
    two, the column that they are compared with, and its type. Types without such literals have none.
#}
{% macro _profile_keys(view, ranges, aggregates=[]) %}
    {% set asked, bounds, bounded = ['count(*)'], {}, [] %}
    {% for value in ranges if collapsing._is_bounded_type(value.dtype) %}
        {% set both = value.sqls[0] ~ ', ' ~ value.sqls[-1] %}
        {% do bounded.append(value) %}
        {% do asked.append(collapsing._bound_text('min(least(' ~ both ~ '))', value.dtype)) %}
        {% do asked.append(collapsing._bound_text('max(greatest(' ~ both ~ '))', value.dtype)) %}
    {% endfor %}
    {% set row = collapsing._rows_of('select ' ~ (asked + aggregates) | join(', ') ~ ' from ' ~ view)[0] %}
    {% for value in bounded %}
        {% set least, greatest = row[1 + 2 * loop.index0], row[2 + 2 * loop.index0] %}
        {% if least is not none %}
            {% set range = collapsing._sql_is_between('stored.' ~ adapter.quote(value.name), least, greatest, value.dtype) %}
            {% do bounds.update({value.of: bounds[value.of] ~ ' and ' ~ range if value.of in bounds else range}) %}
        {% endif %}
    {% endfor %}
    {{ return({'count': row[0], 'aggregates': (row | list)[asked | length:], 'bounds': bounds}) }}
{% endmacro %}


{#
    Raises an error where rows that carry their own sign do not leave each key of the first ledger with one live row, or none: a joined
    ledger has one. Asked of the keys of unread batches alone, or of all.
#}
{% macro _check_consistent(first) %}
    {% set rows = collapsing._rows_upto(first, first.upto) if first.after is none
        else collapsing._rows_of_unread_keys(first, first.upto) %}
    {% set rows = collapsing._rows_not_in(rows, collapsing._manifest_of(first.relation, first.batches).voided) %}
    {% set key = collapsing._rows_of(
        'select min(' ~ collapsing._row_as_json(first.settings.key) ~ ') from ('
        ~ collapsing._engine(first.settings).inconsistent(rows, first.settings) ~ ')'
    )[0][0] %}
    {{ collapsing._raise(
        model.name, "the rows of '" ~ first.name ~ "' are inconsistent, a cancel row without its state row or a state row twice,"
        ~ ' for example of key ' ~ key ~ ': a joined ledger has one live row of a key. Stage the rows that put it right, and if this '
        ~ 'error stays, build ' ~ first.name ~ ' again with --full-refresh'
    ) if key is not none }}
{% endmacro %}


{# Caches the rows that a batch appends, where they are counted, adds to the batch how many there are, and returns their query. #}
{% macro _rows_of_joined(ledger, sides, table, batch) %}
    {% set has_inner = sides[1:] | selectattr('type', 'equalto', 'inner') | list %}
    {% if table.whole %}
        {% set rows = collapsing._whole_join(sides, batch.number) %}
        {#- a left join leaves as many rows as there were; of an inner one only its keys are read to count them -#}
        {% set counting = 'select count(*) from (' ~ rows ~ ')' if has_inner else collapsing._count_of_live(sides[0]) %}
        {% do batch.update({'states': collapsing._rows_of(counting)[0][0]}) %}
        {{ return(rows) }}
    {% endif %}
    {% do return(none) if not batch.rows %}
    {% set rows = collapsing._joined_rows(sides, batch.view, batch.number, count=batch.rows) %}
    {#- left joins of rows as they stand lose none: they are counted already -#}
    {% do return(rows) if not (has_inner or sides[1:] | selectattr('changed') | list) %}
    {% set view = collapsing._cache(ledger, 'classified', rows) %}
    {% set row = collapsing._rows_of('select count_if(ledger_sign = 1), count_if(ledger_sign = -1) from ' ~ view)[0] %}
    {% do batch.update({'states': row[0], 'cancels': row[1]}) %}
    {{ return('select * from ' ~ view) }}
{% endmacro %}


{# Returns in a line how far a batch has read its sides, and what it appended. #}
{% macro _summary_of_joined(batch, sides) %}
    {% do return('no new batches') if not batch.committed %}
    {% set parts = [] %}
    {% for side in collapsing._sides_with_news(sides) %}
        {% do parts.append(side.name ~ ' up to ' ~ side.upto) %}
    {% endfor %}
    {{ return(
        'batch ' ~ batch.number ~ ': ' ~ parts | join(', ') ~ ' (state rows: ' ~ batch.states ~ ', cancel rows: ' ~ batch.cancels ~ ')'
    ) }}
{% endmacro %}
