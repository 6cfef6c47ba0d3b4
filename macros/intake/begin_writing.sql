{#
    Runs before a ledger or projection is built from `source`: stops where rows would be lost or land elsewhere, or another run is
    writing it, holds it, and drops what a killed run has left of it.
#}
{% macro _begin_writing(source) %}
    {% if collapsing._may_write() %}
        {% do collapsing._refuse_sample(source) %}
        {% do collapsing._refuse_other_shard() %}
        {% do collapsing._refuse_shared_view() %}
        {% do collapsing._take_hold(model.name, this) %}
        {% do collapsing._drop_unregistered(this) %}
    {% endif %}
{% endmacro %}
