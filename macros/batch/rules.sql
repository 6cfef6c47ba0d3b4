{#
    Checks that this run may go on with a ledger's table: rows that were folded by other settings, or in other columns, do not go
    together with new ones. Returns what _prepare_table does once the batch is planned, so that bad rows change nothing:
        stored    names of the table's columns, in its order, before columns are added
        wanted    the columns of the fold, [{name, dtype}]
        added     those that the table is to be given
        created   whether it is to be created: none is there, or one of other columns or rules that a full refresh finds or that has no batches yet
        rebuild   whether a full refresh keeps the table: what is folded anew becomes its base in one commit, and readers never lose it
        rules     as _rules_of returns them
        build     tells this table from others of its name, before it and in other schemas: the command that creates it; none where nothing tells
#}
{% macro _plan_table(ledger, settings, columns, batches) %}
    {% set existing, wanted = load_relation(ledger), collapsing._ledger_columns(columns, settings, ledger) %}
    {% set rules = collapsing._rules_of(settings, columns) %}
    {% do collapsing._check_contract(wanted) %}
    {% set anew = {
        'stored': wanted | map(attribute='name') | list, 'wanted': wanted, 'added': [], 'created': true, 'rebuild': false, 'build': invocation_id,
        'rules': rules
    } %}
    {% if existing is none or existing.is_view %}{{ return(anew) }}{% endif %}
    {% set described = collapsing._describe(ledger) %}
    {% set changed_rules = collapsing._changed_rules(described, settings, columns) %}
    {% set is_ours = collapsing._is_appendable(ledger, described) %}
    {% if not is_ours %}
        {% do changed_rules.append('the table is not one that this package has created, in the format of the model') %}
    {% endif %}
    {% set changes = collapsing._column_changes(described, wanted, columns) %}
    {#- a table of the package without batches has no rows that were folded by other rules -#}
    {% set may_change = should_full_refresh() or (is_ours and not batches) %}
    {% if not may_change %}{% do collapsing._check_unchanged(changed_rules, changes, settings) %}{% endif %}
    {% if changed_rules or changes.added or changes.other %}{% do collapsing._warn_of_views() %}{% endif %}
    {% if changed_rules or (may_change and (changes.added or changes.other)) %}{{ return(anew) }}{% endif %}
    {{ return(dict(
        anew, stored=described.columns | map(attribute='name') | list, added=changes.added, created=false,
        rebuild=should_full_refresh() and batches is not none, build=collapsing._property_in(described, 'collapsing.build')
    )) }}
{% endmacro %}


{# Creates a ledger's table, or gives it new columns, as _plan_table has found; returns the names of its columns, in its order. #}
{% macro _prepare_table(ledger, settings, table) %}
    {% if table.added %}
        {% do collapsing._add_columns(ledger, table.added) %}
        {#- where they stand is the format's: on parquet before ledger_batch, which is the partition -#}
        {{ return(collapsing._describe(ledger).columns | map(attribute='name') | list) }}
    {% elif table.created %}
        {% do collapsing._check_absent(settings.model, ledger) %}
        {% set rejects = collapsing._beside(ledger, 'rejects') %}
        {% do collapsing._check_own(rejects, 'ledger_reason') %}
        {% if load_relation(rejects) is not none %}
            {% do collapsing._say(settings.model, 'the rejected rows of the previous table are dropped, with ' ~ rejects) %}
        {% endif %}
        {% do collapsing._drop_beside(rejects, ledger) %}
        {% do collapsing._recreate(ledger, table.wanted, {
            'collapsing.rules': collapsing._as_property(table.rules), 'collapsing.build': collapsing._as_property(table.build)
        }) %}
    {% endif %}
    {{ return(table.stored) }}
{% endmacro %}


{#
    Returns {setting: value} of the rules that a ledger's rows are folded by; its table's property `collapsing.rules` has them. The form of
    the tokens, by whose text folded blocks are known, is one of them where the stage's `columns` are known.
#}
{% macro _rules_of(settings, columns=none) %}
    {% set rules = {
        'engine': settings.engine,
        'input': settings.input,
        'deletes': settings.deletes,
        'key': settings.key | map('lower') | list,
        'version': settings.version | map('lower') | list,
        'partition_by': settings.partition_by | map('lower') | list
    } %}
    {% if columns is none %}{{ return(rules) }}{% endif %}
    {% set block = settings.block | lower ~ ' as ' ~ collapsing._token_form(settings, columns) if settings.block else 'none' %}
    {{ return(dict(rules, block=block)) }}
{% endmacro %}


{# Returns, in words, the rules of a table that are not those of the settings; arguments as in _rules_of. #}
{% macro _changed_rules(described, settings, columns=none) %}
    {% set stored, changes = collapsing._property_in(described, 'collapsing.rules') or {}, [] %}
    {% for setting, value in collapsing._rules_of(settings, columns).items() if setting in stored and stored[setting] != value %}
        {% do changes.append("'" ~ setting ~ "' was " ~ tojson(stored[setting]) ~ ' and is ' ~ tojson(value)) %}
    {% endfor %}
    {{ return(changes) }}
{% endmacro %}


{# Raises an error where rules have changed, as _changed_rules returns them. #}
{% macro _check_no_changed_rules(model_name, changed_rules) %}
    {% if changed_rules %}
        {% do collapsing._raise(
            model_name, 'its rows were folded by other settings: ' ~ changed_rules | join('; ')
            ~ '. Restore the old settings, or rebuild the ledger with --full-refresh if the stage still holds every block'
        ) %}
    {% endif %}
{% endmacro %}


{#
    Raises an error where what is built from ledgers, and rebuilt as it likes, has the name of a ledger's table: only that one's stage could
    give its rows again, and may not have them any more. `described` as _describe returns it, or none.
#}
{% macro _check_no_ledger(relation, described) %}
    {% if described and collapsing._property_in(described, 'collapsing.rules') %}
        {% do collapsing._raise(
            model.name, 'the table ' ~ relation ~ ' is that of a ledger, whose rows only its stage could give again: drop it first, or give the'
            ~ ' model another name'
        ) %}
    {% endif %}
{% endmacro %}


{# Raises an error where a command reads rows of a ledger that were folded by other rules than its model has now. #}
{% macro _check_read_by_its_rules(described, settings) %}
    {#- the SQL that these two show may be that of the ledger's next run -#}
    {% do collapsing._check_no_changed_rules(settings.model, collapsing._changed_rules(described, settings))
        if flags.WHICH not in ['compile', 'generate'] %}
{% endmacro %}


{#
    Returns how the columns that are wanted differ from a table's: {added: [{name, dtype}], other: [in words]}; `staged` are those of the
    stage. Spark does not distinguish upper and lower case in names.
#}
{% macro _column_changes(described, wanted, staged) %}
    {% set types, changes, staged = {}, {'added': [], 'other': []}, staged | map(attribute='name') | map('lower') | list %}
    {% set stored = described.columns | map(attribute='name') | map('lower') | list %}
    {% for column in wanted %}
        {% do types.update({column.name | lower: column.dtype}) %}
        {% do changes.added.append(column) if column.name | lower not in stored %}
    {% endfor %}
    {% for column in described.columns %}
        {% set dtype = types.get(column.name | lower) %}
        {% if dtype is none and column.name | lower in staged %}
            {% do changes.other.append("'" ~ column.name ~ "' would not be kept any more, now that a setting names it") %}
        {% elif dtype is none %}
            {% do changes.other.append("'" ~ column.name ~ "' is gone from the stage") %}
        {% elif dtype != column.dtype %}
            {% do changes.other.append("'" ~ column.name ~ "' was " ~ column.dtype ~ ' and is ' ~ dtype) %}
        {% endif %}
    {% endfor %}
    {{ return(changes) }}
{% endmacro %}


{# Returns whether the table of a ledger or projection lacks columns that its stage or its settings have. #}
{% macro _awaits_columns(relation) %}
    {% set node = collapsing._model_of(relation) %}
    {% if collapsing._is_projection(node) %}
        {% set settings = collapsing._projection_settings(node) %}
        {% set names = settings.group_by | list %}
        {% for measure in collapsing._measures_with_partials(settings.measures) %}
            {% do names.append('ledger_count_' ~ measure.name) %}
        {% endfor %}
    {% else %}
        {% set settings, stage = collapsing._ledger_settings(node), collapsing._only_stage_of(node) %}
        {% set staged = [] if stage is none else collapsing._stage_columns('select * from ' ~ stage, settings) %}
        {% set names = collapsing._kept_columns(staged, settings) | map(attribute='name') | list %}
    {% endif %}
    {{ return(names | map('lower') | reject('in', collapsing._types_of(relation) | map('lower') | list) | list | length > 0) }}
{% endmacro %}


{# Raises an error where a run would mix rows of two sets of rules or columns, or append again what the ledger keeps. #}
{% macro _check_unchanged(changed_rules, changes, settings) %}
    {% do collapsing._check_no_changed_rules(model.name, changed_rules) %}
    {% set found, may_add = [], config.get('on_schema_change') in ['append_new_columns', 'sync_all_columns'] %}
    {% for column in changes.added if not may_add %}
        {% do found.append("'" ~ column.name ~ "' is not in the ledger (on_schema_change='append_new_columns' would add it)") %}
    {% endfor %}
    {{ collapsing._raise(
        model.name, "what is kept of the stage no longer matches the ledger's columns: " ~ (found + changes.other) | join('; ')
        ~ ". Restore the stage's old columns or the old settings, or rebuild the ledger with --full-refresh if the stage still holds every block"
    ) if found or changes.other }}
{% endmacro %}


{#
    Raises an error in a full refresh that would lose rows: the ledger has folded blocks that its stage does not have any more. It says so
    where the model's own `full_refresh: false` keeps the ledger as it is.
#}
{% macro _check_full_refresh(query, ledger, settings, columns, batches) %}
    {% if not batches or not should_full_refresh() %}
        {% do collapsing._say(model.name, 'full_refresh: false keeps the ledger: this run adds what is new, as any run does')
            if batches and flags.FULL_REFRESH %}
        {{ return(none) }}
    {% endif %}
    {{ collapsing._raise(
        model.name, '--empty and a full refresh do not go together: no run sees a row of its stage under --empty, and the ledger would'
        ~ ' be left without rows. Leave out one of the two'
    ) if flags.EMPTY }}
    {% set beside = load_relation(collapsing._beside(ledger, 'manifest')) %}
    {% set undone = collapsing._manifest_of(ledger, batches).undone | map('last') | list %}
    {% set folded = collapsing._sql_is_folded(batches, besides=undone) %}
    {% if not settings.block and beside is not none
        and collapsing._rows_of('select 1 from ' ~ beside ~ ' where ' ~ folded ~ ' limit 1') %}
        {{ collapsing._raise(
            model.name, "it has folded blocks, and without the setting 'block' a full refresh cannot tell whether the stage still has them all:"
            ~ ' to build the ledger from what is left, drop the table ' ~ ledger ~ ' first'
        ) }}
    {% elif settings.block and beside is not none %}
        {% set row = collapsing._rows_of(
            "select count(*), concat_ws(', ', slice(sort_array(collect_list(block)), 1, 3)) from (select block from " ~ beside
            ~ ' where ' ~ folded ~ ' except select ' ~ collapsing._token(settings, columns) ~ ' from (\n' ~ query ~ '\n))'
        )[0] %}
        {{ collapsing._raise(
            model.name, ('--full-refresh' if flags.FULL_REFRESH else 'full_refresh: true') ~ ' would lose '
            ~ collapsing._with_noun(row[0], 'block') ~ ' folded before, of which the stage ' ~ collapsing._stage_name(query)
            ~ " has no row under the same token, for example: " ~ row[1]
            ~ '. Keep the ledger by the config full_refresh: false; or, to build it from what is left, drop the table ' ~ ledger ~ ' first'
        ) if row[0] }}
    {% endif %}
{% endmacro %}
