{% macro status(model=none, format='table') %}
    {% if execute %}
        {% if format not in ['table', 'json'] %}
            {% do exceptions.raise_compiler_error("collapsing: status's format must be table or json; given: " ~ format) %}
        {% endif %}
        {% set found = [] %}
        {% for node in collapsing._asked_models('status', model, ['ledger']) %}
            {% set is_projection = collapsing._kind_of(node, 'status') == 'projection' %}
            {% do found.append(
                collapsing._projection_figures(node) if is_projection else collapsing._ledger_figures(node, skip_unbuilt=model is none)
            ) %}
        {% endfor %}
        {% if format == 'json' %}
            {% do print(tojson(found)) %}
        {% elif model is string %}
            {% do collapsing._print_figures(found[0]) %}
        {% else %}
            {% do collapsing._print_table(found) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{# Prints what there is to say of one model, a line each. #}
{% macro _print_figures(figures) %}
    {% do print(figures.model) %}
    {% for label, value in figures.items() if label not in ['model', 'readers'] and value is not none %}
        {% do print('  %-28s %s' | format(label | replace('_', ' '), value)) %}
    {% endfor %}
    {% for reader in figures.get('readers') or [] %}
        {% do print('  %-28s %s' | format('projection ' ~ reader.name, collapsing._lag_in_words(reader, figures.last_batch))) %}
    {% endfor %}
{% endmacro %}


{# Returns in words how far a projection has read a ledger whose last batch is `last`. #}
{% macro _lag_in_words(reader, last) %}
    {{ return(
        'has read up to batch ' ~ reader.batch ~ ' of ' ~ (last or 0)
        ~ (', ' ~ reader.lag_batches ~ ' behind' if reader.lag_batches else '')
    ) }}
{% endmacro %}


{# Prints a table of several models, a line each. #}
{% macro _print_table(found) %}
    {% set columns = [
        'model', 'last_batch', 'age_minutes', 'unread_blocks', 'rows', 'live', 'dead', 'tombstones', 'lag_batches', 'rejects'
    ] %}
    {% set lines = [columns | map('replace', '_', ' ') | list] %}
    {% for figures in found %}
        {% set cells = [] %}
        {% for column in columns %}
            {% set value = figures.get(column) %}
            {% do cells.append((value if value is not none else '-') | string) %}
        {% endfor %}
        {% do lines.append(cells) %}
    {% endfor %}
    {% for cells in lines %}
        {% set padded = [] %}
        {% for cell in cells %}
            {% set width = lines | map(attribute=loop.index0) | map('length') | max %}
            {% do padded.append(cell.ljust(width) if loop.first else cell.rjust(width)) %}
        {% endfor %}
        {% do print(padded | join('  ')) %}
    {% endfor %}
    {% for figures in found if figures.state != 'built' %}
        {% do print(figures.model ~ ': ' ~ figures.state) %}
    {% endfor %}
{% endmacro %}
