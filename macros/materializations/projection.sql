{#
    One run of a projection, from top to bottom: the batches of its ledger that it has not read yet are summed by group and
    committed as one batch of partial sums, whose number says how far it has read.
#}
{% materialization incremental_projection, adapter='spark' %}
    {%- set projection, existing = this.incorporate(type='table'), load_relation(this) -%}
    {%- set settings, source = collapsing._projection_settings(model), collapsing._source_relation(model) -%}
    {{ run_hooks(pre_hooks) }}
    {%- do collapsing._check_model('projection') -%}
    {%- do collapsing._check_is_call(sql, source) -%}

    {#- how far it has read, how far its ledger is, and what follows from that -#}
    {%- set own = collapsing._table(projection) -%}
    {%- set ledger = collapsing._table(source) -%}
    {%- set next = collapsing._projection_act(own, ledger, settings) -%}
    {%- set act = next.act -%}
    {%- if next.says -%}{%- do collapsing._say(model.name, next.says) -%}{%- endif -%}

    {#- the table, where there is none or another one is needed; it stays empty while its ledger is -#}
    {%- if act == 'create' -%}
        {%- set own = collapsing._create_projection(projection, own, ledger, settings) -%}
        {%- set ledger = collapsing._list(ledger) -%}
        {%- set act = 'nothing' if flags.EMPTY or ledger.compacted is none else 'whole' -%}
    {%- endif -%}

    {#- the commit, refused if another run has come first or a batch that it has read is gone -#}
    {%- set line = 'no new batches' -%}
    {%- if act != 'nothing' -%}
        {%- set is_whole, n = act == 'whole', ledger.last -%}
        {%- set first = 1 if is_whole else own.last + 1 -%}
        {%- set rows = collapsing._rows_to_commit(act, own, ledger, settings) -%}
        {%- set read = {
            'table': ledger, 'least': -(ledger.compacted if is_whole else own.last),
            'numbers': collapsing._visible_numbers(ledger) if is_whole else range(first, n + 1) | list
        } -%}
        {%- set compacted = [-own.compacted] if own.compacted is not none else [] -%}
        {%- if act == 'append' -%}
            {%- do collapsing._commit(own, n, rows, empties=range(first, n) | list, reads=compacted, source=read) -%}
        {%- else -%}
            {%- do collapsing._commit(own, -n, rows, empties=[n], reads=compacted if is_whole else none, source=read) -%}
        {%- endif -%}
        {%- set line = 'rebuilt from all of ' ~ ledger.relation.identifier if is_whole and next.says
            else 'batch ' ~ n if first == n else 'batches ' ~ first ~ '-' ~ n -%}
    {%- endif -%}
    {%- do store_result('main', response=line) -%}

    {%- do apply_grants(projection, config.get('grants'), should_revoke=should_revoke(existing, full_refresh_mode=true)) -%}
    {%- do persist_docs(projection, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [projection]}) }}
{% endmaterialization %}
