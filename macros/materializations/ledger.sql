{#
    One run of a ledger, from top to bottom. The model's SQL is the query of its stage, as with a dbt snapshot; what is appended follows
    from it here. A run that dies anywhere before the commit has changed no row that a reader sees, unless it has created the
    table again, and the next run begins again; docs/crash_safety.md says so step by step.
#}
{% materialization incremental_ledger, adapter='spark' %}
    {%- set begun_at = modules.datetime.datetime.utcnow() -%}
    {%- set ledger, existing = this.incorporate(type='table'), load_relation(this) -%}
    {%- set settings = collapsing._ledger_settings(model) -%}
    {{ run_hooks(pre_hooks) }}

    {#- nobody else writes this table, and what a killed run left half done is finished -#}
    {%- do collapsing._check_model('ledger') -%}
    {%- do collapsing._acquire_lock(model.name, ledger) -%}
    {%- set batches = collapsing._batches_of(ledger) -%}
    {%- do collapsing._drop_covered(ledger, batches) -%}

    {#- the stage has the columns that the settings name, and so has the table, if it is there -#}
    {%- set columns = collapsing._stage_columns(sql, settings) -%}
    {%- do collapsing._check_retention_sql(settings, columns) -%}
    {%- do collapsing._check_full_refresh(sql, ledger, settings, columns, batches) -%}
    {%- set number = collapsing._next_number(ledger, batches) -%}
    {%- set table = collapsing._plan_table(ledger, settings, columns, batches) -%}
    {%- set batches = none if table.rebuild or table.created else batches -%}

    {#- plan: which rows are unread, which blocks they make up, whether any is bad -#}
    {%- set manifest = collapsing._manifest_of(ledger, batches, with_blocks=true) -%}
    {%- do collapsing._check_manifest(ledger, settings, batches, manifest, table.build) -%}
    {%- set unread = collapsing._cache_unread(sql, ledger, settings, columns, manifest.folded, number) -%}
    {%- set batch = collapsing._plan_batch(unread, ledger, settings, columns, number, manifest) -%}
    {#- a table that is created anew goes once its rows are classified: what their SQL cannot compute stops the run before -#}
    {%- set stored = collapsing._prepare_table(ledger, settings, table) if not (table.created and batch.rows) else table.stored -%}

    {%- if batch.rows or table.rebuild -%}
        {#- classify every unread row, with one lookup of the keys; all that is written follows from these rows -#}
        {%- set looked_up = ledger if batches else none -%}
        {%- set batch = dict(batch, **collapsing._cache_classified(unread, looked_up, settings, columns, batch)) -%}
        {%- set rows = collapsing._rows_to_append(batch.view, looked_up, settings, columns) -%}
        {%- if table.created -%}{%- do collapsing._prepare_table(ledger, settings, table) -%}{%- endif -%}

        {#- the manifest says what the batch takes and appends: it counts once the batch is committed -#}
        {%- if settings.block or table.rebuild or not collapsing._is_empty(batch) -%}
            {%- do collapsing._write_manifest(ledger, settings, table, batch, begun_at) -%}
            {%- if settings.block -%}{%- do collapsing._write_rejects(unread, ledger, settings, columns, batch) -%}{%- endif -%}
            {%- do collapsing._commit(ledger, settings, table, stored, batch, rows) -%}
            {%- set batch = dict(batch, committed=true) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do collapsing._drop_cached(ledger, model) -%}
    {%- set line = collapsing._summary(batch, settings, batches) -%}
    {%- do store_result('main', response=line) -%}

    {%- if batch.committed -%}
        {%- do collapsing._say(model.name, line) -%}
        {%- do collapsing._optimize_if_due(ledger, settings) -%}
    {%- endif -%}
    {%- do apply_grants(ledger, config.get('grants'), should_revoke=should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(ledger, model) -%}
    {{ run_hooks(post_hooks) }}
    {%- do collapsing._release_lock(ledger) -%}
    {{ return({'relations': [ledger]}) }}
{% endmaterialization %}


{# Returns whether a batch appends no rows. #}
{% macro _is_empty(batch) %}
    {{ return(not (batch.states or batch.cancels or batch.tombstones)) }}
{% endmacro %}


{#
    Commits a batch, the one act by which its rows and its blocks count: an append; of a batch without rows one that marks its blocks as
    read; of a rebuilt ledger a base that stands for all earlier batches. `stored` are the names of the table's columns, in its order.
#}
{% macro _commit(ledger, settings, table, stored, batch, rows) %}
    {% if table.rebuild %}
        {% set base = collapsing._base_rows('(' ~ rows ~ ')', settings, stored, batch.number) %}
        {% do collapsing._write_base(ledger, batch.number, base) %}
        {% do collapsing._drop_range(collapsing._beside(ledger, 'manifest'), 1 - batch.number, batch.number, ledger) %}
        {% do collapsing._drop_range(collapsing._beside(ledger, 'rejects'), 1, batch.number - 1, ledger) %}
    {% elif collapsing._is_empty(batch) %}
        {% do collapsing._append_empty(ledger, batch.number) %}
    {% else %}
        {#- new columns of a stage come after the system columns -#}
        {% set ordered = rows if stored == table.wanted | map(attribute='name') | list
            else 'select ' ~ collapsing._column_list(stored) ~ '\nfrom (\n' ~ rows ~ '\n)' %}
        {% call statement('main') %}
            {{ collapsing._append_sql(ledger, ordered, batch.number) }}
        {% endcall %}
    {% endif %}
{% endmacro %}
