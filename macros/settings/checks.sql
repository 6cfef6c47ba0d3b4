{# Raises an error that begins with the name of the model. #}
{% macro _raise(model_name, message) %}
    {{ exceptions.raise_compiler_error("collapsing: model '" ~ model_name ~ "': " ~ message) }}
{% endmacro %}


{# Warns, beginning with the name of the model. #}
{% macro _warn(model_name, message) %}
    {% do exceptions.warn("collapsing: model '" ~ model_name ~ "': " ~ message) %}
{% endmacro %}


{# Raises an error about one setting: says what is allowed and what was given. #}
{% macro _raise_setting(model_name, setting, allowed, given) %}
    {{ collapsing._raise(
        model_name, "setting '" ~ setting ~ "' must be " ~ allowed ~ "; given: " ~ (given if given is string else collapsing._shown(given))
    ) }}
{% endmacro %}


{# Returns a value as an error shows what was given: JSON, but for what has no JSON, such as the dates that YAML makes of text. #}
{% macro _shown(given) %}
    {% do return('nothing') if given is undefined %}
    {#- a relation is a mapping that cannot be asked for its items -#}
    {% do return(given | string) if given.isoformat or given.identifier %}
    {% set parts = [] %}
    {% if given is mapping %}
        {% for name, value in given.items() %}
            {% do parts.append(collapsing._shown(name) ~ ': ' ~ collapsing._shown(value)) %}
        {% endfor %}
        {{ return('{' ~ parts | join(', ') ~ '}') }}
    {% elif given is sequence and given is not string %}
        {% for value in given %}
            {% do parts.append(collapsing._shown(value)) %}
        {% endfor %}
        {{ return('[' ~ parts | join(', ') ~ ']') }}
    {% endif %}
    {{ return(tojson(given, given | string)) }}
{% endmacro %}


{# Raises an error for the first unknown setting, of those `within` one: a misspelt one must not leave the default unnoticed. #}
{% macro _check_known(model_name, settings, known, within='') %}
    {% for setting in settings if setting not in known %}
        {{ collapsing._raise(model_name, "unknown setting '" ~ within ~ setting ~ "'; allowed: " ~ known | join(', ')) }}
    {% endfor %}
{% endmacro %}


{# Returns the value of a setting that is one of a few words, by default the first of them. #}
{% macro _one_of(model_name, given, setting, allowed, within='') %}
    {% set value = given.get(setting, allowed[0]) %}
    {{ collapsing._raise_setting(model_name, within ~ setting, 'one of: ' ~ allowed | join(', '), value)
        if value not in allowed }}
    {{ return(value) }}
{% endmacro %}


{# Returns the columns of a setting as a list, in the order given; empty where nothing is given. #}
{% macro _columns_setting(model_name, given, setting) %}
    {% set value = given.get(setting, []) %}
    {% set columns = [value] if value is string else value %}
    {{ collapsing._raise_setting(model_name, setting, 'a column or a list of different columns', value)
        if columns is mapping or columns is not iterable
        or columns | select('string') | list | length != columns | length
        or '' in columns or columns | unique | list | length != columns | length }}
    {{ return(columns | list) }}
{% endmacro %}


{# Returns the column of a setting that takes one, or none. #}
{% macro _column_setting(model_name, given, setting) %}
    {% set value = given.get(setting) %}
    {{ collapsing._raise_setting(model_name, setting, 'a column', value)
        if value is not none and (value is not string or value == '') }}
    {{ return(value) }}
{% endmacro %}


{# Raises an error if a setting that the engine needs is missing, or one that it ignores is given. #}
{% macro _check_engine(settings, given) %}
    {% set engine = collapsing._engine(settings) %}
    {% set name = settings.engine ~ (' with input: signed' if settings.input == 'signed' else '') %}
    {% if settings.input == 'signed' and not engine.is_signed %}
        {% set signed = [] %}
        {% for other in collapsing._engine_names() if '_engine_' ~ other ~ '__signed' in collapsing %}
            {% do signed.append(other) %}
        {% endfor %}
        {{ collapsing._raise(
            settings.model, "setting 'input: signed' is for the engines " ~ signed | join(' and ') ~ '; ' ~ settings.engine ~ ' has no cancel rows'
        ) }}
    {% endif %}
    {% for setting in ['key'] + engine.needs if not settings[setting] %}
        {{ collapsing._raise_setting(
            settings.model, setting,
            ('a column' if setting == 'sign' else 'a column or a list of columns') ~ ' (the engine ' ~ name ~ ' needs it'
            ~ (': ' ~ engine.because if setting != 'key') ~ ')', 'nothing'
        ) }}
    {% endfor %}
    {% for setting in engine.ignores if setting in given %}
        {{ collapsing._raise(
            settings.model, "setting '" ~ setting ~ "' has no effect with engine '" ~ name ~ "': remove it (" ~ engine.because ~ ')'
        ) }}
    {% endfor %}
{% endmacro %}


{# Raises an error where a model's SQL is more than its call, or a table is not its own; warns of configs without effect. #}
{% macro _check_model(kind) %}
    {% do collapsing._check_shard() %}
    {% do collapsing._check_format() %}
    {#- a mapping in a call may end in two braces as well, but then the call continues -#}
    {% set blocks = '(?s)\\{\\{.*?\\}\\}(?!\\s*[),\\]}])|\\{%.*?%\\}|\\{#.*?#\\}|/\\*.*?\\*/|--[^\\n]*' %}
    {% set rest = modules.re.sub(blocks, '', model.raw_code) %}
    {#- what other calls have rendered is around the query; ephemeral models come before it -#}
    {% set parts = sql.rpartition(graph.nodes[model.unique_id].get('collapsing_query', '?')) %}
    {% set around = modules.re.sub(blocks, '', parts[2] if '__dbt__cte__' in parts[0] else parts[0] ~ parts[2]) %}
    {% set rest = rest if rest.strip() else around %}
    {{ collapsing._raise(
        model.name, 'its SQL must be {{ collapsing.' ~ kind ~ "(ref('...')) }} and nothing else, and has: "
        ~ rest.split() | join(' ') ~ ('. Filter or join in the model that it reads' if kind == 'ledger'
            else '. Select from collapsing.final() of it in another model')
    ) if rest.strip() }}
    {% set instead = {
        'unique_key': {'ledger': "the setting 'key'", 'joined': 'the first ledger', 'projection': "the setting 'group_by'"}[kind],
        'incremental_strategy': 'the package, which only appends',
        'partition_by': 'the package: tables are partitioned by ledger_batch',
        'clustered_by': 'the package', 'buckets': 'the package'
    } %}
    {% set without_effect = [] %}
    {% for name, said_by in instead.items() if config.get(name) %}
        {% do without_effect.append(name ~ ' (decided by ' ~ said_by ~ ')') %}
    {% endfor %}
    {#- only in the model's own file: for a whole project it is a default like any other -#}
    {% do without_effect.append('materialized (decided by collapsing.' ~ kind ~ ')')
        if modules.re.search('\\bmaterialized\\s*=', model.raw_code) and 'incremental_' ~ kind not in model.raw_code %}
    {% do collapsing._warn(model.name, "these configs have no effect: " ~ without_effect | join(', ')) if without_effect %}
    {% do collapsing._check_names_beside() %}
{% endmacro %}


{# Raises an error where a model's settings are for another macro than the one that its SQL calls: `join` is for joined alone. #}
{% macro _check_call(kind) %}
    {% set node = graph.nodes.get(model.unique_id) %}
    {{ collapsing._raise(
        model.name, "collapsing.joined(...) and the setting 'join' go together: its SQL calls collapsing." ~ kind
        ~ '(...), and its settings ' ~ ("have no 'join'" if kind == 'joined' else "have 'join'")
    ) if node and collapsing._is_joined(node) != (kind == 'joined') }}
{% endmacro %}


{#
    At the end of run and build, warns about models that were built with settings but without the macro that they are for, and
    about models that read the table of a ledger or projection, which contains rows and the rows that cancel them. A Jinja comment
    in a model's SQL, `collapsing: raw`, says that this is intended.
#}
{% macro _warn_of_misuse(results) %}
    {% for result in results if execute and collapsing._may_write() and result.node.resource_type == 'model' %}
        {% set node = result.node %}
        {% if collapsing._kind_if_any(node) and not collapsing._is_built_here(node) %}
            {% do collapsing._warn(node.name, collapsing._no_call(node)) %}
        {% else %}
            {% for read in collapsing._read_raw(node) | unique %}
                {% do collapsing._warn(
                    node.name, "it reads the table of '" ~ read
                    ~ "', in which an updated key has three rows: use {{ collapsing.final(ref('"
                    ~ read ~ "')) }}, or, to read the table itself, write {" ~ '# collapsing: raw #' ~ '} into the model'
                ) %}
            {% endfor %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{# Returns the names of the ledgers and projections whose tables a model reads as they are, itself or through ephemeral models. #}
{% macro _read_raw(node) %}
    {% set code, found = node.raw_code or '', [] %}
    {% do return([]) if modules.re.search('\\{#-?\\s*collapsing: raw\\b', code) %}
    {#- without comments: dbt reads `-- depends_on: {{ ref(...) }}` in them -#}
    {% set code = modules.re.sub('(?s)\\{#.*?#\\}|/\\*.*?\\*/|--[^\\n]*', '', code) %}
    {% set has_call = modules.re.search('\\bcollapsing\\.\\w', code) is not none %}
    {% for read in collapsing._sources_of(node) if not collapsing._is_built_here(node) %}
        {#- of several models one may be read by a macro, and another as its table -#}
        {% set is_shown = '\\{\\{-?\\s*ref\\(([^)]*,)?\\s*[\'"]' ~ modules.re.escape(read.name) ~ '[\'"][^)]*\\)\\s*-?\\}\\}' %}
        {% do found.append(read.name) if not has_call or modules.re.search(is_shown, code) %}
    {% endfor %}
    {% for id in node.depends_on.nodes if id in graph.nodes and graph.nodes[id].config.materialized == 'ephemeral' %}
        {% do found.extend(collapsing._read_raw(graph.nodes[id])) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}
