#!/usr/bin/env bash
# Sourced by the scripts beside it, which then call
#
#   setup_environment           where things go: exports COLLAPSING_LOCAL, DBT_*, SPARK_LOCAL_IP
#   setup_environment_of_user   the same for a project of the user's own: keeps its profiles, and what it is told of Spark
#   setup_java                  finds Java 17 or 21, or installs one as root with apt-get
#   setup_venv GROUP            makes or repairs the virtual environment of a group of pyproject.toml, sets VENV_PYTHON:
#                               .venv for package, bench (has package) and dev (has both), .venv-docs for docs
#   setup_classes               after both: archives Spark's classes once, so that sessions start in half of the time
#   setup_local_files           after both: fetches a jar with which Hadoop writes local files without starting a process for each
#
# A step that cannot succeed says once what is wrong and what to type, and exits 1.
# Written for bash 3.2 and later (macOS), for `set -euo pipefail`, for any current folder and for blanks in paths.

unset CDPATH # with it cd prints where it went
COLLAPSING_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=$COLLAPSING_ROOT/.venv
SPARK=4.1 DBT=1.11 # the releases in .venv; scripts/test can name others

setup_say() { printf '[setup] %s\n' "$*"; }

setup_stop() {
    printf '[setup] %s\n' "$1" >&2
    shift
    [ $# = 0 ] || printf '%s\n' "$@" >&2
    exit 1
}

setup_environment() {
    _environment
    export DBT_PROFILES_DIR=$COLLAPSING_ROOT/profiles
    unset SPARK_CONF_DIR SPARK_REMOTE PYSPARK_SUBMIT_ARGS
}

# A project of the user's own has its profiles where dbt would look: the folder that is named, then the current one, then the user's.
setup_environment_of_user() {
    _environment
    [ -z "${DBT_PROFILES_DIR:-}" ] || return 0
    export DBT_PROFILES_DIR=$COLLAPSING_ROOT/profiles
    [ "$PWD" = "$COLLAPSING_ROOT" ] || [ ! -f ~/.dbt/profiles.yml ] || DBT_PROFILES_DIR=~/.dbt
    [ ! -f profiles.yml ] || DBT_PROFILES_DIR=$PWD
}

_environment() {
    # Warehouse, metastore, logs, events, landing, report: all in one folder that git ignores.
    export COLLAPSING_LOCAL=${COLLAPSING_LOCAL:-$COLLAPSING_ROOT/.local}
    mkdir -p "$COLLAPSING_LOCAL/logs"
    COLLAPSING_LOCAL=$(cd "$COLLAPSING_LOCAL" && pwd -P)
    SETUP_LOG=$COLLAPSING_LOCAL/logs/setup.log
    export DBT_LOG_PATH=$COLLAPSING_LOCAL/logs DBT_SEND_ANONYMOUS_USAGE_STATS=false PYTHONUNBUFFERED=1
    # Spark listens on loopback only.
    export SPARK_LOCAL_IP=127.0.0.1
    # Another Spark of this user must not be started in place of the one in .venv.
    unset SPARK_HOME
}

# Installs a package of Debian. Fails where that cannot be.
_apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    setup_say "installing $1 with apt-get"
    { DEBIAN_FRONTEND=noninteractive apt-get update && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$1"; } >>"$SETUP_LOG" 2>&1 </dev/null && return
    setup_say "apt-get could not install $1; its output is in $SETUP_LOG"
    return 1
}

# --- Java -----------------------------------------------------------------------------------------------------------

# Sets JAVA_VERSION and JAVA_PROBLEM (empty when this Java will do) for the Java that Spark would start.
_java_look() {
    local java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    JAVA_VERSION=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9._]*\).*/\1/p') || true
    case ${JAVA_VERSION%%[._]*} in
    17 | 18 | 19 | 20 | 21) JAVA_PROBLEM='' ;;
    '') JAVA_PROBLEM="'$java' does not run" ;;
    *) JAVA_PROBLEM="'$java' is Java $JAVA_VERSION" ;;
    esac
}

# Sets JAVA_HOME to a Java that apt-get has installed. Fails where there is none.
_java_of_apt() {
    for JAVA_HOME in /usr/lib/jvm/java-{17,21}-openjdk-*; do
        [ ! -x "$JAVA_HOME/bin/java" ] || return 0
    done
    return 1
}

