{% macro status(model=none, format='table') %}
    {% if execute %}
        {% if format not in ['table', 'json'] %}
            {% do exceptions.raise_compiler_error("collapsing: status's format must be table or json; given: " ~ format) %}
        {% endif %}
        {% set found = [] %}
        {% for node in collapsing._asked_models('status', model) %}
            {% do found.append(collapsing._figures(node)) %}
        {% endfor %}
        {% if format == 'json' %}
            {% do print(tojson(found)) %}
        {% elif model is string %}
            {% do collapsing._print_figures(found[0]) %}
        {% else %}
            {% do collapsing._print_table(found) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{# Prints the figures of one model that are known, a line each. #}
{% macro _print_figures(figures) %}
    {% do print(figures.model) %}
    {% for name, value in figures.items() if name not in ['model', 'readers'] and value is not none %}
        {% do print('  %-28s %s' | format(name | replace('_', ' '), value)) %}
    {% endfor %}
    {% for reader in figures.readers or [] %}
        {% do print('  %-28s %s' | format(
            'projection ' ~ reader.name, 'has read up to batch ' ~ (reader.batch or 0) ~ ', ' ~ reader.lag_batches ~ ' behind'
        )) %}
    {% endfor %}
{% endmacro %}


{# Prints a table of several models, a line each. #}
{% macro _print_table(found) %}
    {% set columns = [
        'model', 'state', 'last_batch', 'batches', 'last_run_at', 'unread_blocks', 'rows', 'live', 'tombstones', 'rejects',
        'lag_batches'
    ] %}
    {% set lines = [columns | map('replace', '_', ' ') | list] %}
    {% for figures in found %}
        {% set cells = [] %}
        {% for column in columns %}
            {% do cells.append((figures[column] if figures[column] is not none else '-') | string) %}
        {% endfor %}
        {% do lines.append(cells) %}
    {% endfor %}
    {% for cells in lines %}
        {% set padded = [] %}
        {% for cell in cells %}
            {% set width = lines | map(attribute=loop.index0) | map('length') | max %}
            {% do padded.append(cell.ljust(width) if loop.first else cell.rjust(width)) %}
        {% endfor %}
        {% do print(padded | join('  ')) %}
    {% endfor %}
{% endmacro %}


{# Returns the figures of status about a ledger or projection, {name: value}: NULL where a figure is not known. #}
{% macro _figures(node) %}
    {% set kind, table = collapsing._kind_of(node, 'status'), collapsing._table_of(node) %}
    {% set is_known = table is not none and table.identity is not none %}
    {% set is_built = is_known and table.compacted is not none %}
    {% set figures = {
        'model': collapsing._name_to_ask(node), 'kind': kind, 'engine': none,
        'state': 'built' if is_built else 'unfinished' if is_known else 'not built',
        'last_batch': table.last if is_built else none, 'compacted': table.compacted if is_built else none,
        'batches': table.last - table.compacted if is_built else none,
        'last_run_at': none, 'unread_blocks': none, 'rows': none, 'live': none, 'tombstones': none, 'rejects': none,
        'lag_batches': none, 'readers': none
    } %}
    {% if kind == 'projection' %}
        {% set ledger = collapsing._table_of(collapsing._sources_of(node) | first) %}
        {% set lag = none if collapsing._why_not_built(ledger) else collapsing._lag_of(node, ledger).lag_batches %}
        {{ return(dict(figures, lag_batches=lag)) }}
    {% endif %}
    {% set settings = collapsing._ledger_settings(node) %}
    {% set figures = dict(figures, engine=settings.engine) %}
    {% if not is_built %}{{ return(figures) }}{% endif %}
    {% set readers = [] %}
    {% for reader in collapsing._readers_of(node) %}
        {% do readers.append(collapsing._lag_of(reader, table)) %}
    {% endfor %}
    {{ return(dict(
        figures, unread_blocks=collapsing._unread_blocks(node, settings, table), readers=readers | sort(attribute='name'),
        lag_batches=readers | map(attribute='lag_batches') | max if readers else none,
        **collapsing._figures_of_notes(settings, table)
    )) }}
{% endmacro %}


{# Returns what a ledger's notes tell: the compacted batch and the runs after it have said how many rows they wrote. #}
{% macro _figures_of_notes(settings, table) %}
    {% set sql %}
        with notes as (
            select
                *,
                kind = 'commit'
                and (ledger_batch > 0 or (batch = -ledger_batch and act in ('optimize', 'undo', 'full_refresh'))) as counts
            from {{ collapsing._visible_notes(table.relation) }}
        )

        select
            date_format(
                max(started_at) filter (where act in ('run', 'full_refresh', 'undone')),
                {{ collapsing._text_literal("yyyy-MM-dd'T'HH:mm:ssXXX") }}
            ) as last_run_at,
            coalesce(sum(states + cancels + tombstones) filter (where counts), 0) as rows,
            coalesce(sum(states - cancels) filter (where counts), 0) as live,
            coalesce(sum(tombstones) filter (where counts), 0) as tombstones,
            count_if(kind = 'reject') as rejects
        from notes
    {% endset %}
    {% set row = collapsing._rows_of(sql)[0] %}
    {{ return({
        'last_run_at': row[0], 'rows': row[1], 'live': row[2] if collapsing._engine(settings).adds_up else none,
        'tombstones': row[3], 'rejects': row[4]
    }) }}
{% endmacro %}


{# Returns how many blocks the next run would fold; none without `block`, a stage, or the token column in it. #}
{% macro _unread_blocks(node, settings, table) %}
    {% set stage = collapsing._only_stage_of(node) %}
    {% if stage is none or settings.block is none %}{{ return(none) }}{% endif %}
    {% set columns = collapsing._spelled(collapsing._columns_of_query('select * from ' ~ stage), [settings.block]) %}
    {% if settings.block not in columns | map(attribute='name') | list %}{{ return(none) }}{% endif %}
    {{ return(collapsing._rows_of(
        'select count(distinct ' ~ collapsing._token(settings, columns) ~ ') from ' ~ stage ~ ' where '
        ~ collapsing._sql_is_unread(settings, columns, collapsing._notes_of(table).folded)
    )[0][0]) }}
{% endmacro %}


{# Returns how far a projection has read its ledger, {name, batch, lag_batches}; `batch` is none where it has to be rebuilt. #}
{% macro _lag_of(projection, ledger) %}
    {% set read = collapsing._valid_watermark(projection, ledger) %}
    {{ return({'name': collapsing._name_to_ask(projection), 'batch': read, 'lag_batches': ledger.last - (read or 0)}) }}
{% endmacro %}
