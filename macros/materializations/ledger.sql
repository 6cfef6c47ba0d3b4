{#
    One run of a ledger, from top to bottom. The model's SQL is the query of its stage, as with a dbt snapshot. Spark is asked for the stage's
    columns, the table's, its numbers and its notes, then for the profile; one insert follows, published by the commit, and its note is read back.
    A run that dies before its commit has changed nothing that a reader sees, unless it has created the table again or added a column, and the
    next run begins again: docs/crash_safety.md. Readers see what final.sql returns.
#}
{% materialization incremental_ledger, adapter='spark' %}
    {%- set existing, settings = load_relation(this), collapsing._ledger_settings(model) -%}
    {{ run_hooks(pre_hooks) }}
    {%- do collapsing._check_model('ledger') -%}

    {#- what is staged, what is stored, and what the ledger's own notes say is folded -#}
    {%- set columns = collapsing._stage_columns(sql, settings) -%}
    {%- do collapsing._check_retention_sql(settings, columns) -%}
    {%- set wanted = collapsing._ledger_columns(columns, settings, this) -%}
    {%- set table = collapsing._table(this) -%}
    {%- set notes = collapsing._notes_of(table) -%}
    {%- do collapsing._check_full_refresh(sql, table, notes, settings, columns) -%}
    {#- run, full_refresh, fill or create -#}
    {%- set act = collapsing._act_of_run(table, notes, settings, columns, wanted) -%}

    {#- which rows are unread: those of new blocks in an ordinary run, all in the other acts; bad ones stop the run here -#}
    {%- set profile = collapsing._profile(sql, settings, columns, notes.folded if act == 'run' else []) -%}
    {%- if act == 'create' -%}
        {%- set table = collapsing._create(this, wanted, {}, table) -%}
    {%- elif act == 'run' and wanted | length > table.columns | length -%}
        {%- set table = collapsing._add_columns(table, collapsing._column_changes(table, wanted, columns).added) -%}
    {%- endif -%}

    {%- set batch = collapsing._batch(table, profile, settings, columns, act) -%}
    {%- set looked_up = table.relation if act == 'run' else none -%}
    {%- set is_due = collapsing._is_due(sql, looked_up, settings, columns, batch) -%}
    {%- if is_due -%}
        {#- decide about every unread row beside one lookup of its key, and commit what that appends, with the notes about it -#}
        {%- set rows = collapsing._batch_to_store(sql, looked_up, table, settings, columns, batch) -%}
        {%- do collapsing._commit(table, batch.number, rows, empties=batch.empties, begins=batch.begins, reads=batch.reads) -%}
        {%- set line = collapsing._line_of(collapsing._note_written(table, batch.number, batch.act), table, settings) -%}
        {%- do collapsing._say(model.name, line) -%}
    {%- else -%}
        {%- set line = 'no new blocks' if settings.block else 'no new rows' -%}
    {%- endif -%}
    {%- do store_result('main', response=line) -%}

    {%- do apply_grants(this, config.get('grants'), should_revoke=should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(this, model) -%}
    {{ run_hooks(post_hooks) }}
    {%- if is_due and settings.optimize_after -%}
        {%- set table = collapsing._list(table) -%}
        {%- if table.last - table.compacted >= settings.optimize_after -%}{%- do collapsing._optimize_ledger(model, settings, table) -%}{%- endif -%}
    {%- endif %}
    {{ return({'relations': [this.incorporate(type='table')]}) }}
{% endmaterialization %}


{#
    Returns the batch that a run commits. A run takes the number after the last one, n; a full refresh is a compacted batch, -n. A table begins at
    a number f, 0 or above any that was there: its first commit takes f + 1, and -f with it (plain parquet f too).
        number, begins, empties, reads  as _commit takes them
        act      what its note says: run or full_refresh
        rows, blocks, bad, ranges       as _profile returns them
        takes    SQL over the stage: the rows to fold
        planned  SQL over the stage: false for a row that the profile has not counted so; the CTE `notes` stops the statement on one
        visible, bounds                 SQL over the ledger, alias `stored`: the rows in which a last state can be
#}
{% macro _batch(table, profile, settings, columns, act) %}
    {% set batch = dict(
        profile, number=table.last + 1, act='run', empties=[], begins=none, reads=none,
        takes=collapsing._sql_is_taken(settings, columns, profile), planned=collapsing._sql_is_planned(settings, profile),
        visible=collapsing._sql_is_visible(table), bounds=collapsing._sql_is_within(profile)
    ) %}
    {% if act == 'full_refresh' %}
        {{ return(dict(batch, number=-batch.number, act='full_refresh', empties=[batch.number], reads=[-table.compacted])) }}
    {% elif act != 'run' %}
        {% set begins = [table.first, table.last + 1 if table.numbers else 0] | max %}
        {{ return(dict(batch, number=begins + 1, begins=begins, reads=[])) }}
    {% endif %}
    {{ return(batch) }}
{% endmacro %}


{# Returns whether a run has something to commit. Without `block` it reads the whole stage again, and only the lookup can tell. #}
{% macro _is_due(query, looked_up, settings, columns, batch) %}
    {% if batch.act == 'full_refresh' %}{{ return(true) }}{% endif %}
    {% if settings.block or not batch.rows %}{{ return(batch.rows > 0) }}{% endif %}
    {% set rows = collapsing._fold('(\n' ~ query ~ '\n)', looked_up, settings, columns, batch) %}
    {{ return(collapsing._rows_of('select 1 from (\n' ~ rows ~ '\n) limit 1') | length > 0) }}
{% endmacro %}


{# Returns in a line what a batch took and what became of it, from its note; `table` as it was before. #}
{% macro _line_of(note, table, settings) %}
    {% set counts = [] %}
    {% for decision, rows in note.decisions | dictsort %}
        {% do counts.append(decision ~ ' ' ~ rows) %}
    {% endfor %}
    {% set above = table.last - (table.compacted or 0) %}
    {% set advice = '; ' ~ above ~ ' batches are not optimized: an optimize would make it faster to read'
        if above >= 100 and note.act == 'run' and not settings.optimize_after else '' %}
    {{ return(
        'batch ' ~ note.batch ~ ': ' ~ (collapsing._with_noun(note.blocks, 'block') ~ ', ' if note.blocks)
        ~ collapsing._with_noun(note.rows_read, 'row') ~ (' (' ~ counts | join(', ') ~ ')' if counts else '') ~ advice
    ) }}
{% endmacro %}
