{#
    A base is written in one commit that adds it, under the number -<upto>, beside the batches that it stands for; _counted_rows
    passes those over from then on. On Delta and Iceberg the same commit removes them. On parquet they are dropped one by one, which
    may be cut off and gone on with at any time: those of a ledger at once, for sums over its rows would count them twice; those of a
    projection when its next base is written, when no query can be at work any more that has not seen this one.
#}


{#
    Writes a base of the batches up to `upto` and drops what it stands for; says what there was before and what is left. `sql`
    gives the table's columns in their order.
#}
{% macro _write_base(node, relation, held, upto, sql) %}
    {% set before = collapsing._size_of(relation, held) %}
    {% do collapsing._say(node.name, 'folding the batches up to ' ~ upto ~ ' into a base') %}
    {% if collapsing._commits_atomically(relation) %}
        {% set is_empty = not collapsing._rows_of('select 1 from (' ~ sql ~ ') limit 1') %}
        {% call statement('write_base') %}
            insert into {{ relation }} replace where ledger_batch <= {{ upto }}
            {{ collapsing._row_of_nothing(relation, -upto) if is_empty else sql }}
        {% endcall %}
        {% do collapsing._drop_merged_notes(relation, upto) %}
    {% else %}
        {% do collapsing._begin_base(relation, held, upto) %}
        {% do collapsing._write_partitions(relation, sql) %}
        {% if -upto not in collapsing._partitions_of(relation) %}
            {% do collapsing._write_partitions(relation, collapsing._row_of_nothing(relation, -upto)) %}
        {% endif %}
        {% if collapsing._kind_if_any(node) == 'ledger' %}
            {% do collapsing._drop_covered(relation, collapsing._batches_of(relation)) %}
        {% endif %}
    {% endif %}
    {% set after = collapsing._size_of(relation, collapsing._batches_of(relation)) %}
    {% do collapsing._say(node.name, 'rows: ' ~ before.rows ~ ', now ' ~ after.rows) %}
    {% do collapsing._say(node.name, 'bytes: ' ~ before.bytes ~ ', now ' ~ after.bytes) %}
{% endmacro %}


{# Gives {rows, bytes} of the batches that a table holds, without those that its base stands for; bytes are of data files. #}
{% macro _size_of(relation, held) %}
    {% set is_held = ' where ' ~ collapsing._is_held(held) %}
    {% if collapsing._model_of(relation).config.file_format == 'iceberg' %}
        {% set sql = 'select count(*), (select coalesce(sum(file_size_in_bytes), 0) from (select file_size_in_bytes, partition.ledger_batch '
            ~ 'from ' ~ relation ~ '.files where content = 0)' ~ is_held ~ ') from ' ~ relation ~ is_held %}
    {% else %}
        {% set sql = 'select coalesce(sum(file_rows), 0), coalesce(sum(bytes), 0) from (select count(*) as file_rows, '
            ~ 'max(_metadata.file_size) as bytes from ' ~ relation ~ is_held ~ ' group by _metadata.file_path)' %}
    {% endif %}
    {% set row = collapsing._rows_of(sql)[0] %}
    {{ return({'rows': row[0], 'bytes': row[1]}) }}
{% endmacro %}


{# Gives the table that owns the files of dropped batches until the next optimize, so that queries that read them end well. #}
{% macro _dropped_relation(relation) %}
    {{ return(collapsing._beside(relation, 'dropped')) }}
{% endmacro %}


{#
    Drops what a base stands for, on parquet. Each batch changes folders with an empty one of <table>__dropped and is then
    dropped; every step can be done again.
#}
{% macro _drop_covered(relation, held) %}
    {% if held and held.covered %}
        {% set dropped = collapsing._dropped_relation(relation) %}
        {% do collapsing._create_dropped(relation) %}
        {% set partitions = [] %}
        {% for number in held.covered %}
            {% do partitions.append('partition (ledger_batch = ' ~ number ~ ')') %}
        {% endfor %}
        {% call statement('own_dropped') %}
            alter table {{ dropped }} add if not exists {{ partitions | join(' ') }}
        {% endcall %}
        {% set here, there = collapsing._detail_of(relation, "Location"), collapsing._detail_of(dropped, "Location") %}
        {% for number in held.covered %}
            {% set folder = '/ledger_batch=' ~ number %}
            {% call statement('empty_covered') %}
                alter table {{ relation }} partition (ledger_batch = {{ number }})
                set location {{ collapsing._text_literal(there ~ folder) }}
            {% endcall %}
            {% call statement('keep_dropped') %}
                alter table {{ dropped }} partition (ledger_batch = {{ number }})
                set location {{ collapsing._text_literal(here ~ folder) }}
            {% endcall %}
        {% endfor %}
        {% do collapsing._drop_batches(relation, relation, held.covered) %}
        {% do collapsing._drop_merged_notes(relation, held.base) %}
    {% endif %}
{% endmacro %}


{# Drops notes that those of a ledger's base hold again, and those of an older base. #}
{% macro _drop_merged_notes(ledger, base) %}
    {% set blocks = load_relation(collapsing._blocks_relation(ledger)) %}
    {% if blocks is not none and collapsing._commits_atomically(ledger) %}
        {% do collapsing._drop_batches(blocks, ledger, range(1 - base, base + 1)) %}
    {% elif blocks is not none %}
        {% do collapsing._drop_batches(
            blocks, ledger, collapsing._partitions_of(blocks) | select('gt', -base) | select('le', base) | list
        ) %}
    {% endif %}
{% endmacro %}


{#
    Says in <table>__dropped that a base is about to be written, and empties the folder of one that a killed optimize began and
    that no later one has written.
#}
{% macro _begin_base(relation, held, upto) %}
    {% set dropped = collapsing._dropped_relation(relation) %}
    {% set nulls = ['null'] * (adapter.get_columns_in_relation(relation) | length - 1) %}
    {% for number in collapsing._partitions_of(load_relation(dropped)) if number < 0 and number != -held.base %}
        {% call statement('empty_left_over') %}
            insert overwrite table {{ relation }} partition (ledger_batch = {{ number }})
            select {{ nulls | join(', ') }} where false
        {% endcall %}
        {% do collapsing._drop_batches(relation, relation, [number]) %}
    {% endfor %}
    {% do adapter.drop_relation(dropped) if load_relation(dropped) is not none %}
    {% do collapsing._create_dropped(relation) %}
    {% call statement('begin_base') %}
        alter table {{ dropped }} add partition (ledger_batch = {{ -upto }})
    {% endcall %}
{% endmacro %}


{# Creates <table>__dropped. #}
{% macro _create_dropped(relation) %}
    {% call statement('create_dropped') %}
        create table if not exists {{ collapsing._dropped_relation(relation) }} (nothing int, ledger_batch int)
        using parquet
        partitioned by (ledger_batch)
    {% endcall %}
    {% do adapter.cache_added(collapsing._dropped_relation(relation)) %}
{% endmacro %}
