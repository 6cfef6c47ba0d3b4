{# Gives a relation as its plain name: under --empty and --sample a ref() renders as a subquery, which cannot be described. #}
{% macro _named(relation) %}
    {{ return(api.Relation.create(database=relation.database, schema=relation.schema, identifier=relation.identifier)) }}
{% endmacro %}


{# Gives whether a ref() renders as a subquery, as under --empty and --sample. #}
{% macro _is_subquery(relation) %}
    {{ return(relation | string != collapsing._named(relation) | string) }}
{% endmacro %}


{# Stops a run with --sample that would read a part of a relation and count it as read whole. #}
{% macro _refuse_sample(relation) %}
    {% if collapsing._is_subquery(relation) and not flags.EMPTY %}
        {{ collapsing._refuse(
            model.name, '--sample would take a part of ' ~ collapsing._named(relation) ~ ' for the whole: what is left out would never'
            ~ " be read. Select this model's tables without --sample, or sample in the SQL of the stage"
        ) }}
    {% endif %}
{% endmacro %}


{# Gives the table of the package's own that stands beside another one: <table>__<what>. #}
{% macro _beside(relation, what) %}
    {{ return(api.Relation.create(
        database=relation.database, schema=relation.schema, identifier=relation.identifier ~ '__' ~ what, type='table'
    )) }}
{% endmacro %}


{# Gives a relation with an alias for `from`: also one that renders as a subquery with an alias of its own. #}
{% macro _aliased(relation, alias) %}
    {% set rendered = relation | string %}
    {{ return(('(select * from ' ~ rendered ~ ')' if rendered.startswith('(') else rendered) ~ ' as ' ~ alias) }}
{% endmacro %}


{# Gives a property of a table, or none: a build that was killed before it wrote its properties has none. #}
{% macro _property_of(relation, name) %}
    {% for row in collapsing._rows_of('show tblproperties ' ~ relation) if row[0] == name %}
        {{ return(row[1]) }}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# Gives the clause that names the format of a model's tables, or nothing where Spark's default is used. #}
{% macro _using(relation) %}
    {% set format = collapsing._model_of(relation).config.file_format %}
    {{ return('using ' ~ format if format else '') }}
{% endmacro %}


{# Gives what the catalog says of a table under a name such as 'Location', its folder; none where it says nothing. #}
{% macro _detail_of(relation, name) %}
    {% for row in collapsing._rows_of('describe table extended ' ~ relation) if row[0] == name %}
        {{ return(row[1]) }}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}
