{#
    Returns {reason: SQL that is true for a bad row}: rows that no rule of an engine can place. Of several reasons the first counts, and a
    row without a block must stop the run whatever else is wrong with it.
#}
{% macro _bad_row_reasons(settings) %}
    {% set reasons = {} %}
    {% for reason, columns in collapsing._needed_columns(settings).items() if columns %}
        {% do reasons.update({reason: collapsing._column_list(columns, suffix=' is null', between=' or ')}) %}
    {% endfor %}
    {% if settings.block %}
        {#- a pattern that does not match a file's path gives an empty token, and by one token all files would be one block -#}
        {% set is_empty = 'cast(' ~ adapter.quote(settings.block) ~ " as string) = ''" %}
        {% do reasons.update({'null_block': reasons.null_block ~ ' or ' ~ is_empty}) %}
    {% endif %}
    {% if settings.version and collapsing._engine(settings).unversioned_deletes %}
        {#- where a delete's version means nothing, it may be missing -#}
        {% set is_delete = 'coalesce(' ~ collapsing._sql_is_delete(settings) ~ ', false)' %}
        {% do reasons.update({'null_version': '(' ~ reasons.null_version ~ ') and not ' ~ is_delete}) %}
    {% endif %}
    {% set mark, values = [settings.sign, '(1, -1)'] if settings.sign else [settings.is_deleted, '(0, 1)'] %}
    {% if mark %}
        {% do reasons.update({'bad_sign': 'coalesce(' ~ collapsing._as_number(mark) ~ ' not in ' ~ values ~ ', true)'}) %}
    {% endif %}
    {{ return(reasons) }}
{% endmacro %}


{# Returns {reason: the columns that are not NULL in a row that can be folded}. #}
{% macro _needed_columns(settings) %}
    {% set block = [settings.block] if settings.block else [] %}
    {{ return({'null_block': block, 'null_key': settings.key, 'null_version': settings.version}) }}
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
    Raises an error before anything is appended when unread rows are bad: for each reason what is allowed, how many rows, and up to three of
    them with key, values and block. Rows that are rejected do not stop it; but a row without a block token belongs to no batch, and each
    would reject it.
#}
{% macro _check_bad_rows(unread, settings, profile) %}
    {% set mark, stopping, needed = settings.sign or settings.is_deleted, [], collapsing._needed_columns(settings) %}
    {% for reason in collapsing._bad_row_reasons(settings)
        if reason in profile.bad and (settings.on_bad_rows == 'fail' or reason == 'null_block') %}
        {% do stopping.append(reason) %}
    {% endfor %}
    {% if stopping %}
        {% set lines, block = [], needed.null_block %}
        {% set samples = collapsing._rows_of(collapsing._bad_samples(unread, settings, block, [mark] if mark else [])) %}
        {% for reason in stopping %}
            {% set found = [] %}
            {% for cause, sample, token in samples if cause == reason %}
                {% set shown = token or ('NULL' if token is none else "''") %}
                {% do found.append(sample ~ (' in block ' ~ shown if block else '')) %}
            {% endfor %}
            {% set empty = ' or empty' if reason == 'null_block' else '' %}
            {% set allowed = needed[reason] | join(' and ') ~ ' must not be NULL' ~ empty if reason in needed
                else mark ~ ' must be ' ~ ('1 or -1' if settings.sign else 'a boolean, 0 or 1') %}
            {% set count = collapsing._with_noun(profile.bad[reason], 'row') %}
            {% do lines.append(reason ~ ' (' ~ allowed ~ '): ' ~ count ~ ', for example ' ~ found | join('; ')) %}
        {% endfor %}
        {% do collapsing._raise(
            model.name, 'its stage has bad rows: nothing was appended, and no block counts as read.\n  ' ~ lines | join('\n  ')
            ~ ("\n  The setting 'on_bad_rows: reject' would reject them, and fold the others" if settings.block
                and settings.on_bad_rows == 'fail' and not profile.bad.null_block)
        ) %}
    {% endif %}
{% endmacro %}


{# Returns the query of up to three bad rows for each reason: the reason, the columns that decide as JSON, and the token. #}
{% macro _bad_samples(unread, settings, block, mark) %}
select
    reason,
    sample,
    token
from (
    select
        *,
        row_number() over (partition by reason order by sample, token) as place
    from (
        select
            {{ collapsing._bad_reason(settings) }} as reason,
            {{ collapsing._row_as_json((settings.key + settings.version + mark) | unique | list) }} as sample,
            cast({{ collapsing._column_list(block) or 'null' }} as string) as token
        from {{ unread }}
    )
)
where reason is not null and place <= 3
order by reason, place
{% endmacro %}
