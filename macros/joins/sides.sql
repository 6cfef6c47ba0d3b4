{#
    A joined ledger reads sides: the first ledger, whose rows it has, and others, of which each row of the first finds at most
    one. A side is
        name, id           as the model's SQL names it, and its unique_id in the graph
        reads              text of which ledger it is, and of which table: with another one the joined ledger is built again
        relation, settings, batches   of the ledger, the last as _batches_of returns them
        after, upto        the batches (after, upto] are unread; `after` none where all of it is to be read
        token              what the manifest says once it is read up to there, as _watermarks_of reads it
        columns            what final shows of it, [{name, dtype}]
        joined             of the first ledger, the columns of the joined one, [{name, dtype}]
        on                 of another side, pairs [column of the first ledger, column of this one]
        takes              of another side, pairs [name in the joined ledger, column of this one]
        type               of another side, left or inner
        changed, changed_count   of another side, what can stand behind `from` for its rows that have changed, as _changed_rows
                           returns them, and how many there are; or none
        changed_bounds, bounds   literal ranges, over the first ledger for the changed keys, and over this one for the keys looked
                                 up; or none
#}


{# Returns the sides that this model reads, the first one first; `read` is that of _watermarks_of. _take_columns adds columns. #}
{% macro _sides(settings, read) %}
    {% set given = graph.nodes[model.unique_id].collapsing_sides %}
    {#- a ledger may be several sides, which have to see the same batches of it -#}
    {% set batches = {} %}
    {% set first, others = collapsing._side(given.first, none, read, batches), given.others %}
    {{ collapsing._raise(
        model.name, 'the first ledger of joined must be the first model that its SQL names; given: ' ~ first.name
        ~ ', and its SQL names ' ~ (model.depends_on.nodes | first) ~ ' before it'
    ) if first.id != model.depends_on.nodes | first }}
    {{ collapsing._raise_setting(
        model.name, 'join', 'for the ledgers that joined is given by name: ' ~ (others | sort | join(', ') or 'none'),
        settings.join | sort | join(', ')
    ) if others | sort != settings.join | sort }}
    {% set sides = [first] %}
    {% do settings.update({'first': first.reads}) %}
    {% for name, join in settings.join.items() %}
        {% set side = collapsing._side(others[name], name, read, batches) %}
        {% do side.update({
            'type': join.type, 'on': join.on.items() | list, 'takes': join.columns.items() | list,
            'changed': none, 'changed_count': 0, 'changed_bounds': none, 'bounds': none
        }) %}
        {#- a row of the first ledger must find at most one row there -#}
        {{ collapsing._raise(
            model.name, "the ledger '" ~ side.ledger ~ "' has rows that carry their own sign: they may leave a key with several live rows, and"
            ~ ' a joined row must find one. Only the first ledger may be signed'
        ) if collapsing._engine(side.settings).keeps_every_row }}
        {% set key, joined = side.settings.key | map('lower') | sort, side.on | map('last') | map('lower') | sort %}
        {{ collapsing._raise_setting(
            model.name, 'join.' ~ name ~ '.on', 'for each column of the whole key of ' ~ name ~ ' (' ~ side.settings.key | join(', ')
            ~ '), one column of the first ledger, so that a row finds at most one row there', join.on.values() | join(', ')
        ) if key != joined }}
        {#- the rules that the table is marked with: another ledger or table under the same name is another join -#}
        {% do join.update({'reads': side.reads}) %}
        {% do sides.append(side) %}
    {% endfor %}
    {{ return(sides) }}
{% endmacro %}


{# Returns one side, or raises an error where it cannot be joined; `name` is none for the first ledger, `known` {id: batches}. #}
{% macro _side(relation, name, read, known) %}
    {% set node = collapsing._model_of(relation) %}
    {{ collapsing._raise(
        model.name, "the keys of the ledger '" ~ node.name
        ~ "' are split into shards, and a joined ledger reads one table of each ledger"
    ) if node is not none and collapsing._shards_of(node) }}
    {% set node = collapsing._asked_ledger('joined', relation) %}
    {% set settings = collapsing._ledger_settings(node) %}
    {{ collapsing._raise(
        model.name, "the ledger '" ~ node.name ~ "' has the engine " ~ settings.engine
        ~ ': it has no cancel rows, so a joined ledger would not notice rows that are replaced.'
        ~ ' Give it the engine versioned_collapsing, or collapsing where there is no version'
    ) if not collapsing._engine(settings).adds_up }}
    {% set table = collapsing._plain(relation) %}
    {% set id, after = node.unique_id, read.get(node.unique_id) %}
    {% do known.update({id: collapsing._batches_of_source(relation, at_least=after or 0)}) if id not in known %}
    {% set batches = known[id] %}
    {% set upto = batches.last if batches else 0 %}
    {{ return({
        'name': name or node.name, 'ledger': node.name, 'id': id, 'relation': table, 'reads': id ~ ' in ' ~ table,
        'settings': settings, 'batches': batches, 'after': after, 'upto': upto, 'token': id ~ ':' ~ upto
    }) }}
{% endmacro %}


{#
    Sets the columns of each side, spelled as its table has them, and checks that all that the settings name are there, that columns
    which are compared have one type, and that no name is there twice. Returns the columns of the joined ledger, [{name, dtype}].
#}
{% macro _take_columns(sides) %}
    {% for side in sides %}
        {% set described = collapsing._describe(side.relation) %}
        {% do collapsing._check_read_by_its_rules(described, side.settings) %}
        {% do side.update({'columns': described.columns | rejectattr('name', 'in', collapsing._system_columns()) | list}) %}
    {% endfor %}
    {% set columns, owners = [], {} %}
    {% for column in sides[0].columns %}
        {% do collapsing._add_joined_column(columns, owners, column.name, column, sides[0].name) %}
    {% endfor %}
    {% for side in sides[1:] %}
        {% set on, takes = [], [] %}
        {% for mine, theirs in side.on %}
            {% set mine = collapsing._column_on(sides[0], mine, 'join.' ~ side.name ~ '.on') %}
            {% set theirs = collapsing._column_on(side, theirs, 'join.' ~ side.name ~ '.on') %}
            {% do collapsing._check_one_type(side, mine, theirs) %}
            {% do on.append([mine.name, theirs.name]) %}
        {% endfor %}
        {% for name, theirs in side.takes %}
            {% set column = collapsing._column_on(side, theirs, 'join.' ~ side.name ~ '.columns') %}
            {% do collapsing._add_joined_column(columns, owners, name, column, side.name) %}
            {% do takes.append([name, column.name]) %}
        {% endfor %}
        {% do side.update({'on': on, 'takes': takes}) %}
    {% endfor %}
    {% do sides[0].update({'joined': columns}) %}
    {{ return(columns) }}
{% endmacro %}


{# Returns a side's column, {name, dtype}, by a name in any case; raises an error where there is none. #}
{% macro _column_on(side, name, setting) %}
    {% for column in side.columns if column.name | lower == name | lower %}
        {{ return(column) }}
    {% endfor %}
    {{ collapsing._raise_setting(
        model.name, setting, 'a column of ' ~ side.name ~ ' (' ~ side.columns | map(attribute='name') | join(', ') ~ ')', name
    ) }}
{% endmacro %}


{# Adds a column to those of a joined ledger; raises an error where another one has its name, or the name is the package's. #}
{% macro _add_joined_column(columns, owners, name, column, owner) %}
    {{ collapsing._raise(
        model.name, "the column '" ~ name ~ "' is both of " ~ owners[name | lower] ~ ' and of ' ~ owner
        ~ ". Give one of them another name: 'columns': {'" ~ owner ~ '_' ~ name ~ "': '" ~ column.name ~ "'}"
    ) if name | lower in owners }}
    {{ collapsing._raise(
        model.name, "the column '" ~ name ~ "' has a backtick in its name, which dbt does not quote: give it another name"
    ) if '`' in name }}
    {{ collapsing._raise(model.name, "the name '" ~ name ~ "' begins with ledger_: such names are reserved for the package")
        if name.lower().startswith('ledger_') }}
    {% do owners.update({name | lower: owner}) %}
    {% do columns.append({'name': name, 'dtype': column.dtype}) %}
{% endmacro %}


{# Raises an error where Spark would convert one of two columns to compare them: '1' and '01' might be one, and a row find two. #}
{% macro _check_one_type(side, mine, theirs) %}
    {% set types = [] %}
    {% for dtype in [mine.dtype, theirs.dtype] %}
        {% set text = modules.re.sub('^varchar\\(\\d+\\)', 'string', dtype) %}
        {% do types.append('integer' if collapsing._is_integer(dtype) else text) %}
    {% endfor %}
    {{ collapsing._raise(
        model.name, "setting 'join." ~ side.name ~ ".on': '" ~ mine.name ~ "' is " ~ mine.dtype ~ " and '" ~ theirs.name
        ~ "' of " ~ side.name ~ ' is ' ~ theirs.dtype ~ ': compared by conversion, a row might find several rows. Cast one of them in its stage'
    ) if types[0] != types[1] }}
{% endmacro %}
