{#
    Returns what a run does with a ledger's table, of which nothing has been changed yet; rows that were folded by other rules, or in other columns,
    do not go together with new ones.
        run           it appends a batch
        full_refresh  it commits what it folds anew in one act, and readers never lose the table
        fill          it makes the first commit of a table whose creator died
        create        it creates the table first: none is there, or one that a full refresh or its first run replaces
    `wanted` are the columns of the fold, `columns` those of the stage.
#}
{% macro _act_of_run(table, notes, settings, columns, wanted) %}
    {% do collapsing._check_contract(wanted) %}
    {% if table is none %}{{ return('create') }}{% endif %}
    {% set is_refresh = should_full_refresh() %}
    {% if not is_refresh %}{% do collapsing._check_ours(model.name, table) %}{% endif %}
    {% set changes = collapsing._column_changes(table, wanted, columns) %}
    {% if is_refresh or table.compacted is none %}
        {% if table.identity is none or changes.added or changes.other %}
            {% do collapsing._warn_of_views() %}
            {{ return('create') }}
        {% endif %}
        {{ return('fill' if table.compacted is none else 'full_refresh') }}
    {% endif %}
    {% do collapsing._check_rules(settings, notes, columns) %}
    {% do collapsing._check_columns_unchanged(changes) %}
    {% if changes.added %}{% do collapsing._warn_of_views() %}{% endif %}
    {{ return('run') }}
{% endmacro %}


{#
    Returns {setting: value} of the rules that a ledger's rows are folded by. The form of the tokens, by whose text folded blocks are known, is one of
    them where the stage's `columns` are known.
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


{# Raises an error where the newest commit was folded by other rules than the settings; `notes` as _notes_of returns them. #}
{% macro _check_rules(settings, notes, columns=none) %}
    {% set changes = [] %}
    {% for setting, value in collapsing._rules_of(settings, columns).items() %}
        {% if notes.rules and notes.rules[setting] != value %}
            {% do changes.append("'" ~ setting ~ "' was " ~ tojson(notes.rules[setting]) ~ ' and is ' ~ tojson(value)) %}
        {% endif %}
    {% endfor %}
    {% if changes %}
        {% do collapsing._raise(
            settings.model, 'its rows were folded by other settings: ' ~ changes | join('; ')
            ~ '. Restore the old settings, or rebuild the ledger with --full-refresh if the stage still holds every block'
        ) %}
    {% endif %}
{% endmacro %}


{#
    Returns how the columns that are wanted differ from a table's: {added: [{name, dtype}], other: [in words]}; `staged` are those of the
    stage. Spark does not distinguish upper and lower case in names.
#}
{% macro _column_changes(table, wanted, staged) %}
    {% set types, changes, staged = {}, {'added': [], 'other': []}, staged | map(attribute='name') | map('lower') | list %}
    {% set stored = table.columns | map(attribute='name') | map('lower') | list %}
    {% for column in wanted %}
        {% do types.update({column.name | lower: column.dtype}) %}
        {% do changes.added.append(column) if column.name | lower not in stored %}
    {% endfor %}
    {% set format = collapsing._file_format(this) %}
    {% do changes.other.append('its file_format was ' ~ table.format ~ ' and is ' ~ format) if table.format != format %}
    {#- the types of another format may be others by themselves -#}
    {% for column in table.columns if table.format == format %}
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


{# Raises an error where a run would mix rows of other columns, or append again what the ledger keeps. #}
{% macro _check_columns_unchanged(changes) %}
    {% set found, may_add = [], config.get('on_schema_change') in ['append_new_columns', 'sync_all_columns'] %}
    {% for column in changes.added if not may_add %}
        {% do found.append("'" ~ column.name ~ "' is not in the ledger (on_schema_change='append_new_columns' would add it)") %}
    {% endfor %}
    {% if found or changes.other %}
        {% do collapsing._raise(
            model.name, "the ledger's table no longer matches its stage and settings: " ~ (found + changes.other) | join('; ')
            ~ ". Restore the stage's old columns or the old settings, or rebuild the ledger with --full-refresh if the stage still holds every block"
        ) %}
    {% endif %}
{% endmacro %}


{#
    Raises an error in a full refresh that would lose rows: the ledger has folded blocks that its stage does not have any more. It says so
    where the model's own `full_refresh: false` keeps the ledger as it is.
#}
{% macro _check_full_refresh(query, table, notes, settings, columns) %}
    {% if not table or table.compacted is none %}{{ return(none) }}{% endif %}
    {% if not should_full_refresh() %}
        {% if flags.FULL_REFRESH %}
            {% do collapsing._say(model.name, 'full_refresh: false keeps the ledger, and this run adds what is new') %}
        {% endif %}
        {{ return(none) }}
    {% endif %}
    {% if flags.EMPTY %}
        {% do collapsing._raise(
            model.name, '--empty and a full refresh do not go together: no run sees a row of its stage under --empty, and the ledger would'
            ~ ' be left without rows. Leave out one of the two'
        ) %}
    {% elif notes.folded and not settings.block %}
        {% do collapsing._raise(
            model.name, "it has folded blocks, and without the setting 'block' a full refresh cannot tell whether the stage still has them all:"
            ~ ' to build the ledger from what is left, drop the table ' ~ table.relation ~ ' first'
        ) %}
    {% elif notes.folded %}
        {% set row = collapsing._rows_of(
            "select count(*), concat_ws(', ', slice(sort_array(collect_list(block)), 1, 3)) from (select ledger_block as block from "
            ~ table.relation ~ " where ledger_note is not null and get_json_object(ledger_note, '$.kind') = 'block' and "
            ~ collapsing._sql_is_visible(table) ~ ' except select ' ~ collapsing._token(settings, columns) ~ ' from (\n' ~ query ~ '\n))'
        )[0] %}
        {% if row[0] %}
            {% do collapsing._raise(
                model.name, ('--full-refresh' if flags.FULL_REFRESH else 'full_refresh: true') ~ ' would lose '
                ~ collapsing._with_noun(row[0], 'block') ~ ' folded before, of which the stage ' ~ collapsing._stage_name(query)
                ~ " has no row under the same token, for example: " ~ row[1]
                ~ '. Keep the ledger by the config full_refresh: false; or, to build it from what is left, drop the table '
                ~ table.relation ~ ' first'
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}