setup_java() {
    _java_look
    if [ -n "$JAVA_PROBLEM" ]; then
        # newer releases of Debian have no 17
        _java_of_apt || _apt_install openjdk-17-jre-headless || _apt_install openjdk-21-jre-headless || true
        ! _java_of_apt || { export JAVA_HOME && _java_look; }
    fi
    [ -z "$JAVA_PROBLEM" ] || setup_stop "Spark needs Java 17 or 21, but $JAVA_PROBLEM. Install one, and export its JAVA_HOME:" \
        "  Debian, Ubuntu:  sudo apt-get install -y openjdk-17-jre-headless (or openjdk-21-jre-headless); it is in /usr/lib/jvm" \
        "  Fedora:          sudo dnf install -y java-21-openjdk-headless; it is in /usr/lib/jvm" \
        "  macOS:           brew install openjdk@17; it is in \$(brew --prefix openjdk@17)/libexec/openjdk.jdk/Contents/Home"
    setup_say "Java $JAVA_VERSION${JAVA_HOME:+ ($JAVA_HOME)}"
}

# --- Python ---------------------------------------------------------------------------------------------------------

# Runs uv with the package index and the certificates that pip is told of.
_uv() (
    cd "$COLLAPSING_ROOT" || exit
    export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-${PIP_INDEX_URL:-$(_of_pip index-url)}}}
    export SSL_CERT_FILE=${SSL_CERT_FILE:-${PIP_CERT:-$(_of_pip cert)}}
    exec "$UV" "$@" </dev/null
)

# `pip config get` would read the user's own file alone.
_of_pip() {
    { .venv-uv/bin/python -m pip config list 2>/dev/null || python3 -m pip config list 2>/dev/null; } | sed -n "s/^global\.$1='\(.*\)'\$/\1/p"
}

# Sets UV: the one on PATH if it can read uv.lock, else the one that uv.lock has, in .venv-uv.
_uv_find() {
    local own=$COLLAPSING_ROOT/.venv-uv package='/^name = "uv"$/,/^$/'
    for UV in uv "$own/bin/uv"; do
        ! _uv export --frozen --only-group uv >/dev/null 2>&1 || return 0
    done
    setup_say "installing uv into .venv-uv"
    # Debian has what makes virtual environments in a package of its own.
    python3 -m venv --clear "$own" >"$SETUP_LOG" 2>&1 || { _apt_install python3-venv && python3 -m venv --clear "$own" >>"$SETUP_LOG" 2>&1; } ||
        setup_stop "uv is missing, and python3 cannot make a virtual environment to install it into (see $SETUP_LOG). Install" \
            "  python3-venv (Debian, Ubuntu: sudo apt-get install -y python3-venv), or uv (macOS: brew install uv)"
    sed -n -e "$package"' s/^version = "\(.*\)"$/uv==\1 \\/p' -e "$package"' s/.*hash = "\([^"]*\)".*/    --hash=\1 \\/p' \
        "$COLLAPSING_ROOT/uv.lock" >"$own/uv.txt"
    PIP_USER=0 "$own/bin/python" -m pip install --disable-pip-version-check --require-hashes -r "$own/uv.txt" >>"$SETUP_LOG" 2>&1 </dev/null ||
        _stop_with_log "pip could not install uv"
}

_stop_with_log() {
    tail -n 15 "$SETUP_LOG" >&2
    setup_stop "$1; all of the output is in $SETUP_LOG. Start again to try again."
}

