{% macro explain_key(model=none, key=none, stage=none) %}
    {% do return(model) if not collapsing._knows_models() %}
    {% if model is none or model is string %}
        {% set node = collapsing._asked_model('explain_key', model, ['ledger']) %}
        {% set ledger = collapsing._built_relation(node) %}
        {% set life = collapsing._rows_of('select * from ' ~ collapsing._life_of_key(ledger, key, stage) ~ ' order by place') %}
        {% do collapsing._print_life(node, key, life, collapsing._rows_of(
            'select batch, undoes from ' ~ collapsing._history_of(ledger) ~ ' where undoes is not null'
        )) %}
    {% else %}
        {{ return(collapsing._life_of_key(model, key, stage)) }}
    {% endif %}
{% endmacro %}


{# Returns a subquery of the life of a key in a ledger: one row for each thing that happened to it, numbered in `place`. #}
{% macro _life_of_key(ledger, key, stage) %}
    {% set node = collapsing._asked_ledger('explain_key', ledger) %}
    {% do collapsing._check_has_stage(node, 'explain_key') %}
    {% set settings = collapsing._ledger_settings(node) %}
    {% set stage = collapsing._stage_to_explain(node, stage) %}
    {% set columns = collapsing._stage_columns('select * from ' ~ stage, settings) %}
    {% set is_key = collapsing._sql_is_given_key(node.name, settings, columns, key) %}
    {% set decided = collapsing.decisions(ledger, '(select * from ' ~ stage ~ ' where ' ~ is_key ~ ')') %}
    {% set rows = none if not collapsing._batches_of(ledger)
        else '(select * from ' ~ collapsing._visible_rows(ledger) ~ ' where ' ~ is_key ~ ')' %}
    {{ return(collapsing._life_in_order(decided, rows, settings, columns, collapsing._types_of(ledger) | list)) }}
{% endmacro %}


{# Returns the stage of a ledger: the relation or name that was given, by default the only relation that the model reads. #}
{% macro _stage_to_explain(node, stage) %}
    {% if stage is not none and stage is not string %}
        {% do collapsing._check_relation('explain_key', stage) %}
        {% do collapsing._check_not_ephemeral('explain_key', node, stage) %}
        {{ return(stage) }}
    {% endif %}
    {% set nodes = [collapsing._asked_stage('explain_key', stage)] if stage is string else collapsing._stages_of(node) %}
    {% if nodes | length != 1 %}
        {% set names = [] %}
        {% for one in nodes %}
            {% do names.append(collapsing._name_to_ask(one)) %}
        {% endfor %}
        {{ collapsing._raise(
            node.name, "explain_key needs 'stage' where a model reads more than its stage: ref() or the name of one of " ~ names | join(', ')
        ) }}
    {% endif %}
    {{ return(collapsing._relation_of_stage('explain_key', nodes[0])) }}
{% endmacro %}


{# Returns a key's values in the order of the setting `key`: from one value, or of several columns from a list or a mapping. #}
{% macro _values_of_key(model_name, columns, key) %}
    {% set values, by_name = [], {} %}
    {% if key is mapping %}
        {% for name, value in key.items() %}
            {% do by_name.update({name | lower: value}) %}
        {% endfor %}
        {% for name in columns if name | lower in by_name and by_name | length == columns | length %}
            {% do values.append(by_name[name | lower]) %}
        {% endfor %}
    {% else %}
        {% do values.extend(key if key is iterable and key is not string else [key]) %}
    {% endif %}
    {{ collapsing._raise(
        model_name, 'explain_key needs a value for each column of the key (' ~ columns | join(', ') ~ '): where there are several, a list in'
        ~ ' this order or a mapping; given: ' ~ (key if key is not none else 'nothing')
    ) if values | length != columns | length or none in values or values | reject('string') | select('iterable') | list }}
    {{ return(values) }}
{% endmacro %}


{#
    Returns SQL that is true for the rows of a key that a caller has given. Its values are data: each is quoted, and compared as the type of
    its column; text that is no such value is an error, for outside of ANSI mode it would be NULL, or another value, without a word.
#}
{% macro _sql_is_given_key(model_name, settings, columns, key) %}
    {% set conditions, checks, wrongs, casts, shard = [], [], [], [], collapsing._shard_of_run() %}
    {% for value in collapsing._values_of_key(model_name, settings.key, key) %}
        {% set name = settings.key[loop.index0] %}
        {% set dtype = collapsing._ddl_type((columns | selectattr('name', 'equalto', name) | first).dtype) %}
        {% do wrongs.append("'" ~ value ~ "' is not a valid value of '" ~ name ~ "', which is " ~ dtype) %}
        {% do collapsing._raise(model_name, "explain_key: it cannot take a value of '" ~ name ~ "', which is " ~ dtype)
            if '<' in dtype %}
        {% set typed, is_no_value = collapsing._value_of_type(collapsing._text_literal(value | string), dtype) %}
        {% do checks.append(is_no_value) %}
        {% do casts.append('cast(' ~ typed ~ ' as ' ~ dtype ~ ')') %}
        {% do conditions.append(adapter.quote(name) ~ ' = ' ~ typed) %}
    {% endfor %}
    {% for is_wrong in collapsing._rows_of('select ' ~ checks | join(', '))[0] %}
        {% do collapsing._raise(model_name, 'explain_key: ' ~ wrongs[loop.index0]) if is_wrong %}
    {% endfor %}
    {% if settings.shards and shard is not none %}
        {% set own = collapsing._rows_of('select ' ~ collapsing._sql_of_shard(casts | join(', '), settings))[0][0] %}
        {% do collapsing._raise(
            model_name, 'explain_key: the key is in shard ' ~ own ~ ", not in shard " ~ shard ~ ": ask with --vars '{collapsing_shard: " ~ own ~ "}'"
        ) if own != shard %}
    {% endif %}
    {{ return(conditions | join(' and ')) }}
{% endmacro %}


{#
    Returns a subquery of what happened to a key, a row each: `place` (1, 2, ...), `batch`, `step`, `what`, `row`. In a batch first what was
    staged, then what was appended, then what the key was afterwards.

    decided   subquery of its staged rows with their decisions
    rows      subquery of the visible rows that the ledger has of it; none where there is no ledger yet
    columns   of the stage, [{name, dtype}]
    stored    names of the ledger's columns
#}
{% macro _life_in_order(decided, rows, settings, columns, stored) -%}
{%- set staged = collapsing._row_as_json(columns | map(attribute='name')) -%}
{%- set arrival = ([settings.block] if settings.block else []) + settings.order_by + settings.version -%}
{%- set order = (collapsing._column_list(arrival) ~ ', ' if arrival else '') ~ staged -%}
(
with

events as (
    select
        ledger_batch as batch,
        1 as ledger_step,
        row_number() over (partition by ledger_batch order by {{ order }}) as ledger_nth,
        'staged' as step,
        decision as what,
        {{ staged }} as ledger_row
    from {{ decided }}
),
{%- if rows %}

{{ collapsing._stored_and_states(rows, settings, stored) }},
{%- endif %}

told as (
    select * from events
    {%- if rows %}
    union all
    select * from appended
    union all
    select * from states
    {%- endif %}
)

select
    row_number() over (order by batch {{ 'nulls last' if settings.block else 'nulls first' }}, ledger_step, ledger_nth) as place,
    batch,
    step,
    what,
    ledger_row as {{ adapter.quote('row') }}
from told
order by place
)
{%- endmacro %}


{#
    Returns CTEs: `appended`, the rows that a ledger has of a key; `states`, what final showed of it after each batch. Each batch has a copy
    of the rows up to it, so that the engine's own rule gives all states at once, as of a key that the batch belongs to.
#}
{% macro _stored_and_states(rows, settings, columns) -%}
{%- set engine, by_batch = collapsing._engine(settings), dict(settings, key=settings.key + ['ledger_after']) -%}
{%- set state = collapsing._row_as_json(columns | reject('in', collapsing._system_columns()) | list, of='live') -%}
stored as (
    select * from {{ rows }}
),

appended as (
    select
        ledger_batch as batch,
        2 as ledger_step,
        row_number() over (
            partition by ledger_batch order by {{ 'ledger_place' if engine.keeps_every_row else 'ledger_sign' }}
        ) as ledger_nth,
        'appended' as step,
        case ledger_sign when 1 then 'state' when -1 then 'cancel' else 'tombstone' end as what,
        {{ collapsing._row_as_json(columns | reject('equalto', 'ledger_batch')) }} as ledger_row
    from stored
),

-- each batch that took an event of the key or appended a row of it, with all rows up to it
up_to_each as (
    select stored.*, batches.ledger_after
    from stored
    inner join (
        select batch as ledger_after from events
        union
        select ledger_batch as ledger_after from stored
    ) as batches on stored.ledger_batch <= batches.ledger_after
),

live as (
    select * from {{ engine.final('up_to_each', by_batch) if engine.keeps_every_row
        else '(' ~ collapsing._uncancelled_rows('up_to_each', 'up_to_each', by_batch) ~ ')' }}
),

states as (
    select
        batches.ledger_after as batch,
        3 as ledger_step,
        row_number() over (partition by batches.ledger_after order by {{ state }}) as ledger_nth,
        'state' as step,
        case when live.ledger_after is null then 'deleted' {{ 'when ' ~ collapsing._as_number(settings.sign) ~ " = -1 then 'cancel'"
            if engine.shows_cancel_rows }} else 'live' end as what,
        if(live.ledger_after is null, null, {{ state }}) as ledger_row
    from (select distinct ledger_after from up_to_each) as batches
    left join live on batches.ledger_after = live.ledger_after
)
{%- endmacro %}


{# Prints the life of a key, a line for each thing; `undos` are pairs of an undo and the batch that it takes back. #}
{% macro _print_life(node, key, rows, undos) %}
    {% set undoes = dict(undos | map('list')) %}
    {% set nothing = '' if rows else ': no row of it is staged, and none was appended' %}
    {% do print(node.name ~ ', key ' ~ collapsing._shown(key) ~ nothing) %}
    {% do print('  %-6s %-9s %-14s %s' | format('batch', 'step', 'what', 'row')) if rows %}
    {% for row in rows %}
        {% set what = row[3] ~ (', undo of ' ~ undoes[row[1]] if row[1] in undoes and row[2] == 'appended' else '') %}
        {% do print('  %-6s %-9s %-14s %s' | format(row[1] if row[1] is not none else '-', row[2], what, row[4] or '')) %}
    {% endfor %}
{% endmacro %}


{#
    Returns (SQL for text as a value of a type, SQL that is true where it is none: a decimal is not rounded, and of a date no part is
    left out, for which Spark would take the first day or today). Binary is given as base64, as the life of a key shows it.
#}
{% macro _value_of_type(text, dtype) %}
    {% set value = text if collapsing._is_text_type(dtype) else 'try_to_binary(' ~ text ~ ", 'base64')" if dtype == 'binary'
        else 'try_cast(' ~ text ~ ' as ' ~ dtype ~ ')' %}
    {% set scale = collapsing._scale_of(dtype) %}
    {% set is_rounded = ' or length(regexp_extract(trim(' ~ text ~ "), '[.]([0-9]*?)0*$', 1)) > " ~ scale
        ~ ' or ' ~ text ~ " rlike '[eE]' and try_cast(" ~ text ~ ' as double) <> cast(' ~ value ~ ' as double)' if scale is not none %}
    {% set is_partial = ' or not ' ~ text ~ " rlike '^\\\\s*[+-]?[0-9]{4,}-[0-9]{1,2}-[0-9]{1,2}'"
        if dtype.startswith(('date', 'timestamp')) %}
    {{ return((value, value ~ ' is null' ~ is_rounded ~ is_partial)) }}
{% endmacro %}
