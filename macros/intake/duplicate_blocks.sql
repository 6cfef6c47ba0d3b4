{#
    Two files of one name carry one token where a stage takes the file's name for it. Met in one run they would pass for one block;
    apart, the later one for a block that was folded. Whose the token is nobody can say, so that such files stop a run. A stage
    says which file a row is from only where it reads files one after another, without a join; of others nothing is asked.
#}

{# Gives SQL for what tells the files of a stage's rows apart; a constant where its tokens are not made of file names. #}
{% macro _file_of_row(stage, settings) %}
    {#- Databricks has no input_file_name any more -#}
    {% if settings.block and adapter.config.credentials.method in ['session', 'thrift'] %}
        {% set plans = collapsing._rows_of('explain extended select * from ' ~ stage)[0][0] %}
        {% set plan = plans.split('== Optimized Logical Plan ==')[0] %}
        {% if '.file_name' in plan and not modules.re.search('Join|Intersect|Except|CTERelationRef', plan) %}
            {{ return('xxhash64(input_file_name())') }}
        {% endif %}
    {% endif %}
    {{ return('cast(null as bigint)') }}
{% endmacro %}


{#
    Gives what is wrong with blocks whose token is the name of several unread files, a line each: how many rows, which block, which
    files, a key of each. `found` is what _look_at_stage gives. A token of several files that names none, such as a day, is sound.
#}
{% macro _duplicate_blocks(stage, settings, columns, found) %}
    {% set lines = [] %}
    {% set several = found.summary | selectattr('has_files') | rejectattr('token', 'none') | map(attribute='token') | list %}
    {% if several %}
        {% set sql %}
            select
                ledger_block,
                sum(staged),
                array_join(slice(sort_array(collect_list(ledger_file || ' with ' || ledger_key)), 1, 3), '; ')
            from (
                select
                    ledger_block,
                    ledger_file,
                    count(*) as staged,
                    min(ledger_key) as ledger_key
                from (
                    select
                        cast({{ adapter.quote(settings.block) }} as string) as ledger_block,
                        input_file_name() as ledger_file,
                        {{ collapsing._key_as_json(settings.key) }} as ledger_key
                    from {{ stage }}
                    where {{ collapsing._is_block_in(settings, columns, several) }}
                )
                where endswith(ledger_block, nullif(substring_index(ledger_file, '/', -1), ''))
                group by ledger_block, ledger_file
            )
            group by ledger_block
            having count(*) > 1
            order by ledger_block
            limit 3
        {% endset %}
        {% for row in collapsing._rows_of(sql) %}
            {% do lines.append('duplicate_block: ' ~ row[1] ~ ' rows in block ' ~ row[0] ~ ' of several files, for example ' ~ row[2]) %}
        {% endfor %}
    {% endif %}
    {{ return(lines) }}
{% endmacro %}
