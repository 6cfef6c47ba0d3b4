{#
    Gives what batches a ledger or projection holds, or none where it holds none:
        first    the oldest batch after which its state can still be read
        last     the newest batch
        later    the batches after the base, in order
        base     the batches up to this one are one compacted base, under the number -<base>; 0 where there is none
        covered  batches that are still registered although the base stands for them: an optimize was killed
    On parquet a batch is what is registered as a partition: files of a killed run are not, and are never counted.
    `model_relation` is the ledger or projection whose format the relation has.
#}
{% macro _batches_of(relation, model_relation=none) %}
    {% set existing = load_relation(relation) %}
    {% if existing is none %}
        {{ return(none) }}
    {% endif %}
    {% set numbers = [] %}
    {% if collapsing._commits_atomically(model_relation or relation) %}
        {% set ends = collapsing._rows_of('select min(ledger_batch), max(ledger_batch) from ' ~ existing)[0] %}
        {% if ends[0] is not none %}
            {% set least, greatest = ends[0] | int, ends[1] | int %}
            {% do numbers.append(least) if least < 0 %}
            {#- a batch without rows is no batch here; to ask for it does no harm -#}
            {% do numbers.extend(range(least if least > 0 else 1 - least, greatest + 1)) %}
        {% endif %}
    {% else %}
        {% do numbers.extend(collapsing._partitions_of(existing)) %}
    {% endif %}
    {{ return(collapsing._told_apart(numbers) if numbers else none) }}
{% endmacro %}


{# Gives the numbers that a table is partitioned by; none of a table that is not there. #}
{% macro _partitions_of(relation) %}
    {% set numbers = [] %}
    {% for row in (collapsing._rows_of('show partitions ' ~ relation) if relation is not none else []) %}
        {% do numbers.append(row[0].split('=')[1] | int) %}
    {% endfor %}
    {{ return(numbers) }}
{% endmacro %}


{# Drops batches of a table, by their numbers; those that are not there do no harm. #}
{% macro _drop_batches(relation, model_relation, numbers) %}
    {% if not numbers %}
        {{ return(none) }}
    {% endif %}
    {% call statement('drop_batches') %}
        {%- if collapsing._commits_atomically(model_relation) %}
        delete from {{ relation }} where ledger_batch in ({{ numbers | join(', ') }})
        {%- else %}
        alter table {{ relation }} drop if exists
        {%- for number in numbers %}
        partition (ledger_batch = {{ number }}){{ ',' if not loop.last }}
        {%- endfor %}
        {%- endif %}
    {% endcall %}
{% endmacro %}


{#
    Makes a batch true that has no rows. Delta and Iceberg know no empty partition: there it has a row of nothing.
#}
{% macro _close_empty_batch(relation, number) %}
    {% call statement('close_empty_batch') %}
        {%- if collapsing._commits_atomically(relation) %}
        insert into {{ relation }}
        {{ collapsing._row_of_nothing(relation, number) }}
        {%- else %}
        alter table {{ relation }} add if not exists partition (ledger_batch = {{ number }})
        {%- endif %}
    {% endcall %}
{% endmacro %}


{#
    Gives a query of one row that counts for nothing, sign 0 and NULLs, for a batch or base that has no other: who reads the rows
    asks them for its number.
#}
{% macro _row_of_nothing(relation, number) %}
    {% set values = [] %}
    {% for column in adapter.get_columns_in_relation(relation) %}
        {% set value = {'ledger_sign': 0, 'ledger_batch': number}.get(column.name, 'null') %}
        {% do values.append('cast(' ~ value ~ ' as ' ~ column.dtype ~ ') as ' ~ adapter.quote(column.name)) %}
    {% endfor %}
    {{ return('select ' ~ values | join(', ')) }}
{% endmacro %}


{# Gives what _batches_of gives, of the numbers that are held. #}
{% macro _told_apart(numbers) %}
    {% set least = numbers | min %}
    {% set base = -least if least < 0 else 0 %}
    {{ return({
        'first': base or least,
        'last': [numbers | max, base] | max,
        'later': numbers | select('gt', base) | sort,
        'base': base,
        'covered': numbers | reject('equalto', least) | select('le', base) | sort if base else []
    }) }}
{% endmacro %}


{# Gives SQL that is true for rows of a table of notes that belong to batches which its ledger holds. #}
{% macro _is_held(held) %}
    {{ return(
        '(ledger_batch between ' ~ (held.base + 1 if held.base else held.first) ~ ' and ' ~ held.last
        ~ (' or ledger_batch = -' ~ held.base if held.base) ~ ')'
    ) }}
{% endmacro %}


{# Gives whether an append to a model's table is one atomic commit, as the formats with a transaction log have it. #}
{% macro _commits_atomically(relation) %}
    {{ return(collapsing._model_of(relation).config.file_format in ['delta', 'iceberg']) }}
{% endmacro %}


{#
    Gives what can stand behind `from` for the rows of a ledger or projection that count, those up to the batch `as_of` or all:
    its base and the batches after it. On parquet the base may stand beside what it covers, and that must be passed over. The base
    is asked of the rows themselves, so that a view over this stays true.
#}
{% macro _counted_rows(relation, as_of=none) %}
    {% set base = collapsing._base_of(relation) %}
    {% set conditions = ['true'] if collapsing._is_subquery(relation) else [] %}
    {% if collapsing._is_listed_by_scan(relation) %}
        {% do conditions.append(
            collapsing._unless_moved(relation, base, '(ledger_batch = ' ~ base ~ ' or ledger_batch > -' ~ base ~ ')')
        ) %}
    {% endif %}
    {% if as_of is not none %}
        {% do conditions.append('ledger_batch <= ' ~ collapsing._unless_forgotten(relation, base, as_of)) %}
    {% endif %}
    {{ return('(select * from ' ~ relation ~ ' where ' ~ conditions | join(' and ') ~ ')' if conditions else relation | string) }}
{% endmacro %}


{# Gives whether a relation is a table of plain parquet, whose batches each scan finds by itself. #}
{% macro _is_listed_by_scan(relation) %}
    {{ return(not collapsing._is_subquery(relation) and not collapsing._commits_atomically(relation)) }}
{% endmacro %}


{#
    Gives a condition on rows of a table of plain parquet, but stops the query where the ledger was optimized while it was being
    planned: batches may be gone then that the older `base` does not stand for. A projection still has them until its parts are
    merged again.
#}
{% macro _unless_moved(relation, base, condition) %}
    {% if collapsing._kind_if_any(collapsing._model_of(relation)) == 'projection' %}
        {{ return(condition) }}
    {% endif %}
    {% set moved = collapsing._text_literal(
        'collapsing: ' ~ relation.identifier ~ ' was optimized while this query was being planned: run it again'
    ) %}
    {{ return('if(ledger_batch < ' ~ base ~ ', raise_error(' ~ moved ~ '), ' ~ condition ~ ')') }}
{% endmacro %}


{# Gives SQL for the batch `as_of`, but stops a view that was made before an optimize folded that state into its base. #}
{% macro _unless_forgotten(relation, base, as_of) %}
    {% set gone = collapsing._text_literal(
        'collapsing: ' ~ relation.identifier ~ ' has no state as_of=' ~ as_of ~ ' any more: it was optimized since'
    ) %}
    {{ return('if(-' ~ base ~ ' > ' ~ as_of ~ ', raise_error(' ~ gone ~ '), ' ~ as_of ~ ')') }}
{% endmacro %}


{# Gives SQL for the number of the base of a ledger or projection, which is below 0; 0 where there is none. #}
{% macro _base_of(relation) %}
    {{ return('(select coalesce(min(ledger_batch), 0) from ' ~ collapsing._named(relation) ~ ' where ledger_batch < 0)') }}
{% endmacro %}


{#
    Gives CTEs for a query that reads the rows that count more than once: `later`, those of batches after the base, and `counted`,
    all that _counted_rows gives, or with base_only `base`, the others.

    On plain parquet every scan lists the table's partitions by itself, and none may take for newest what another has not seen. So
    base and newest batch are asked for once, as columns of one CTE: Spark copies it to where it stands, but runs a subquery of
    it once. It lists for subqueries first, then for the scan of `later`, whose size so decides how it is joined, and for the
    other when the query runs. A `later` that has missed batches since an optimize therefore stops with the other, whose
    condition must not let Spark find one in it that needs no subquery, hence <=>.
#}
{% macro _ctes_of_counted(relation, as_of=none, base_only=false) %}
    {%- if not collapsing._is_listed_by_scan(relation) -%}
    counted as (
        select * from {{ collapsing._counted_rows(relation, as_of) }}
    ),
    {%- if base_only %}
    base as (
        select * from counted where ledger_batch < 0
    ),
    {%- endif %}
    later as (
        select * from counted where ledger_batch > 0
    )
    {%- else -%}
    {%- set base = collapsing._base_of(relation) %}
    {%- set newest = '(select coalesce(max(ledger_batch), 0) from ' ~ collapsing._named(relation) ~ ' where ledger_batch > 0)' %}
    {%- if as_of is not none %}
        {%- set newest = 'least(' ~ newest ~ ', ' ~ collapsing._unless_forgotten(relation, base, as_of) ~ ')' %}
    {%- endif %}
    {%- set is_in = 'ledger_batch <=> ledger_base' if base_only
        else '(ledger_batch = ledger_base or ledger_batch > -ledger_base)' -%}
    bounded as (
        select
            *,
            {{ base }} as ledger_base,
            {{ newest }} as ledger_newest
        from {{ relation }}
    ),
    {{ 'base' if base_only else 'counted' }} as (
        select * except (ledger_base, ledger_newest)
        from bounded
        where {{ collapsing._unless_moved(relation, 'ledger_base', is_in ~ ' and ledger_batch <= ledger_newest') }}
    ),
    later as (
        select * except (ledger_base, ledger_newest)
        from bounded
        where ledger_batch > 0 and ledger_batch > -ledger_base and ledger_batch <= ledger_newest
    )
    {%- endif %}
{%- endmacro %}
