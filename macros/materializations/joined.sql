{#
    One run of a joined ledger, from top to bottom: what has changed in the ledgers under it since it last read them is
    joined, and appended as one batch. How far each of them was read is in the manifest, which counts with the batch.
    docs/joins.md has the algebra.
#}
{% materialization incremental_joined, adapter='spark' %}
    {%- set begun_at = modules.datetime.datetime.utcnow() -%}
    {%- set ledger, existing = this.incorporate(type='table'), load_relation(this) -%}
    {%- set settings = collapsing._ledger_settings(model) -%}
    {{ run_hooks(pre_hooks) }}

    {#- nobody else writes this table, and what a killed run left half done is finished -#}
    {%- do collapsing._check_model('joined') -%}
    {%- do collapsing._check_not_fed_on(model, 'optimized') if settings.optimize -%}
    {%- do collapsing._acquire_lock(model.name, ledger) -%}
    {%- set batches = collapsing._batches_of(ledger) -%}
    {%- do collapsing._drop_covered(ledger, batches) -%}

    {#- which batches of which side are unread; whether what is there still fits them and the settings -#}
    {%- set watermarks = collapsing._watermarks_of(ledger, batches) -%}
    {%- set sides = collapsing._sides(settings, watermarks.read) -%}
    {%- set stale, batch = collapsing._reset_if_stale(sides, batches), {'committed': false} -%}
    {%- set table = collapsing._plan_joined_table(ledger, settings, sides, batches, stale, watermarks) -%}
    {%- set was_dropped = existing is none and collapsing._next_number(ledger, none) > 1 -%}
    {%- do collapsing._check_not_fed_on(model, 'built anew') if was_dropped or batches and (table.rebuild or table.created) -%}

    {%- if table.is_due -%}
        {#- what has changed on each side, and the joined rows before and after it -#}
        {%- do batch.update(collapsing._plan_joined(ledger, settings, sides, table, batches)) if table.reads -%}
        {%- do collapsing._prepare_table(ledger, settings, table) -%}
    {%- endif -%}
    {%- if table.reads -%}
        {%- set rows = collapsing._rows_of_joined(ledger, sides, table, batch) -%}

        {#- the manifest says how far each side is read: it counts once the batch is committed -#}
        {%- do collapsing._write_manifest(ledger, settings, table, batch, begun_at) -%}
        {#- rows of other rules: until they are there, the property has rules that no settings have, so that a run after a kill rebuilds -#}
        {%- set rules, changes_rules = collapsing._rules_of(settings), table.rebuild and table.has_other_rules -%}
        {%- do collapsing._set_properties(ledger, {'collapsing.rules': collapsing._as_property(dict(rules, join={}))}) if changes_rules -%}
        {%- do collapsing._commit(ledger, settings, table, batch, rows) -%}
        {%- do collapsing._set_properties(ledger, {'collapsing.rules': collapsing._as_property(rules)}) if changes_rules -%}
        {%- do collapsing._drop_cached(ledger, model) -%}
    {%- endif -%}
    {%- set line = collapsing._summary_of_joined(batch, sides) -%}
    {%- do collapsing._say(model.name, line) if batch.committed -%}
    {%- do store_result('main', response=line) -%}
    {%- do collapsing._pass_on_batches(ledger, none if table.created else batches, batch) if not table.rebuild and not settings.optimize -%}

    {%- do collapsing._optimize_if_due(ledger, settings) if batch.committed -%}
    {%- do apply_grants(ledger, config.get('grants'), should_revoke=should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(ledger, model) -%}
    {{ run_hooks(post_hooks) }}
    {%- do collapsing._release_lock(ledger) -%}
    {{ return({'relations': [ledger]}) }}
{% endmaterialization %}
