{# Returns SQL that is true for rows of these blocks: tokens compared in their own type, so that Spark opens only their files. #}
{% macro _sql_is_block_in(settings, columns, tokens) %}
    {% do return('false') if not tokens %}
    {% set block = adapter.quote(settings.block) %}
    {% set quotes = {
        'tinyint': ['', 'Y'], 'smallint': ['', 'S'], 'int': ['', ''], 'bigint': ['', 'L'], 'date': ["date'", "'"],
        'timestamp': ['timestamp_micros(', ')'], 'binary': ["X'", "'"]
    }.get(collapsing._token_type(settings, columns)) %}
    {% do return(block ~ ' in (' ~ quotes[0] ~ tokens | join(quotes[1] ~ ', ' ~ quotes[0]) ~ quotes[1] ~ ')') if quotes %}
    {{ return(collapsing._token(settings, columns) ~ ' in (' ~ collapsing._carried_literals(tokens) ~ ')') }}
{% endmacro %}


{#
    Returns SQL for the text by which ledger and manifest know a block, NULL without a token; `of` is the alias of the stage, if it has one.
    It is the same in every session: of a timestamp its microseconds since 1970, of binary its hexadecimal digits, of a decimal its digits
    without an exponent, which ANSI mode decides about, and without zeros at the end.
#}
{% macro _token(settings, columns, of=none) %}
    {% set block = collapsing._arrival(settings, columns, of) %}
    {% set dtype = collapsing._arrival_type(settings, columns) %}
    {% do return('cast(unix_micros(' ~ block ~ ') as string)') if dtype == 'timestamp' %}
    {% do return('format_number(' ~ block ~ ", '0." ~ '#' * 38 ~ "')") if dtype.startswith('decimal') %}
    {{ return('hex(' ~ block ~ ')' if dtype == 'binary' else block if dtype == 'string' else 'cast(' ~ block ~ ' as string)') }}
{% endmacro %}


{#
    Returns SQL for the token of a block as it is staged, by which the blocks of a batch are ordered; NULL without a token. For a column
    with a collation it is plain text: two tokens that the collation takes for equal are two blocks.
#}
{% macro _arrival(settings, columns, of=none) %}
    {% do return('cast(null as string)') if not settings.block %}
    {% set block = (of ~ '.' if of else '') ~ adapter.quote(settings.block) %}
    {% set is_collated = collapsing._has_collation(collapsing._token_type(settings, columns)) %}
    {{ return('cast(' ~ block ~ ' as string)' if is_collated else block) }}
{% endmacro %}


{# Returns the type of what _arrival returns. #}
{% macro _arrival_type(settings, columns) %}
    {% set dtype = collapsing._token_type(settings, columns) if settings.block else 'string' %}
    {{ return('string' if collapsing._has_collation(dtype) else dtype) }}
{% endmacro %}


{# Returns how tokens are written as text, 'none' without a token: where that changes, every block would be another one. #}
{% macro _token_form(settings, columns) %}
    {% set dtype = collapsing._token_type(settings, columns) if settings.block else 'none' %}
    {% do return('number') if dtype.startswith('decimal') or collapsing._is_integer(dtype) %}
    {{ return(dtype if dtype in ['none', 'timestamp', 'timestamp_ntz', 'date', 'binary', 'float', 'double'] else 'text') }}
{% endmacro %}


{# Returns the type of the stage's token column. #}
{% macro _token_type(settings, columns) %}
    {{ return((columns | selectattr('name', 'equalto', settings.block) | first).dtype) }}
{% endmacro %}


{#
    Returns SQL that is true for rows that no batch has folded, and for rows without a token too: they are bad, and have to be seen. `folded` are
    blocks as _manifest_of returns them. Planning 10,000 literals takes 0.2 s longer than planning one long literal, so that many
    tokens are hashed into buckets of one delimited string.
#}
{% macro _sql_is_unread(settings, columns, folded) %}
    {% set block, by_bucket, buckets = adapter.quote(settings.block), {}, [] %}
    {% if folded | length <= 1000 or collapsing._token_type(settings, columns) != 'string' %}
        {% set is_folded = collapsing._sql_is_block_in(settings, columns, folded | map(attribute='block') | list) %}
    {% else %}
        {% for group in folded | groupby('bucket') %}
            {% do by_bucket.update({group.grouper: group.list | map(attribute='packed') | join(',')}) %}
        {% endfor %}
        {% for bucket in range(1024) %}
            {% do buckets.append(by_bucket.get(bucket, '')) %}
        {% endfor %}
        {% set is_folded = '(find_in_set(' ~ collapsing._packed(block) ~ ", element_at(split('" ~ buckets | join(';')
            ~ "', ';'), 1 + " ~ collapsing._bucket(block) ~ ')) > 0)' %}
    {% endif %}
    {{ return('not ' ~ is_folded ~ ' or ' ~ block ~ ' is null') }}
{% endmacro %}


{# Returns SQL for a token in letters and digits, which neither separate tokens nor end a literal; never empty. #}
{% macro _packed(block) %}
    {{ return("concat('x', hex(" ~ block ~ '))') }}
{% endmacro %}


{# Returns SQL for the bucket of a token: those of one bucket are compared one after the other. #}
{% macro _bucket(block) %}
    {{ return('pmod(hash(' ~ block ~ '), 1024)') }}
{% endmacro %}


{#
    A block is folded once, for ever: what changes under a token that is folded is not read. `on_changed_block` says so, or stops the run. A
    stage tells of a change by a column that is _metadata.file_modification_time, which costs nothing while no file has changed; where the setting
    is given, the rows of each token are counted as well.
#}
{% macro _check_changed_blocks(query, ledger, settings, columns, batches, manifest) %}
    {% set is_asked = settings.on_changed_block != 'ignore' and manifest.folded %}
    {% set modified = collapsing._modification_column(columns) if is_asked else none %}
    {% do return(none) if not is_asked or not (modified or settings.counts_blocks) %}
    {#- a literal: so no file is opened that is older than the start of the last batch's run, which read all of those -#}
    {% set is_later = adapter.quote(modified) ~ ' > timestamp_micros(' ~ manifest.begun_at ~ ')' if not settings.counts_blocks %}
    {% set lines = [] %}
    {% set changes = ['arrived.ledger_modified > folded.planned_at'] if modified else [] %}
    {% do changes.append('arrived.ledger_rows <> folded.staged') if settings.counts_blocks %}
    {% set token = collapsing._token(settings, columns) %}
    {% set sql %}
        select folded.block, folded.staged, arrived.ledger_rows, cast(arrived.ledger_modified as string)
        from (
            select
                {{ token }} as ledger_block,
                count(*) as ledger_rows,
                {{ 'max(' ~ adapter.quote(modified) ~ ')' if modified else 'cast(null as timestamp_ltz)' }} as ledger_modified
            from {{ collapsing._rows_of_shard('(\n' ~ query ~ '\n)', settings) }}
            {{ 'where ' ~ is_later if is_later }}
            group by {{ token }}
        ) as arrived
        inner join {{ collapsing._beside(ledger, 'manifest') }} as folded on folded.block = arrived.ledger_block
        where {{ collapsing._sql_is_folded(batches, manifest.unread) }} and ({{ changes | join(' or ') }})
        order by folded.block
        limit 3
    {% endset %}
    {% for row in collapsing._rows_of(sql) %}
        {% do lines.append(
            "block '" ~ row[0] ~ "' was folded with " ~ row[1] ~ ' rows'
            ~ (', and has ' ~ row[2] ~ ' now' if settings.counts_blocks and row[1] != row[2]
                else ', and a file of it was written at ' ~ row[3])
        ) %}
    {% endfor %}
    {% if lines %}
        {% set message = 'blocks have changed since they were folded, and are not read again: ' ~ lines | join('; ')
            ~ '. Stage what is new under a token of its own, or rebuild the ledger with --full-refresh (setting on_changed_block: '
            ~ settings.on_changed_block ~ ')' %}
        {% do collapsing._raise(model.name, message) if settings.on_changed_block == 'fail' %}
        {% do collapsing._warn(model.name, message) %}
    {% endif %}
{% endmacro %}


{# Returns the stage's column that says when the file of a row was written, found by the SQL that makes it, or none. #}
{% macro _modification_column(columns) %}
    {% set times = columns | selectattr('dtype', 'equalto', 'timestamp') | map(attribute='name') | list %}
    {% set is_shown_as = '(?i)_metadata\\.file_modification_time\\s+as\\s+`?(\\w+)' %}
    {{ return((modules.re.findall(is_shown_as, collapsing._code_read()) | select('in', times) | list + [none]) | first) }}
{% endmacro %}


{#
    Returns whether the block token may be a file's name and Spark can tell from which file a row of the query is. It can if the query only
    reads files, without a join. Its plan is inspected only if the SQL of the model, or of one that it reads, mentions `file_name`.
#}
{% macro _reads_named_files(query, settings) %}
    {#- Unity Catalog has no input_file_name -#}
    {% do return(false) if not settings.block or adapter.config.credentials.method not in ['session', 'thrift']
        or '.file_name' not in collapsing._code_read() %}
    {% set plan = collapsing._rows_of('explain extended ' ~ query)[0][0].split('== Optimized Logical Plan ==')[0] %}
    {% set joins = modules.re.search("(?m)^[\\s:+|-]*'?(Join|Intersect|Except|CTERelationRef)\\b", plan) %}
    {{ return('.file_name' in plan and not joins) }}
{% endmacro %}


{#
    If the token is the file's name, two files of the same name have the same token. In one run they would look like one block; in two
    runs, the later one would look like a block that is folded already. The token would not say which file is meant, so such files stop a run.
    Returns one line for each block whose token is the name of several unread files: how many rows, which block, which files, and a key
    of each. A token that several files share, but that is not their name, such as a day, is sound.
#}
{% macro _duplicate_blocks(unread, settings, columns) %}
    {% set lines, token = [], collapsing._token(settings, columns) %}
    {% set sql %}
        select
            ledger_block,
            sum(staged),
            array_join(slice(sort_array(collect_list(ledger_file || ' with ' || ledger_key)), 1, 3), '; ')
        from (
            select
                {{ token }} as ledger_block,
                ledger_file,
                count(*) as staged,
                min({{ collapsing._row_as_json(settings.key) }}) as ledger_key
            from {{ unread }}
            group by {{ token }}, ledger_file
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
