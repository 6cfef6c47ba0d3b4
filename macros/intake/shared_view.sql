{#
    Stops where two models of one alias are built in one session at the same time. dbt-spark writes an incremental model through the
    temporary view <alias>__dbt_tmp, which has no schema: each would write the other's rows. On Thrift each model has its own session.
#}
{% macro _refuse_shared_view() %}
    {% if adapter.config.credentials.method == 'session' and adapter.config.threads > 1 %}
        {% for node in graph.nodes.values() if node.resource_type == 'model' and node.unique_id in selected_resources
            and node.config.materialized == 'incremental' and node.unique_id != model.unique_id
            and node.alias | lower == model.alias | lower %}
            {{ collapsing._refuse(
                model.name, "the model '" ~ node.name ~ "' has the alias '" ~ node.alias ~ "' too, in another schema. dbt-spark writes both "
                ~ 'through one temporary view, ' ~ node.alias ~ '__dbt_tmp, and rows of one would land in the other: run them with --threads 1,'
                ~ ' one after the other, or give one of them another alias'
            ) }}
        {% endfor %}
    {% endif %}
{% endmacro %}
