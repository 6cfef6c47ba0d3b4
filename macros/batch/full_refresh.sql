{#
    Stops a full refresh that would lose rows: the ledger has folded blocks that its stage does not have any more. Says so too
    where the model's own `full_refresh: false` keeps the ledger as it is.
#}
{% macro _check_full_refresh(query, ledger, settings, batches) %}
    {% if not flags.FULL_REFRESH or not batches %}
        {{ return(none) }}
    {% elif not should_full_refresh() %}
        {% do collapsing._say(model.name, 'full_refresh: false keeps the ledger: --full-refresh adds what is new, as any run does') %}
        {{ return(none) }}
    {% endif %}
    {% set manifest, condition = load_relation(collapsing._manifest_relation(ledger)), collapsing._is_in_shard(settings) %}
    {% if settings.block and manifest is not none %}
        {% set row = collapsing._rows_of(
            "select count(*), concat_ws(', ', slice(sort_array(collect_list(block)), 1, 3)) from (select block from " ~ manifest
            ~ ' where ' ~ collapsing._is_committed(batches) ~ ' and block is not null except select cast('
            ~ adapter.quote(settings.block) ~ ' as string) from (' ~ query ~ ')' ~ (' where ' ~ condition if condition) ~ ')'
        )[0] %}
        {% if row[0] %}
            {{ collapsing._raise(
                model.name, '--full-refresh would lose ' ~ row[0] ~ ' blocks that were folded and that the stage '
                ~ collapsing._stage_name() ~ " does not have any more, for example: " ~ row[1] ~ '. Keep the ledger by the config'
                ~ ' full_refresh: false; or, to build it from what is left, drop the table ' ~ ledger ~ ' first'
            ) }}
        {% endif %}
    {% endif %}
{% endmacro %}
