{#
    If the token is the file's name, two files of the same name have the same token. In one run they would look like one block; in two
    runs, the later one would look like a block that is folded already. Nobody can tell which file is meant, so such files stop a run.
#}


{#
    Returns whether the block token may be a file's name and Spark can tell from which file a row of the query is. It can if the query only
    reads files, without a join. Its plan is inspected only if the SQL of the model, or of one that it reads, mentions `file_name`.
#}
{% macro _reads_named_files(query, settings) %}
    {#- Unity Catalog has no input_file_name -#}
    {% if settings.block and adapter.config.credentials.method in ['session', 'thrift']
        and '.file_name' in collapsing._code_read_by(model) %}
        {% set plan = collapsing._rows_of('explain extended ' ~ query)[0][0].split('== Optimized Logical Plan ==')[0] %}
        {% set joins = modules.re.search("(?m)^[\\s:+|-]*'?(Join|Intersect|Except|CTERelationRef)\\b", plan) %}
        {{ return('.file_name' in plan and not joins) }}
    {% endif %}
    {{ return(false) }}
{% endmacro %}


{#
    Returns one line for each block whose token is the name of several unread files: how many rows, which block, which files, and a key
    of each. A token that several files share, but that is not their name, such as a day, is sound.
#}
{% macro _duplicate_blocks(unread, settings, columns) %}
    {% set lines = [] %}
    {% set sql %}
        select
            ledger_block,
            sum(staged),
            array_join(slice(sort_array(collect_list(ledger_file || ' with ' || ledger_key)), 1, 3), '; ')
        from (
            select
                {{ collapsing._token(settings, columns) }} as ledger_block,
                ledger_file,
                count(*) as staged,
                min({{ collapsing._row_as_json(settings.key) }}) as ledger_key
            from {{ unread }}
            group by 1, 2
        )
        where endswith(ledger_block, nullif(substring_index(ledger_file, '/', -1), ''))
        group by ledger_block
        having count(*) > 1
        order by ledger_block
        limit 3
    {% endset %}
    {% for row in collapsing._rows_of(sql) %}
        {% do lines.append('duplicate_block: ' ~ row[1] ~ ' rows in block ' ~ row[0] ~ ' of several files, for example ' ~ row[2]) %}
    {% endfor %}
    {{ return(lines) }}
{% endmacro %}