setup_venv() {
    local group=$1 groups=(--only-group "$1" --only-group "spark-$SPARK" --only-group "dbt-$DBT") size='600 MB, a few minutes'
    local holds='dev bench package' # each of these groups has those after it
    holds=$group${holds#*"$group"}
    [ "$group" != docs ] || groups=(--only-group docs) size='20 MB' holds=docs VENV=$COLLAPSING_ROOT/.venv-docs
    VENV_PYTHON=$VENV/bin/python
    # Two setups at once would spoil each other's .venv: the second one waits. The system frees the lock of a killed one.
    # Where nothing can be written, nothing can be spoilt either.
    if command -v flock >/dev/null && [ -w "$COLLAPSING_ROOT" ]; then
        exec 9>"$COLLAPSING_ROOT/.venv.lock"
        flock -n 9 || { setup_say "another setup is at work on .venv: waiting for it" && flock 9; }
    fi
    _venv_make
    exec 9>&-
}

_venv_make() {
    local stamp=$VENV/.setup-stamp locked=$VENV/locked.txt lock started=$SECONDS
    lock=$(cksum <"$COLLAPSING_ROOT/uv.lock")
    # The stamp begins with the folder's path, because a virtual environment does not survive a move. It is empty during an install, so
    # that one that was cut short is seen.
    if [ "$(head -n 1 "$stamp" 2>/dev/null)" = "$VENV" ] && "$VENV_PYTHON" -c '' 2>/dev/null; then
        [[ "$(tail -n 1 "$stamp")" != "$lock "*" $group "* ]] || return 0
        _uv_find
    else
        [ ! -f "$VENV/pyvenv.cfg" ] || [ -f "$stamp" ] ||
            setup_stop "$VENV is a virtual environment that no script of this repository has made:" "  move or remove it, and start again"
        _uv_find
        # pyvenv.cfg goes first, and the stamp comes first: what is left of a kill is not taken for a user's own.
        [ -L "$VENV" ] || rm -f "$VENV/pyvenv.cfg"
        rm -rf "$VENV"
        mkdir "$VENV"
        : >"$stamp"
        _uv venv --allow-existing "$VENV" >"$SETUP_LOG" 2>&1 || _stop_with_log "uv could not find or fetch a Python 3.10 to 3.13"
    fi
    setup_say "installing what the group $group of pyproject.toml needs into ${VENV##*/} (the first time about $size)"
    _uv export --frozen --quiet --no-annotate "${groups[@]}" >"$locked"
    : >"$stamp"
    rm -f "$VENV"/.spark-*.jsa
    # Packages that come as source are built with the setuptools that is locked, not with the newest one.
    _uv pip sync --python "$VENV_PYTHON" --require-hashes --build-constraints "$locked" "$locked" 2>&1 | tee "$SETUP_LOG" |
        sed -nE 's/^ *(Downloading .*\([0-9]{2,}\..*|Building .*)/[setup]   \1/p' || _stop_with_log "uv could not install it"
    # uv leaves Python's bytecode to the first import, which two processes of tests would do at once
    [ "$group" = docs ] || "$VENV_PYTHON" -c 'import dbt.adapters.spark, dbt.cli.main, pyspark.sql'
    printf '%s\n' "$VENV" "$lock  $holds " >"$stamp"
    setup_say "${VENV##*/} is ready ($((SECONDS - started)) s)"
}

# --- Spark ----------------------------------------------------------------------------------------------------------

# Java checks a few thousand classes of Spark in each session, unless it finds them in an archive. One of another Java, or of other jars,
# it leaves alone; without one, a session starts as it always did.
setup_classes() {
    local archive=$VENV/.spark-$JAVA_VERSION.jsa log=$COLLAPSING_LOCAL/logs/classes.log
    if [ ! -f "$archive" ]; then
        setup_say "archiving Spark's classes, once"
        { SPARK_SUBMIT_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit='$archive.$$'" \
            "$VENV_PYTHON" "$COLLAPSING_ROOT/scripts/shared/spark_classes.py" && mv "$archive.$$" "$archive"; } >"$log" 2>&1 </dev/null || {
            rm -f "$archive.$$"
            setup_say "Spark's classes could not be archived, which only makes sessions start more slowly; see $log"
            return 0
        }
    fi
    export SPARK_SUBMIT_OPTS="${SPARK_SUBMIT_OPTS:+$SPARK_SUBMIT_OPTS }-XX:SharedArchiveFile='$archive'"
}

# Without its native library, which pyspark does not have, Hadoop starts a process (chmod, ls) for each file and folder that it makes or
# looks at: a tenth of a small run. This file system asks Java instead. It is for tests: exports COLLAPSING_LOCAL_FILES, the jar's path.
setup_local_files() {
    local name=hadoop-bare-naked-local-fs version=0.1.0 digest=e0cc30fb0531eb0b59468dc0abf5b257533d2365b5e9f45e795edd707aa78c62
    local jar=$VENV/$name-$version.jar log=$COLLAPSING_LOCAL/logs/local-files.log ivy
    if [ ! -f "$jar" ]; then
        setup_say "fetching $name"
        for ivy in "$VENV"/lib/python*/site-packages/pyspark/jars/ivy-*.jar; do break; done
        { "${JAVA_HOME:+$JAVA_HOME/bin/}java" -jar "$ivy" -cache "$VENV/.ivy" -types jar -notransitive \
            -dependency com.globalmentor "$name" "$version" -retrieve "$VENV/[artifact]-[revision].[ext]" && "$VENV_PYTHON" -c \
            'import hashlib, sys; sys.exit(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest() != sys.argv[2])' "$jar" "$digest"; } \
            >"$log" 2>&1 </dev/null || {
            rm -f "$jar"
            setup_say "$name could not be fetched, which only makes tests slower; see $log"
            return 0
        }
    fi
    export COLLAPSING_LOCAL_FILES=$jar
}
