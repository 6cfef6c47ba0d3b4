#!/usr/bin/env bash
# Sourced by the scripts beside it, which then call
#
#   setup_environment               where things go: exports COLLAPSING_LOCAL, DBT_*, SPARK_LOCAL_IP
#   setup_environment_of_user       the same for a project of the user's own: keeps its profiles, and what it is told of Spark
#   setup_java                      finds Java 17 or 21 (installs one as root with apt-get), exports JAVA_HOME
#   setup_venv requirements.txt     makes or repairs .venv so that it holds this lock, sets VENV_PYTHON
#   setup_classes                   after both: archives Spark's classes once, so that sessions start in half of the time
#   setup_local_files               after both: fetches a jar with which Hadoop writes local files without starting a process for each
#   setup_other 'spark 3.5'         before setup_venv "$OTHER_LOCK": other releases of Spark or dbt, in a .venv of their own
#   setup_hadoop                    after it: which Hadoop the target s3 needs, with another Spark
#   setup_docs                      makes or repairs .venv-docs, which builds the documentation, sets DOCS_PYTHON
#
# One line of progress a step. A step that cannot succeed says once what is wrong and what to type, and exits 1.
# Written for bash 3.2 and later (macOS), for `set -euo pipefail`, for any current folder and for blanks in paths.

unset CDPATH # with it cd prints where it went
COLLAPSING_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=$COLLAPSING_ROOT/.venv
VENV_PYTHON=$VENV/bin/python

setup_say() { printf '[setup] %s\n' "$*"; }

