{#
    One run of a projection, from top to bottom: the batches of its source that it has not read yet are summed up by group, and appended
    as one batch of partials, whose number says how far it has read.
#}
{% materialization incremental_projection, adapter='spark' %}
    {%- set projection, existing = this.incorporate(type='table'), load_relation(this) -%}
    {%- set settings = collapsing._projection_settings(model.name, model.config.meta.get('collapsing')) -%}
    {{ run_hooks(pre_hooks) }}

    {#- nobody else writes this table -#}
    {%- do collapsing._check_shard(model) -%}
    {%- do collapsing._check_model('projection') -%}
    {%- do collapsing._check_names_beside(model) -%}
    {%- do collapsing._acquire_lock(model.name, projection) -%}

    {#- which batches are unread; whether what is there still fits the source and the settings -#}
    {%- set source = collapsing._source_of(model) -%}
    {%- set source_projection = collapsing._source_projection(source, settings) -%}
    {%- set table = collapsing._ready_partials(projection, existing, source, settings, source_projection) -%}

    {%- set line = 'no new batches' -%}
    {%- if table.upto and table.after != table.upto -%}
        {#- what they add to each group -#}
        {%- set rows = source if table.after is not none else collapsing._visible_rows(source) -%}
        {%- set view = collapsing._cache(
            projection, 'partials', collapsing._project(rows, settings, table.types, table, source_projection)
        ) -%}
        {%- set line, partials = collapsing._summary_of_partials(view, settings, table), 'select * from ' ~ view -%}

        {#- the commit: partials and watermark are one batch -#}
        {%- if table.rebuild -%}
            {%- do collapsing._drop_covered(projection, table.batches) -%}
            {%- do collapsing._write_base(projection, table.upto, partials, has_readers=false) -%}
            {%- do collapsing._set_properties(projection, table.properties) -%}
        {%- else -%}
            {% call statement('main') %}
                {{ collapsing._append(projection, partials, table.upto) }}
            {% endcall %}
        {%- endif -%}
        {%- do collapsing._drop_cached(projection, model) -%}
        {%- do collapsing._merge_many_partials(projection) if table.batches and table.after is not none and table.batches.later | length >= 16 -%}
    {%- endif -%}
    {%- do store_result('main', response=line) -%}

    {%- do apply_grants(projection, config.get('grants'), should_revoke=should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(projection, model) -%}
    {{ run_hooks(post_hooks) }}
    {%- do collapsing._release_lock(projection) -%}
    {{ return({'relations': [projection]}) }}
{% endmaterialization %}


{# Returns in a line which batches a run of a projection reads, and how many groups they change. #}
{% macro _summary_of_partials(partials, settings, table) %}
    {% set first = 1 + (table.after or 0) %}
    {% set groups = collapsing._rows_of(
        'select count(*) from ' ~ partials ~ (' where ledger_part = 0' if collapsing._value_measures(settings.measures))
    )[0][0] %}
    {{ return(
        ('batch ' ~ first if first == table.upto else 'batches ' ~ first ~ '-' ~ table.upto) ~ ', ' ~ collapsing._counted(groups, 'group')
    ) }}
{% endmacro %}
