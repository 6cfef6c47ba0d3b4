{#
    A block is folded once, for ever: what changes under a token that is folded is not read. `on_changed_block` says so, or stops the run. A
    stage tells of a change by a column that is _metadata.file_modification_time, which costs nothing while no file has changed; where the setting
    is given, the rows of each token are counted as well.
#}
{% macro _check_changed_blocks(query, ledger, settings, columns, batches, manifest) %}
    {% set is_asked = settings.on_changed_block != 'ignore' and manifest.folded %}
    {% set modified = collapsing._modification_column(model, columns) if is_asked else none %}
    {% do return(none) if not is_asked or not (modified or settings.counts_blocks) %}
    {% set lines = [] %}
    {% set changed = collapsing._changed_blocks(query, ledger, settings, columns, batches, manifest, modified) %}
    {% for row in collapsing._rows_of(changed) %}
        {% do lines.append(
            "block '" ~ row[0] ~ "' was folded with " ~ row[1] ~ ' rows'
            ~ (', and has ' ~ row[2] ~ ' now' if settings.counts_blocks and row[1] != row[2]
                else ', and a file of it was written at ' ~ row[3])
        ) %}
    {% endfor %}
    {% if lines %}
        {% set message = 'blocks have changed since they were folded, and are not read again: ' ~ lines | join('; ')
            ~ '. Stage what is new under a token of its own, or rebuild the ledger with --full-refresh (setting on_changed_block: '
            ~ settings.on_changed_block ~ ')' %}
        {% do collapsing._raise(model.name, message) if settings.on_changed_block == 'fail' %}
        {% do exceptions.warn("collapsing: model '" ~ model.name ~ "': " ~ message) %}
    {% endif %}
{% endmacro %}


{# Returns the query of up to three folded blocks that have changed: token, rows then, rows now, when the file was written. #}
{% macro _changed_blocks(query, ledger, settings, columns, batches, manifest, modified) %}
    {#- a literal: only by it no file is opened that was there before the last batch's run, which looked at all of them -#}
    {% set is_later = adapter.quote(modified) ~ ' > timestamp_micros(' ~ manifest.begun_at ~ ')' if not settings.counts_blocks %}
    {% set changes = ['arrived.ledger_modified > folded.planned_at'] if modified else [] %}
    {% do changes.append('arrived.ledger_rows <> folded.staged') if settings.counts_blocks %}
    {% set sql %}
        select {{ collapsing._carried_text('folded.block') }}, folded.staged, arrived.ledger_rows, cast(arrived.ledger_modified as string)
        from (
            select
                {{ collapsing._token(settings, columns) }} as ledger_block,
                count(*) as ledger_rows,
                {{ 'max(' ~ adapter.quote(modified) ~ ')' if modified else 'cast(null as timestamp_ltz)' }} as ledger_modified
            from {{ collapsing._in_shard('(\n' ~ query ~ '\n)', settings) }}
            {{ 'where ' ~ is_later if is_later }}
            group by 1
        ) as arrived
        inner join {{ collapsing._manifest_relation(ledger) }} as folded on folded.block = arrived.ledger_block
        where {{ collapsing._is_folded(batches, manifest) }} and ({{ changes | join(' or ') }})
        order by 1
        limit 3
    {% endset %}
    {{ return(sql) }}
{% endmacro %}


{# Returns the stage's column that says when the file of a row was written, found by the SQL that makes it, or none. #}
{% macro _modification_column(node, columns) %}
    {% set times = columns | selectattr('dtype', 'equalto', 'timestamp') | map(attribute='name') | list %}
    {% set is_shown_as = '(?i)_metadata\\.file_modification_time\\s+as\\s+`?(\\w+)' %}
    {% set named = modules.re.findall(is_shown_as, collapsing._code_read_by(node)) %}
    {{ return((named | select('in', times) | list + [none]) | first) }}
{% endmacro %}
