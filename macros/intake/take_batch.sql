{#
    Fixes what a run folds, before any row of it is read, and gives it as
        number   the batch number its rows will carry
        unread   SQL over the stage's columns that is true for the rows to fold; none takes the whole stage
        bounds   SQL over the ledger's key columns, alias `stored`: outside of it no key of the batch can lie; or none
        rows     how many rows are taken
        blocks   their tokens, as text
    A block counts as folded when a batch that the ledger holds has taken it: what was taken is written down first, in
    <ledger>__blocks, and the ledger's own commit makes it true. A killed run leaves a note that nobody believes.
#}
{% macro _take_batch(stage, ledger, settings, columns, is_fresh) %}
    {% set held = collapsing._batches_of(ledger) %}
    {% set noted = collapsing._batches_of(collapsing._blocks_relation(ledger), ledger) if settings.block else none %}
    {% set last = held.last if held else 0 %}
    {% if is_fresh and noted %}
        {#- numbers of an earlier life of the ledger are not used again: its projections would take them for read -#}
        {% set last = [last, noted.last] | max %}
    {% endif %}
    {% set folded = collapsing._folded_blocks(ledger, held) if held and noted and not is_fresh else [] %}
    {% set found = collapsing._look_at_stage(stage, settings, columns, folded) %}
    {% do collapsing._refuse_bad_rows(stage, settings, columns, found) %}

    {% set unread = collapsing._is_block_in(settings, columns, found.blocks) if settings.block else none %}
    {% set batch = {
        'number': last + 1,
        'unread': unread if not found.bad else unread ~ ' and not (' ~ collapsing._is_bad(settings) ~ ')',
        'bounds': collapsing._key_bounds(settings, columns, found),
        'rows': found.rows,
        'blocks': found.blocks
    } %}
    {% if settings.block and found.blocks and collapsing._may_write() %}
        {% do collapsing._log('batch ' ~ batch.number ~ ': ' ~ found.blocks | length ~ ' blocks, ' ~ found.rows ~ ' rows') %}
        {% do collapsing._note_blocks(ledger, batch.number, found) %}
        {% do collapsing._set_aside(stage, ledger, settings, columns, batch.number, unread, found) %}
    {% endif %}
    {{ return(batch) }}
{% endmacro %}


{# Gives the table that notes which blocks each batch of a ledger took. #}
{% macro _blocks_relation(ledger) %}
    {{ return(api.Relation.create(
        database=ledger.database, schema=ledger.schema, identifier=ledger.identifier ~ '__blocks', type='table'
    )) }}
{% endmacro %}


{# Gives the tokens of the blocks that batches of the ledger have folded. #}
{% macro _folded_blocks(ledger, held) %}
    {% set rows = collapsing._rows_of(
        'select block from ' ~ collapsing._blocks_relation(ledger)
        ~ ' where ledger_batch between ' ~ held.first ~ ' and ' ~ held.last
    ) %}
    {{ return(rows | map('first') | list) }}
{% endmacro %}


{# Writes down which blocks a batch takes. A number noted by a killed run is overwritten, never added to. #}
{% macro _note_blocks(ledger, number, found) %}
    {% set blocks = collapsing._blocks_relation(ledger) %}
    {% set values = [] %}
    {% for block in found.summary %}
        {% do values.append('(' ~ collapsing._text_literal(block.token) ~ ', cast(' ~ block.rows ~ ' as bigint))') %}
    {% endfor %}
    {% call statement('create_blocks') %}
        create table if not exists {{ blocks }} (block string, staged bigint, ledger_batch int)
        {{ file_format_clause() }}
        partitioned by (ledger_batch)
    {% endcall %}
    {% call statement('note_blocks') %}
        insert overwrite table {{ blocks }} partition (ledger_batch = {{ number }})
        select /*+ coalesce(1) */ * from values {{ values | join(', ') }} as taken (block, staged)
    {% endcall %}
    {% do adapter.cache_added(blocks) %}
{% endmacro %}


{# Gives SQL that is true for the rows of the blocks given. Tokens are compared as what they are, so that a filter on a
   partition column or on _metadata opens only the files of those blocks. #}
{% macro _is_block_in(settings, columns, tokens) %}
    {% if not tokens %}
        {{ return('false') }}
    {% endif %}
    {% set block = adapter.quote(settings.block) %}
    {% set dtype = (columns | selectattr('name', 'equalto', settings.block) | first).dtype %}
    {% set literals = [] %}
    {% if dtype in ['tinyint', 'smallint', 'int', 'bigint', 'date'] %}
        {% for token in tokens %}
            {% do literals.append(collapsing._typed_literal(token, dtype)) %}
        {% endfor %}
    {% else %}
        {% set block = block if dtype == 'string' else 'cast(' ~ block ~ ' as string)' %}
        {% for token in tokens %}
            {% do literals.append(collapsing._text_literal(token)) %}
        {% endfor %}
    {% endif %}
    {{ return(block ~ ' in (' ~ literals | join(', ') ~ ')') }}
{% endmacro %}
