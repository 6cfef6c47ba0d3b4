{#
    Stops a full refresh that would lose rows: the ledger has folded blocks that its stage does not hold any more. Says so too
    where the model's own `full_refresh: false` keeps the ledger as it is.
#}
{% macro _guard_full_refresh(stage, ledger, settings) %}
    {% if flags.FULL_REFRESH and collapsing._may_write() and load_relation(ledger) is not none %}
        {% if not should_full_refresh() %}
            {% do collapsing._log('full_refresh: false keeps the ledger: --full-refresh adds what is new, as any run does') %}
        {% elif settings.block %}
            {% do collapsing._refuse_lost_blocks(stage, ledger, settings) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{# Stops when the ledger has folded blocks that the stage does not hold. #}
{% macro _refuse_lost_blocks(stage, ledger, settings) %}
    {% set held = collapsing._batches_of(ledger) %}
    {% set blocks = load_relation(collapsing._blocks_relation(ledger)) %}
    {% if held and blocks is not none %}
        {% set row = collapsing._rows_of(
            "select count(*), concat_ws(', ', slice(sort_array(collect_list(block)), 1, 3)) from (select block from " ~ blocks
            ~ ' where ' ~ collapsing._is_held(held) ~ ' and block is not null except select cast('
            ~ adapter.quote(settings.block) ~ ' as string) from ' ~ stage ~ ')'
        )[0] %}
        {% if row[0] %}
            {{ collapsing._refuse(
                model.name, '--full-refresh would lose ' ~ row[0] ~ ' blocks that were folded and that the stage ' ~ stage
                ~ " holds no longer, for example: " ~ row[1] ~ '. Keep the ledger by the config full_refresh: false; or, to build it from'
                ~ ' what is left, drop the table ' ~ ledger ~ ' first'
            ) }}
        {% endif %}
    {% endif %}
{% endmacro %}
