{#
    Sees to it that the stage's columns are those that the ledger keeps: rows must never land in another column. A new one is
    added to the ledger, NULL in the rows that are there, where dbt's `on_schema_change` allows it; anything else stops the run.
#}
{% macro _follow_columns(ledger, settings, columns) %}
    {% set wanted, stored = {}, {} %}
    {% for column in collapsing._kept_columns(columns, settings) %}
        {% do wanted.update({column.name: collapsing._kept_type(column.dtype)}) %}
    {% endfor %}
    {% for column in adapter.get_columns_in_relation(ledger) if not column.name.startswith('ledger_') %}
        {% do stored.update({column.name: column.dtype}) %}
    {% endfor %}
    {% set added = wanted.keys() | reject('in', stored) | list %}
    {% set allowed = config.get('on_schema_change') in ['append_new_columns', 'sync_all_columns'] %}

    {% set changes = [] %}
    {% for name in added if not allowed %}
        {% do changes.append("'" ~ name ~ "' is new in the stage (on_schema_change='append_new_columns' would add it)") %}
    {% endfor %}
    {% for name in stored if name not in wanted %}
        {% do changes.append("'" ~ name ~ "' is gone from the stage") %}
    {% endfor %}
    {% for name in stored if name in wanted and stored[name] != wanted[name] %}
        {% do changes.append("'" ~ name ~ "' was " ~ stored[name] ~ ' and is ' ~ wanted[name]) %}
    {% endfor %}
    {% if changes %}
        {{ collapsing._refuse(
            model.name, "the stage's columns are not the ledger's any more: " ~ changes | join('; ')
            ~ '. Give the stage its old columns back, or rebuild the ledger with --full-refresh if the stage still holds every block'
        ) }}
    {% elif added and collapsing._may_write() %}
        {% do collapsing._add_columns(ledger, wanted, added) %}
    {% endif %}
{% endmacro %}


{# Adds columns to a table, with their types from `dtypes`. The fold reads them from the ledger: dbt would add them too late. #}
{% macro _add_columns(relation, dtypes, names) %}
    {% set definitions = [] %}
    {% for name in names %}
        {% do definitions.append(adapter.quote(name) ~ ' ' ~ dtypes[name]) %}
    {% endfor %}
    {% do collapsing._log('new columns in ' ~ relation ~ ': ' ~ names | join(', ')) %}
    {% call statement('add_columns') %}
        alter table {{ relation }} add columns ({{ definitions | join(', ') }})
    {% endcall %}
{% endmacro %}
