{#
    One run of a projection, from top to bottom: the batches of its ledger that it has not read yet are summed up by group, and appended
    as one batch of partial sums, whose number says how far it has read.
#}
{% materialization incremental_projection, adapter='spark' %}
    {%- set projection, existing = this.incorporate(type='table'), load_relation(this) -%}
    {%- set settings = collapsing._projection_settings(model) -%}
    {{ run_hooks(pre_hooks) }}

    {#- nobody else writes this table -#}
    {%- do collapsing._check_model('projection') -%}
    {%- do collapsing._acquire_lock(model.name, projection) -%}

    {#- which batches are unread; whether what is there still fits the ledger and the settings -#}
    {%- set source = collapsing._source_relation(model) -%}
    {%- do collapsing._check_is_call(sql, source) -%}
    {%- set table = collapsing._ready_partials(projection, existing, source, settings) -%}

    {%- set line = 'no new batches' -%}
    {%- if table.upto and table.after != table.upto and not flags.EMPTY -%}
        {#- what they add to each group -#}
        {%- set rows = source if table.after is not none else collapsing._visible_rows(source) -%}
        {%- set partials = collapsing._project(rows, settings, table.types, table) -%}

        {#- the commit: partial sums and watermark are one batch -#}
        {%- if table.rebuild -%}
            {%- set view = collapsing._cache(projection, 'partials', partials) -%}
            {%- do collapsing._drop_covered(projection, table.batches) -%}
            {#- until the new rows are there, the property has no signature: a run after a kill rebuilds -#}
            {%- do collapsing._set_properties(projection, {'collapsing.projection': collapsing._as_property(table.unsigned)}) -%}
            {%- do collapsing._write_base(projection, table.upto, 'select * from ' ~ view) -%}
            {%- do collapsing._set_properties(projection, table.properties) -%}
            {%- do collapsing._drop_cached(projection, model) -%}
        {%- else -%}
            {% call statement('main') %}
                {{ collapsing._append_sql(projection, partials, table.upto, after=table.after or 0) }}
            {% endcall %}
        {%- endif -%}
        {%- set first = 1 + (table.after or 0) -%}
        {%- set line = 'batch ' ~ first if first == table.upto else 'batches ' ~ first ~ '-' ~ table.upto -%}
        {%- if table.batches and table.after is not none -%}
            {%- do collapsing._merge_many_partials(projection, table.batches) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do store_result('main', response=line) -%}

    {%- do apply_grants(projection, config.get('grants'), should_revoke=should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(projection, model) -%}
    {{ run_hooks(post_hooks) }}
    {%- do collapsing._release_lock(projection) -%}
    {{ return({'relations': [projection]}) }}
{% endmaterialization %}