setup_stop() {
    printf '[setup] %s\n' "$1" >&2
    shift
    [ $# = 0 ] || printf '%s\n' "$@" >&2
    exit 1
}

setup_environment() {
    # Warehouse, metastore, logs, events, landing, report: all in one folder that git ignores.
    export COLLAPSING_LOCAL=${COLLAPSING_LOCAL:-$COLLAPSING_ROOT/.local}
    mkdir -p "$COLLAPSING_LOCAL/logs"
    COLLAPSING_LOCAL=$(cd "$COLLAPSING_LOCAL" && pwd -P)
    export DBT_PROFILES_DIR=$COLLAPSING_ROOT/profiles
    export DBT_LOG_PATH=$COLLAPSING_LOCAL/logs
    export DBT_SEND_ANONYMOUS_USAGE_STATS=false
    export PYTHONUNBUFFERED=1
    # Spark listens on loopback only.
    export SPARK_LOCAL_IP=127.0.0.1
    # Another Spark of this user must not be started in place of the one in .venv.
    unset SPARK_HOME SPARK_CONF_DIR SPARK_REMOTE PYSPARK_SUBMIT_ARGS
}

# The same for a project of the user's own, which may have its profiles elsewhere, and a Spark that it is told of.
setup_environment_of_user() {
    local name kept=()
    # as dbt has it: the folder that is named, then the current one, then that of the user; this repository has its own
    [ -n "${DBT_PROFILES_DIR:-}" ] || [ ! -f profiles.yml ] || DBT_PROFILES_DIR=$PWD
    [ -n "${DBT_PROFILES_DIR:-}" ] || [ "$PWD" = "$COLLAPSING_ROOT" ] || [ ! -f ~/.dbt/profiles.yml ] || DBT_PROFILES_DIR=~/.dbt
    for name in DBT_PROFILES_DIR SPARK_CONF_DIR SPARK_REMOTE PYSPARK_SUBMIT_ARGS; do
        [ -z "${!name:-}" ] || kept+=("$name=${!name}")
    done
    setup_environment
    [ ${#kept[@]} = 0 ] || export "${kept[@]}"
}

# --- Java -----------------------------------------------------------------------------------------------------------

# Prints what a java binary says of itself: version, a space, home. Fails where it does not run.
_java_describe() {
    local said version='' home=''
    said=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    [[ $said =~ version\ \"([0-9][0-9._]*) ]] && version=${BASH_REMATCH[1]}
    [[ $said =~ java\.home\ =\ ([^$'\n']+) ]] && home=${BASH_REMATCH[1]}
    [ -n "$version" ] && printf '%s %s\n' "$version" "$home"
}

# Sets JAVA_VERSION, JAVA_AT and JAVA_PROBLEM (empty when this Java will do) for the Java that Spark would start.
_java_look() {
    local java=java described major
    JAVA_VERSION='' JAVA_AT='' JAVA_PROBLEM=''
    if [ -n "${JAVA_HOME:-}" ]; then
        java=$JAVA_HOME/bin/java
        if [ ! -x "$java" ]; then
            JAVA_PROBLEM="JAVA_HOME is $JAVA_HOME, where there is no bin/java"
            return
        fi
    elif ! command -v java >/dev/null 2>&1; then
        JAVA_PROBLEM="there is no Java on this machine's PATH"
        return
    fi
    # macOS has a java that only says that there is none.
    if ! described=$(_java_describe "$java"); then
        JAVA_PROBLEM="$java does not run"
        return
    fi
    JAVA_VERSION=${described%% *}
    JAVA_AT=${JAVA_HOME:-${described#* }}
    major=${JAVA_VERSION%%[._]*}
    if [ "$major" -lt 17 ]; then
        JAVA_PROBLEM="${JAVA_AT:-java} is Java $JAVA_VERSION, too old"
    elif [ "$major" -gt 21 ]; then
        JAVA_PROBLEM="${JAVA_AT:-java} is Java $JAVA_VERSION, too new (Spark fails on it)"
    fi
}

_java_stop() {
    setup_stop "Spark needs Java 17 or 21, but $JAVA_PROBLEM. To install one:" \
        "  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y openjdk-17-jre-headless" \
        "                   (openjdk-21-jre-headless where 17 is gone)" \
        "  Fedora:          sudo dnf install -y java-21-openjdk-headless" \
        "  macOS:           brew install openjdk@17" \
        "Then, if there are other Javas, say which one is meant and start again:" \
        "  Linux:           export JAVA_HOME=/usr/lib/jvm/<its folder>" \
        "  macOS:           export JAVA_HOME=\"\$(brew --prefix openjdk@17)/libexec/openjdk.jdk/Contents/Home\""
}

_is_root_with_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

_apt_install() {
    local log=$COLLAPSING_LOCAL/logs/setup.log
    setup_say "installing $1 with apt-get"
    { DEBIAN_FRONTEND=noninteractive apt-get update && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$1"; } >>"$log" 2>&1 </dev/null && return
    setup_say "apt-get could not install $1; its output is in $log"
    return 1
}

# Prints the home of a Java 17 or 21 that apt-get has installed. Fails where there is none.
_java_of_apt() {
    local home
    for home in /usr/lib/jvm/java-{17,21}-openjdk-*; do
        [ ! -x "$home/bin/java" ] || { printf '%s\n' "$home" && return; }
    done
    return 1
}

setup_java() {
    _java_look
    if [ -n "$JAVA_PROBLEM" ] && _is_root_with_apt; then
        setup_say "Spark needs Java 17 or 21, but $JAVA_PROBLEM"
        local home
        home=$(_java_of_apt) || {
            _apt_install openjdk-17-jre-headless || _apt_install openjdk-21-jre-headless || _java_stop
            home=$(_java_of_apt) || _java_stop
        }
        JAVA_HOME=$home _java_look
    fi
    [ -z "$JAVA_PROBLEM" ] || _java_stop
    if [ -n "$JAVA_AT" ]; then
        export JAVA_HOME=$JAVA_AT
    fi
    setup_say "Java $JAVA_VERSION${JAVA_AT:+ ($JAVA_AT)}"
}

# --- Python ---------------------------------------------------------------------------------------------------------

# Prints the version of a Python that every supported dbt runs on. Fails for any other, and where it does not run.
_python_version() {
    "$1" -c 'import sys
if not (3, 10) <= sys.version_info[:2] <= (3, 13): sys.exit(1)
print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null </dev/null
}

_python_makes_venvs() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1 </dev/null; }

# Sets PYTHON to one that can make virtual environments.
_python_find() {
    local candidate found='' version
    for candidate in python3 python3.13 python3.12 python3.11 python3.10 python; do
        version=$(_python_version "$candidate") || continue
        if _python_makes_venvs "$candidate"; then
            PYTHON=$candidate
            return
        fi
        found=${found:-$candidate}
    done
    if [ -z "$found" ]; then
        setup_stop "Python 3.10 to 3.13 is needed, and there is none on this machine's PATH. To install one:" \
            "  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y python3 python3-venv" \
            "  Fedora:          sudo dnf install -y python3.13" \
            "  macOS:           brew install python@3.13"
    fi
    version=$(_python_version "$found")
    local package=python${version%.*}-venv
    if _is_root_with_apt && _apt_install "$package" && _python_makes_venvs "$found"; then
        PYTHON=$found
        return
    fi
    setup_stop "Python $version ($found) cannot make virtual environments: its modules venv and ensurepip are missing." \
        "  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y $package" \
        "  elsewhere:       install a whole Python 3.10 to 3.13"
}

# --- The virtual environment ------------------------------------------------------------------------------------------

# What the stamp says of an installed lock. Every lock has a line; requirements-dev.txt covers requirements-bench.txt, and that covers
# requirements.txt.
_lock_line() { (cd "$COLLAPSING_ROOT" && cksum "$1"); }

# A lock names every package that is wanted: what else its packages ask for is left out.
_pip_install() {
    PIP_USER=0 "$VENV_PYTHON" -m pip install --disable-pip-version-check --no-input --progress-bar off \
        --no-deps --require-hashes --requirement "$@"
}

# Shows the big downloads among pip's many lines.
_pip_progress() {
    local line
    while IFS= read -r line; do
        if [[ $line =~ Downloading\ ([^ ]*/)?([^/ ]+)\ \(([0-9]{2,}\.[0-9]\ MB)\) ]]; then
            setup_say "  downloading ${BASH_REMATCH[2]} (${BASH_REMATCH[3]})"
        elif [[ $line == 'Building wheels for collected packages'* ]]; then
            setup_say "  building packages that come as source"
        elif [[ $line == 'Installing collected packages'*dbt-core* ]]; then
            setup_say "  writing packages"
        fi
    done
}

# Makes a lock in which the named sections of requirements-other.txt take the place of lines of requirements-dev.txt, and names its
# .venv: setup_other 'spark 3.5' 'dbt 1.10'. Where both have a package, the first section of the file decides.
setup_other() {
    local section kind others=$COLLAPSING_ROOT/requirements-other.txt
    for section in "$@"; do
        kind=${section%% *}
        grep -qxF "[$section]" "$others" || setup_stop "--$kind must be a release that requirements-other.txt has:" \
            "  $(sed -n "s/^\[$kind \(.*\)]$/\1/p" "$others" | tr '\n' ' ')" "or be left out; given: ${section#* }"
        [ "$kind" != spark ] || _for_release "${section#* }"
    done
    VENV=$COLLAPSING_ROOT/.venv$(printf -- '-%s' "$@" | tr ' ' -)
    VENV_PYTHON=$VENV/bin/python
    OTHER_LOCK=.local/requirements${VENV#"$COLLAPSING_ROOT/.venv"}.txt
    mkdir -p "$COLLAPSING_ROOT/.local"
    awk -v sections="$(printf '[%s]' "$@")" '
        { name = $0; sub(/[[=].*/, "", name) }
        FNR == NR && /^\[/ { wanted = index(sections, $0) }
        FNR == NR && /^[a-z]/ && wanted && !(name in other) { other[name] = $0 }
        FNR == NR { next }
        /^[A-Za-z#]/ { kept = !(name in other) }
        kept
        END { for (name in other) print other[name] }
    ' "$others" "$COLLAPSING_ROOT/requirements-dev.txt" >"$COLLAPSING_ROOT/$OTHER_LOCK"
}

# What profiles.yml has to know of a release of Spark: the jars of Delta and Iceberg that belong to it, and a setting that leaks memory in
# one. Where there is no jar, Spark says so when it starts.
_for_release() {
    local delta iceberg=1.11.0
    case $1 in
    3.5) delta=delta-spark_2.12:3.3.3 iceberg=iceberg-spark-runtime-3.5_2.12:$iceberg ;;
    4.0) delta=delta-spark_4.0_2.13:4.4.0 iceberg=iceberg-spark-runtime-4.0_2.13:$iceberg ;;
    *) delta=delta-spark_$1_2.13:4.4.0 iceberg=iceberg-spark-runtime-$1_2.13:$iceberg ;;
    esac
    export COLLAPSING_DELTA=io.delta:$delta COLLAPSING_ICEBERG=org.apache.iceberg:$iceberg
    [ "$1" != 4.0 ] || export COLLAPSING_KEEP_PLANS=false
}

# The Hadoop that the Spark in .venv brings: exports COLLAPSING_HADOOP, which profiles.yml asks for.
setup_hadoop() {
    local jar
    for jar in "$VENV"/lib/python*/site-packages/pyspark/jars/hadoop-client-api-*.jar; do
        jar=${jar##*-}
        export COLLAPSING_HADOOP=${jar%.jar}
    done
}

# The documentation has an environment of its own: a project's own dbt and Spark need none of it.
setup_docs() {
    local venv=$VENV python=$VENV_PYTHON
    VENV=$COLLAPSING_ROOT/.venv-docs
    VENV_PYTHON=$VENV/bin/python
    setup_venv requirements-docs.txt
    # shellcheck disable=SC2034  # scripts/docs and scripts/lint read it
    DOCS_PYTHON=$VENV_PYTHON
    VENV=$venv VENV_PYTHON=$python
}

# Two setups at once would spoil each other's .venv: the second one waits. The system frees the lock of a killed one.
setup_venv() {
    # where nothing can be written, nothing can be spoilt either
    if command -v flock >/dev/null 2>&1 && [ -w "$COLLAPSING_ROOT" ]; then
        exec 9>"$COLLAPSING_ROOT/.venv.lock"
        flock -n 9 || { setup_say "another setup is at work on .venv: waiting for it" && flock 9; }
        _venv_make "$1"
        exec 9>&-
    else
        _venv_make "$1"
    fi
}

_venv_make() {
    local lock=$1 stamp=$VENV/.setup-stamp mark=$VENV/.build-lock.txt log=$COLLAPSING_LOCAL/logs/setup.log version started=$SECONDS
    # The stamp begins with the folder's path, because a virtual environment does not survive a move. It is taken away
    # during an install, so that one that was cut short is seen and begun again.
    if [ -f "$stamp" ] && [ "$(head -n 1 "$stamp")" = "$VENV" ] && version=$(_python_version "$VENV_PYTHON"); then
        setup_say "Python $version (${VENV##*/})"
        if grep -qxF "$(_lock_line "$lock")" "$stamp"; then
            setup_say "virtual environment ${VENV##*/} is up to date"
            return
        fi
        setup_say "$lock has changed or is new to ${VENV##*/}: installing it"
    else
        if [ -f "$VENV/pyvenv.cfg" ] && [ ! -f "$stamp" ] && [ ! -f "$mark" ]; then
            setup_stop "$VENV is a virtual environment that no script of this repository has made:" \
                "  move or remove it, and start again"
        fi
        _python_find
        setup_say "Python $(_python_version "$PYTHON") ($(command -v "$PYTHON"))"
        if [ -e "$VENV" ]; then
            setup_say "virtual environment ${VENV##*/} is unfinished or was moved: making it again"
        else
            setup_say "making the virtual environment ${VENV##*/}"
        fi
        # The mark comes first, and pyvenv.cfg goes first: what is left of a kill is not taken for a user's own.
        [ -L "$VENV" ] || rm -f "$VENV/pyvenv.cfg"
        rm -rf "$VENV"
        mkdir "$VENV"
        touch "$mark"
        "$PYTHON" -m venv "$VENV" >"$log" 2>&1 || {
            tail -n 5 "$log" >&2
            setup_stop "the virtual environment could not be made; all of the output is in $log"
        }
        local size='about 600 MB, a few minutes the first time'
        [ "$lock" != requirements-docs.txt ] || size='about 20 MB'
        setup_say "installing $(grep -c '^[A-Za-z0-9].*==' "$COLLAPSING_ROOT/$lock") packages of $lock ($size)"
    fi
    rm -f "$stamp" "$VENV"/.spark-*.jsa
    # Packages that come as source are built with the locked setuptools, not with the newest one.
    awk '/^[A-Za-z]/ { wanted = /^setuptools==/ } wanted' "$COLLAPSING_ROOT/$lock" >"$mark"
    if ! { { [ ! -s "$mark" ] || _pip_install "$mark"; } &&
        _pip_install "$COLLAPSING_ROOT/$lock" --no-build-isolation --use-pep517; } \
        2>&1 </dev/null | tee "$log" | _pip_progress; then
        tail -n 15 "$log" >&2
        setup_stop "pip could not install $lock; all of its output is in $log. Start again to try again."
    fi
    {
        printf '%s\n' "$VENV"
        _lock_line "$lock"
        [ "$lock" = requirements.txt ] || [ "$lock" = requirements-docs.txt ] || _lock_line requirements.txt
        [ "$lock" != requirements-dev.txt ] || _lock_line requirements-bench.txt
    } >"$stamp.new"
    mv "$stamp.new" "$stamp"
    setup_say "virtual environment ${VENV##*/} is ready ($((SECONDS - started)) s)"
}

# --- The classes of Spark -------------------------------------------------------------------------------------------

# Java checks a few thousand classes of Spark in each session, unless it finds them in an archive. One of another Java, or of other jars,
# it leaves alone; without one, a session starts as it always did.
setup_classes() {
    local archive=$VENV/.spark-$JAVA_VERSION.jsa log=$COLLAPSING_LOCAL/logs/classes.log started=$SECONDS
    if [ ! -f "$archive" ]; then
        setup_say "archiving Spark's classes, once"
        if ! SPARK_SUBMIT_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit='$archive.$$'" "$VENV_PYTHON" "$COLLAPSING_ROOT/scripts/shared/spark_classes.py" \
            >"$log" 2>&1 </dev/null || ! mv "$archive.$$" "$archive" 2>>"$log"; then
            rm -f "$archive.$$"
            setup_say "Spark's classes could not be archived, which only makes sessions start more slowly; see $log"
            return
        fi
        setup_say "Spark's classes are archived ($((SECONDS - started)) s)"
    fi
    export SPARK_SUBMIT_OPTS="${SPARK_SUBMIT_OPTS:+$SPARK_SUBMIT_OPTS }-XX:SharedArchiveFile='$archive'"
}

# --- Local files ----------------------------------------------------------------------------------------------------

# Without its native library, which pyspark does not have, Hadoop starts a process (chmod, ls) for each file and folder that it makes or
# looks at: a tenth of a small run. This file system asks Java instead. It is for tests: exports COLLAPSING_LOCAL_FILES, the jar's path.
setup_local_files() {
    local name=hadoop-bare-naked-local-fs version=0.1.0 log=$COLLAPSING_LOCAL/logs/local-files.log ivy
    local digest=e0cc30fb0531eb0b59468dc0abf5b257533d2365b5e9f45e795edd707aa78c62
    local jar=$VENV/$name-$version.jar
    if [ ! -f "$jar" ]; then
        setup_say "fetching $name"
        for ivy in "$VENV"/lib/python*/site-packages/pyspark/jars/ivy-*.jar; do break; done
        if ! "${JAVA_HOME:+$JAVA_HOME/bin/}java" -jar "$ivy" -cache "$VENV/.ivy" -types jar -notransitive -dependency com.globalmentor "$name" "$version" \
            -retrieve "$VENV/[artifact]-[revision].[ext]" >"$log" 2>&1 </dev/null || ! _has_digest "$jar" "$digest"; then
            rm -f "$jar"
            setup_say "$name could not be fetched, which only makes tests slower; see $log"
            return
        fi
    fi
    export COLLAPSING_LOCAL_FILES=$jar
}

_has_digest() { "$VENV_PYTHON" -c 'import hashlib, sys
sys.exit(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest() != sys.argv[2])' "$@"; }
