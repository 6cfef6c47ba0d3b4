{# Returns the value of a setting that is one of a few words, the first of them where nothing is given. #}
{% macro _one_of(model_name, given, setting, allowed) %}
    {% set value = given.get(setting, allowed[0]) %}
    {% if value not in allowed %}
        {{ collapsing._raise_setting(model_name, setting, 'one of: ' ~ allowed | join(', '), value) }}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{# Returns the columns of a setting as a list, in the order given; empty where nothing is given. #}
{% macro _columns_of(model_name, given, setting) %}
    {% set value = given.get(setting, []) %}
    {% set columns = [value] if value is string else value %}
    {% if columns is mapping or columns is not iterable
        or columns | select('string') | list | length != columns | length
        or '' in columns or columns | unique | list | length != columns | length %}
        {{ collapsing._raise_setting(model_name, setting, 'a column or a list of different columns', value) }}
    {% endif %}
    {{ return(columns | list) }}
{% endmacro %}


{# Returns the column of a setting that takes one, or none. #}
{% macro _column_of(model_name, given, setting) %}
    {% set value = given.get(setting) %}
    {% if value is not none and (value is not string or value == '') %}
        {{ collapsing._raise_setting(model_name, setting, 'a column', value) }}
    {% endif %}
    {{ return(value) }}
{% endmacro %}
