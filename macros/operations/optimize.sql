{% macro optimize(model=none, keep_batches=0) %}
    {% if execute %}
        {% set node = collapsing._asked_model('optimize', model) %}
        {% if keep_batches is not integer or keep_batches < 0 %}
            {{ collapsing._refuse(
                node.name, "optimize's keep_batches must be a number of batches, 0 or more; given: " ~ keep_batches
            ) }}
        {% endif %}
        {% set kind = collapsing._kind_of(node, 'optimize') %}
        {% set relation = collapsing._built_relation(node) %}
        {% do collapsing._take_hold(node.name, relation) %}
        {% if kind == 'projection' %}
            {% do collapsing._optimize_projection(node, relation, keep_batches) %}
        {% else %}
            {% do collapsing._optimize_ledger(node, relation, keep_batches) %}
        {% endif %}
        {% do collapsing._release_hold(relation) %}
    {% endif %}
{% endmacro %}


{#
    Folds the oldest batches of a ledger into its base: the rows that OPTIMIZE FINAL leaves of them, sorted by key. The newest
    `keep_batches` stay as they are, for as_of, and so do those that a projection has not read.
#}
{% macro _optimize_ledger(node, ledger, keep_batches) %}
    {% set settings = collapsing._ledger_settings(node.name, node.config.meta.collapsing) %}
    {% set held = collapsing._batches_of(ledger) %}
    {% do collapsing._drop_covered(ledger, held) %}
    {% set notes = collapsing._notes_of(ledger, held) %}
    {% set upto = collapsing._foldable_batches(node, ledger, held, notes, keep_batches) if held else 0 %}
    {% if not held or upto <= held.base %}
        {% do collapsing._say(node.name, 'there is no batch to fold' ~ (': the base stands for those up to ' ~ held.base if held else '')) %}
    {% else %}
        {% do collapsing._merge_notes(ledger, held, upto) %}
        {% set sql = collapsing._base_rows(ledger, settings, held, upto, notes.undone) %}
        {% do collapsing._write_base(node, ledger, held, upto, sql) %}
    {% endif %}
{% endmacro %}


{# Gives up to which batch a ledger can be folded into its base. #}
{% macro _foldable_batches(node, ledger, held, notes, keep_batches) %}
    {% set limit = namespace(upto=collapsing._read_by_all(node, ledger, held.last - keep_batches)) %}
    {#- a batch that a later one takes back is not folded without it: a base cannot be passed over in part -#}
    {% for pair in notes.undone if pair[1] <= limit.upto < pair[0] %}
        {% set limit.upto = pair[1] - 1 %}
    {% endfor %}
    {{ return(limit.upto) }}
{% endmacro %}


{# Gives the last batch, `upto` at most, that all projections of a ledger or projection have read. #}
{% macro _read_by_all(node, source, upto) %}
    {% set limit = namespace(upto=upto) %}
    {% for projection in graph.nodes.values() if node.unique_id in projection.depends_on.nodes
        and collapsing._kind_if_any(projection) == 'projection' %}
        {% set relation = adapter.get_relation(projection.database, projection.schema, projection.alias) %}
        {% set read = collapsing._batches_of(relation) if relation is not none else none %}
        {% if read and read.last < limit.upto and not collapsing._has_read(relation, source, read.last, limit.upto) %}
            {% do collapsing._say(
                node.name, "projection '" ~ projection.name ~ "' has read up to batch " ~ read.last ~ ': later ones stay'
            ) %}
            {% set limit.upto = read.last %}
        {% endif %}
    {% endfor %}
    {{ return(limit.upto) }}
{% endmacro %}


{# Gives whether batches that a projection holds no rows of have none for it; it is then marked as having read them. #}
{% macro _has_read(projection, source, after, upto) %}
    {#- tombstones of a ledger count for nothing -#}
    {% set counting = ' and ledger_sign <> 0' if collapsing._kind_if_any(collapsing._model_of(source)) == 'ledger' else '' %}
    {% if collapsing._commits_atomically(projection) or collapsing._rows_of(
        'select 1 from ' ~ source ~ ' where ledger_batch > ' ~ after ~ ' and ledger_batch <= ' ~ upto ~ counting ~ ' limit 1'
    ) %}
        {{ return(false) }}
    {% endif %}
    {% do collapsing._close_empty_batch(projection, upto) %}
    {{ return(true) }}
{% endmacro %}


{#
    Gives the rows of a ledger's base, in the order of its key.

    held    as _batches_of gives it
    upto    the last batch that is folded
    undone  as _notes_of gives it
#}
{% macro _base_rows(ledger, settings, held, upto, undone) %}
{%- set key = collapsing._row_list(settings.key) -%}
{%- set every_row = collapsing._keeps_every_row(settings) -%}
{%- set passed_over = undone | selectattr(0, 'le', upto) | sum(start=[]) -%}
{%- set rows -%}
    (
        select *
        from {{ ledger }}
        where
            (ledger_batch = {{ -held.base }} or ledger_batch > {{ held.base }})
            and ledger_batch <= {{ upto }}
            {%- if passed_over and not every_row %}
            and ledger_batch not in ({{ passed_over | join(', ') }})
            {%- endif %}
    )
{%- endset -%}
select /*+ repartition_by_range({{ key }}) */
    {%- for column in adapter.get_columns_in_relation(ledger) | map(attribute='name') %}
    {{ -upto ~ ' as ledger_batch' if column == 'ledger_batch' else adapter.quote(column) }}{{ ',' if not loop.last }}
    {%- endfor %}
from (
    {%- if every_row %}
    -- what is left of each key keeps its order
    select
        * except (ledger_place),
        row_number() over (partition by {{ key }} order by ledger_batch, ledger_place) as ledger_place
    from {{ collapsing._collapsed_rows(rows, settings) }} as collapsed
    {%- else %}
    -- what each key has seen last: its live row or its tombstone
    select *
    from (
        select
            *,
            row_number() over (partition by {{ key }} order by ledger_batch desc, ledger_sign desc) as ledger_rank
        from {{ rows }}
    )
    where ledger_rank = 1 and ledger_sign in (0, 1)
    {%- endif %}
)
{%- if settings.tombstone_retention %}
{%- set version = adapter.quote(settings.version[0]) %}
where ledger_sign <> 0 or {{ version }} >= (select max({{ version }}) from {{ ledger }}) - {{ settings.tombstone_retention }}
{%- endif %}
sort by {{ key }}
{% endmacro %}


{# Adds the notes of the batches that are folded to those of the base, before the base is written: they come true with it. #}
{% macro _merge_notes(ledger, held, upto) %}
    {% set blocks = load_relation(collapsing._blocks_relation(ledger)) %}
    {% if blocks is not none %}
        {% set sql %}
            select /*+ coalesce(1) */ * except (ledger_batch), {{ -upto }} as ledger_batch
            from {{ blocks }}
            where {{ collapsing._is_held(held) }} and ledger_batch <= {{ upto }}
        {% endset %}
        {% do collapsing._write_partitions(blocks, sql) %}
    {% endif %}
{% endmacro %}
