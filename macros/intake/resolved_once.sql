{#
    Gives what a run reads of its stage, a relation: a temporary view of the session that keeps how Spark has resolved the stage,
    with the list of its files. Four statements read the stage, and each would list them again.
#}
{% macro _resolved_once(stage) %}
    {% if not collapsing._may_write() %}
        {{ return(stage) }}
    {% endif %}
    {% set view = adapter.quote(this.identifier ~ '__stage') %}
    {% call statement('keep_plan') %}
        set spark.sql.legacy.storeAnalyzedPlanForView = true
    {% endcall %}
    {% call statement('resolve_stage') %}
        create or replace temporary view {{ view }} as select * from {{ stage }}
    {% endcall %}
    {% call statement('keep_text') %}
        reset spark.sql.legacy.storeAnalyzedPlanForView
    {% endcall %}
    {{ return(view ~ ' /* ' ~ collapsing._named(stage) ~ ', resolved once */') }}
{% endmacro %}
