{#
    Returns {reason: SQL that is true for a bad row}: rows that no rule of an engine can place. Of several reasons the first counts, and a
    row without a block must stop the run whatever else is wrong with it.
#}
{% macro _bad_row_reasons(settings) %}
    {% set reasons, blocks = {}, [settings.block] if settings.block else [] %}
    {#- where a delete's version means nothing, it may be missing -#}
    {% set is_versioned = ' and not coalesce(' ~ collapsing._sql_is_delete(settings) ~ ', false)'
        if collapsing._engine(settings).unversioned_deletes else '' %}
    {% set needed = {'null_block': blocks, 'null_key': settings.key, 'null_version': settings.version} %}
    {% for reason, columns in needed.items() if columns %}
        {% set is_null = collapsing._column_list(columns, suffix=' is null', between=' or ') %}
        {% do reasons.update({reason: '(' ~ is_null ~ ')' ~ is_versioned if reason == 'null_version' else is_null}) %}
    {% endfor %}
    {% set mark, values = [settings.sign, '(1, -1)'] if settings.sign else [settings.is_deleted, '(0, 1)'] %}
    {% if mark %}
        {% do reasons.update({'bad_sign': 'coalesce(' ~ collapsing._as_number(mark) ~ ' not in ' ~ values ~ ', true)'}) %}
    {% endif %}
    {{ return(reasons) }}
{% endmacro %}


{# Returns SQL for the reason why a row is bad, one where there are several; NULL for a row that can be folded. #}
{% macro _bad_reason(settings) %}
    {% set cases = [] %}
    {% for reason, condition in collapsing._bad_row_reasons(settings).items() %}
        {% do cases.append('when ' ~ condition ~ " then '" ~ reason ~ "'") %}
    {% endfor %}
    {{ return('case ' ~ cases | join(' ') ~ ' end') }}
{% endmacro %}


{# Returns SQL that is true for a bad row. #}
{% macro _sql_is_bad(settings) %}
    {{ return(collapsing._bad_row_reasons(settings).values() | join(' or ')) }}
{% endmacro %}


{#
    Raises an error before anything is appended when unread rows are bad: names reason, count, keys and blocks. Rows that are rejected do not stop
    it; but a row without a block token belongs to no batch, and each would reject it.
#}
{% macro _check_bad_rows(unread, settings, profile) %}
    {% set lines, block = [], adapter.quote(settings.block) if settings.block else 'null' %}
    {% for reason in collapsing._bad_row_reasons(settings)
        if reason in profile.bad and (settings.on_bad_rows == 'fail' or reason == 'null_block') %}
        {% set samples = [] %}
        {% for key, token in collapsing._rows_of(
            'select ' ~ collapsing._row_as_json(settings.key) ~ ', cast(' ~ block ~ ' as string) from ' ~ unread
            ~ ' where ' ~ collapsing._bad_reason(settings) ~ " = '" ~ reason ~ "' limit 3"
        ) %}
            {% do samples.append(key ~ (' in block ' ~ (token if token is not none else 'NULL') if settings.block else '')) %}
        {% endfor %}
        {% set found = collapsing._with_noun(profile.bad[reason], 'row') %}
        {% do lines.append(reason ~ ': ' ~ found ~ ', for example ' ~ samples | join('; ')) %}
    {% endfor %}
    {% if lines %}
        {% do collapsing._raise(
            model.name, 'its stage has bad rows: nothing was appended, and no block counts as read.\n  ' ~ lines | join('\n  ')
            ~ ("\n  The setting 'on_bad_rows: reject' would reject them, and fold the others" if settings.block
                and settings.on_bad_rows == 'fail' and not profile.bad.null_block)
        ) %}
    {% endif %}
{% endmacro %}
