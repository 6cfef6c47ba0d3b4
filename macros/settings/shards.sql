{#
    The key space of a ledger may be split into shards, each a ledger of its own with tables of its own, which several runs of dbt
    write at the same time. The variable `collapsing_shard` says which one a run is about; a run without it reads all.
#}

{# Returns the number of the shard that this run is about, or none. #}
{% macro _shard_of_run() %}
    {% set shard = var('collapsing_shard', none) %}
    {{ exceptions.raise_compiler_error(
        'collapsing: the variable collapsing_shard must be a whole number from 0; given: ' ~ collapsing._shown(shard)
    ) if shard is not none and (shard is not integer or shard < 0) }}
    {{ return(shard) }}
{% endmacro %}


{# Returns how many shards a ledger has, or the ledger that a projection follows; none where its key space is not split. #}
{% macro _shards_of(node) %}
    {% set ledger = collapsing._ledger_of(node) %}
    {{ return(ledger.config.meta.collapsing.get('shards') if collapsing._kind_if_any(ledger) == 'ledger' else none) }}
{% endmacro %}


{# Returns the names of a model's tables in the shards, in a run that is not about one shard; otherwise none. #}
{% macro _shard_names(node) %}
    {% set reads_all = collapsing._shard_of_run() is none and collapsing._shards_of(node) %}
    {{ return(collapsing._names_in_all_shards(node) if reads_all else []) }}
{% endmacro %}


{# Returns the names of a model's tables in all shards, whichever of them this run is about; its own where it has none. #}
{% macro _names_in_all_shards(node) %}
    {% set name, names = modules.re.sub('__shard_\\d+$', '', node.alias), [] %}
    {% for shard in range(collapsing._shards_of(node) or 0) %}
        {% do names.append(name ~ '__shard_' ~ shard) %}
    {% endfor %}
    {{ return(names or [node.alias]) }}
{% endmacro %}


{# Returns the tables that hold the rows of a ledger or projection, `node` in the graph: itself, or those of all shards. #}
{% macro _tables_of(relation, node) %}
    {% set tables = [] %}
    {% for name in collapsing._shard_names(node) %}
        {% do tables.append(api.Relation.create(database=relation.database, schema=relation.schema, identifier=name)) %}
    {% endfor %}
    {{ return(tables or [relation]) }}
{% endmacro %}


{# Returns SQL for the number of a key's shard; `values` is SQL of its columns' types, with commas between. #}
{% macro _sql_of_shard(values, settings) %}
    {{ return('pmod(xxhash64(' ~ values ~ '), ' ~ settings.shards ~ ')') }}
{% endmacro %}


{# Returns what can stand behind `from` for the stage's rows of the shard that this run is about: the stage itself without one. #}
{% macro _rows_of_shard(stage, settings) %}
    {% set shard = collapsing._shard_of_run() %}
    {% set is_in = collapsing._sql_of_shard(collapsing._column_list(settings.key), settings) ~ ' = ' ~ shard %}
    {{ return('(select * from ' ~ stage ~ ' where ' ~ is_in ~ ')' if settings.shards and shard is not none else stage) }}
{% endmacro %}


{# Raises an error if something needs one table of a model that has a table per shard, and the run does not say which of them. #}
{% macro _check_one_shard(node) %}
    {% set shards, shard = collapsing._shards_of(node), collapsing._shard_of_run() %}
    {{ collapsing._raise(
        node.name, 'its keys are split into ' ~ shards ~ " shards, each with tables of its own. Say which: --vars '{collapsing_shard: "
        ~ "0}', and so on to " ~ (shards - 1)
    ) if shards and shard is none }}
    {{ collapsing._raise(
        node.name, 'the variable collapsing_shard must be from 0 to ' ~ (shards - 1) ~ ', because its keys are split into ' ~ shards
        ~ ' shards; given: ' ~ shard
    ) if shards and shard >= shards }}
{% endmacro %}


{#
    Raises an error if a model would get the rows of the shard that this run is about, and its own table is that of all shards: the run of
    another shard would overwrite them, or go on after the batches of this one.
#}
{% macro _check_reader_of_shards(asked_by, node) %}
    {% set shard = collapsing._shard_of_run() %}
    {{ collapsing._raise(
        model.name, asked_by ~ " of '" ~ node.name ~ "' would give it the rows of shard " ~ shard ~ ' only. '
        ~ ('Build it in a run without the variable collapsing_shard' if asked_by in ['final', 'histories']
            else 'It is ephemeral: make it a view with a name for each shard' if model.config.materialized == 'ephemeral'
            else "Give it a table for each shard: config(alias=collapsing.shard_name('" ~ this.identifier ~ "'))")
    ) if collapsing._shards_of(node) and shard is not none and flags.WHICH in ['run', 'build', 'snapshot']
        and model.resource_type in ['model', 'snapshot']
        and (not this.identifier.endswith('__shard_' ~ shard) or model.config.materialized == 'ephemeral') }}
{% endmacro %}


{#
    Raises an error where the tables of a ledger or projection, as _tables_of returns them, cannot be read by its settings: a projection that was
    built from others; of shards one that is missing, and one that does not go together with the others. One of another number of shards,
    or of keys of another type, which have other hashes, may have keys that others have too. Returns what _describe returns of them; of
    one ledger, whose settings _final_of_table compares, nothing.
#}
{% macro _check_tables(node, tables, settings) %}
    {% set shards, is_split, found, first, types = collapsing._shards_of(node), collapsing._shard_names(node), [], {}, {} %}
    {% set is_projection = collapsing._is_projection(node) %}
    {% set property = 'collapsing.projection' if is_projection else 'collapsing.rules' %}
    {% for own in tables if is_split or is_projection %}
        {% set table = load_relation(own) %}
        {{ collapsing._raise(
            node.name, 'its table ' ~ own ~ ' is not there. Run it for each shard first'
        ) if is_split and table is none and collapsing._may_write() }}
        {% set described = collapsing._describe_if_any(own) %}
        {% set built = collapsing._property_in(described, property) or {} %}
        {{ collapsing._raise(
            node.name, 'the keys of ' ~ table ~ ' were split into ' ~ built.shards ~ " shards, and the setting 'shards' is " ~ shards
            ~ ': a key may be in two of them. Rebuild that shard with --full-refresh first'
        ) if 'shards' in built and built.shards != shards }}
        {% do collapsing._check_built_as_set(node, table, built) if is_projection %}
        {% set unlike, session = [], built.get('session') %}
        {#- values of one type might not fit another, or lose digits in it; a shard that lacks a column has NULL there -#}
        {% for column in described.columns if types.setdefault(column.name | lower, column.dtype) != column.dtype %}
            {% do unlike.append(column.name) %}
        {% endfor %}
        {% set is_of_other_session = table is not none and first.setdefault('session', session) != session %}
        {{ collapsing._raise(
            node.name, 'its shards do not go together: ' ~ table ~ (
                ' has columns of other types (' ~ unlike | join(', ') ~ ')' if unlike else ' was built under another time zone or ANSI mode'
            ) ~ ' than ' ~ tables[0] ~ '. Run every shard with the same session settings; if the type of a column has changed, with --full-refresh'
        ) if unlike or is_of_other_session }}
        {% do found.append(described) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# Raises an error where a run would write a model into a table that is not its shard's. #}
{% macro _check_shard() %}
    {% set shards, shard = collapsing._shards_of(model), collapsing._shard_of_run() %}
    {% do collapsing._check_one_shard(model) %}
    {% do return(none) if shard is none %}
    {{ collapsing._raise(
        model.name, "its keys are not split into shards (setting 'shards'), and this run writes shard " ~ shard
        ~ ': leave it to a run without the variable collapsing_shard'
    ) if not shards }}
    {{ collapsing._raise(
        model.name, "every shard would write the table '" ~ this.identifier ~ "'. Name it for its shard: config(alias="
        ~ "collapsing.shard_name('" ~ this.identifier ~ "'))"
    ) if not this.identifier.endswith('__shard_' ~ shard) }}
{% endmacro %}
