{#
    Gives {setting: value} of the rules that a ledger's rows were folded by. Rows of two sets of rules do not go together, so
    the rules stand in the table's property `collapsing.rules`, and a run by other ones is refused.
#}
{% macro _rules_of(settings) %}
    {{ return({
        'engine': settings.engine,
        'input': settings.input,
        'deletes': settings.deletes,
        'key': settings.key,
        'version': settings.version,
        'shards': settings.shards
    }) }}
{% endmacro %}


{# Gives the rules that stand on a ledger, or none: a first run that was killed before it wrote them left none. #}
{% macro _rules_on(ledger) %}
    {% set rules = collapsing._property_of(ledger, 'collapsing.rules') %}
    {{ return(fromjson(rules) if rules is not none else none) }}
{% endmacro %}


{#
    Stops when a ledger would go on by other rules than its rows were folded by. One that was killed before it was marked is
    marked now.
#}
{% macro _refuse_changed_rules(ledger, settings) %}
    {% set stood = collapsing._rules_on(ledger) %}
    {% if stood is none %}
        {% do collapsing._sign_ledger(ledger, settings) if collapsing._may_write() %}
        {{ return(none) }}
    {% endif %}
    {% set changes = [] %}
    {% for setting, value in collapsing._rules_of(settings).items() if setting in stood and stood[setting] != value %}
        {% do changes.append("'" ~ setting ~ "' was " ~ tojson(stood[setting]) ~ ' and is ' ~ tojson(value)) %}
    {% endfor %}
    {% if changes %}
        {{ collapsing._refuse(
            model.name, 'its rows were folded by other settings: ' ~ changes | join('; ')
            ~ '. Give the old settings back, or rebuild the ledger with --full-refresh if the stage still holds every block'
        ) }}
    {% endif %}
{% endmacro %}


{#
    Marks a new table with the rules that it was folded by. By default Iceberg hashes what is written by partition: all of a batch
    to one task, and the order of a base is lost. A ledger's writes go to its table as Spark has them, unless the model says otherwise.
#}
{% macro _sign_ledger(ledger, settings) %}
    {% set is_hashed = collapsing._model_of(ledger).config.file_format == 'iceberg'
        and collapsing._property_of(ledger, 'write.distribution-mode') is none %}
    {% call statement('sign_ledger') %}
        alter table {{ ledger }} set tblproperties (
            {%- if is_hashed %}
            'write.distribution-mode' = 'none',
            'write.spark.fanout.enabled' = 'true',
            {%- endif %}
            'collapsing.rules' = {{ collapsing._text_literal(tojson(collapsing._rules_of(settings))) }}
        )
    {% endcall %}
{% endmacro %}
