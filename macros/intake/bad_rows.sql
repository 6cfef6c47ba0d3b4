{# Gives {reason: SQL that is true for a bad row}: rows that no rule of an engine can place. #}
{% macro _bad_row_reasons(settings, columns) %}
    {% set reasons = {'null_key': collapsing._any_null(settings.key)} %}
    {% if settings.version %}
        {% do reasons.update({'null_version': collapsing._any_null(settings.version)}) %}
    {% endif %}
    {% if settings.sign %}
        {% do reasons.update({'bad_sign': 'coalesce(' ~ adapter.quote(settings.sign) ~ ' not in (1, -1), true)'}) %}
    {% elif settings.is_deleted %}
        {% do reasons.update({'bad_sign': 'coalesce(cast(' ~ adapter.quote(settings.is_deleted) ~ ' as int) not in (0, 1), true)'}) %}
    {% endif %}
    {% if settings.block %}
        {% do reasons.update({'null_block': collapsing._any_null([settings.block])}) %}
    {% endif %}
    {{ return(reasons) }}
{% endmacro %}


{# Gives SQL that is true where one of the columns is NULL. #}
{% macro _any_null(columns) %}
    {% set parts = [] %}
    {% for column in columns %}
        {% do parts.append(adapter.quote(column) ~ ' is null') %}
    {% endfor %}
    {{ return(parts | join(' or ')) }}
{% endmacro %}


{# Stops the run before anything is appended when unread rows are bad: names the ledger, each reason, its count, keys and blocks. #}
{% macro _refuse_bad_rows(stage, settings, columns, found) %}
    {% if found.bad %}
        {% set lines = [] %}
        {% for reason, condition in collapsing._bad_row_reasons(settings, columns).items() if reason in found.bad %}
            {% set samples = collapsing._rows_of(
                'select to_json(struct(' ~ collapsing._row_list(settings.key) ~ "), map('ignoreNullFields', 'false')), "
                ~ ('cast(' ~ adapter.quote(settings.block) ~ ' as string)' if settings.block else 'null')
                ~ ' from ' ~ stage ~ ' where (' ~ condition ~ ')'
                ~ (' and (' ~ collapsing._is_block_in(settings, columns, found.blocks) ~ ' or ' ~ adapter.quote(settings.block) ~ ' is null)' if settings.block else '')
                ~ ' limit 3'
            ) %}
            {% set shown = [] %}
            {% for sample in samples %}
                {% do shown.append(sample[0] ~ (' in block ' ~ (sample[1] if sample[1] is not none else 'NULL') if settings.block else '')) %}
            {% endfor %}
            {% do lines.append(reason ~ ': ' ~ found.bad[reason] ~ ' rows, for example ' ~ shown | join('; ')) %}
        {% endfor %}
        {{ collapsing._refuse(
            model.name, 'bad rows in ' ~ stage ~ ', nothing was appended and no block counts as read.\n  ' ~ lines | join('\n  ')
        ) }}
    {% endif %}
{% endmacro %}
