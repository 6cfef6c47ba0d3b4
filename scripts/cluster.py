"""Start, show and stop the Spark servers of this machine. Run by scripts/cluster, which sets up Java, Python and the environment.

One Spark application serves Thrift and Connect, because Derby, the metastore's database, lets one process in.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyspark

ROOT = Path(__file__).resolve().parents[1]
SPARK = Path(pyspark.__file__).parent
HOME = Path(os.environ["COLLAPSING_LOCAL"]) / "cluster"
LOGS = HOME / "logs"
HOST = "127.0.0.1"
THRIFT = int(os.environ.get("COLLAPSING_THRIFT_PORT", "10000"))
CONNECT = int(os.environ.get("COLLAPSING_CONNECT_PORT", "15002"))
SERVER, MASTER, WORKERS = "server", "master", ("worker-1", "worker-2")
NAMES = (SERVER, *WORKERS, MASTER)  # the order in which they are stopped
START_SECONDS, STOP_SECONDS = 180, 30
# A Thrift session that ends may load all of Hive's functions. One needs this, which Spark does not ship since 4.0 (SPARK-51029).
HIVE_JAR = "org.apache.hive:hive-llap-common:2.3.10"
# Only a task on an executor can answer it: a server without workers does not.
QUESTION = "select sum(id) from range(10)"


class ClusterError(Exception):
    """The servers cannot do what was asked; the text says why, for a reader who did not write it."""


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"[cluster] {text}", flush=True)


# --- processes --------------------------------------------------------------------------------------------------------


def running(name: str) -> int | None:
    """Return the id of a process that `launch` started, or None when it has ended.

    The process holds a lock on the file with its id, so that an id which the system has given to another process is not
    taken for it.
    """
    try:
        with (HOME / f"{name}.pid").open() as file:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return None
            return int(file.read() or 0) or None
    except FileNotFoundError:
        return None


def launch(name: str, command: Sequence[str], **environment: str) -> None:
    """Start a process that outlives this one, with a log of its own."""
    with (HOME / f"{name}.pid").open("w") as file, (LOGS / f"{name}.log").open("w") as log:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = subprocess.Popen(
            command,
            cwd=HOME,
            env=os.environ | {"SPARK_HOME": str(SPARK)} | environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[file.fileno()],
        )
        file.write(str(process.pid))


def stop_all() -> int:
    """End what runs, politely first; return how many processes there were."""
    stopped = 0
    for name in NAMES:
        for sent in (signal.SIGTERM, signal.SIGKILL):
            process = running(name)
            if process is None:
                break
            if sent == signal.SIGTERM:
                stopped += 1
                say(f"stopping {name} ({process})")
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, sent)
            wait_until(lambda name=name: running(name) is None, STOP_SECONDS)
        (HOME / f"{name}.pid").unlink(missing_ok=True)
    return stopped


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Ask again and again; return whether it came to hold."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


# --- ports and questions ----------------------------------------------------------------------------------------------


def refuse_taken_ports() -> None:
    """Raise ClusterError when another program listens where the servers have to."""
    for port, variable in ((THRIFT, "COLLAPSING_THRIFT_PORT"), (CONNECT, "COLLAPSING_CONNECT_PORT")):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError as error:
                raise ClusterError(
                    f"port {port} of {HOST} cannot be used ({error.strerror}): end the program that listens there, or choose "
                    f"another port, here and for dbt: export {variable}={port + 1}"
                ) from None


def free_ports(count: int) -> list[int]:
    """Return ports on which nothing listens."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in probes]


def listens(port: int) -> bool:
    """Return whether something accepts connections on a port."""
    with contextlib.suppress(OSError):
        socket.create_connection((HOST, port), timeout=2).close()
        return True
    return False


def ask_thrift() -> None:
    """Run a query through the Thrift protocol; any error when it is not answered."""
    from pyhive import hive

    with contextlib.closing(hive.connect(HOST, THRIFT)) as connection, contextlib.closing(connection.cursor()) as cursor:
        cursor.execute(QUESTION)
        cursor.fetchall()


def ask_connect() -> None:
    """Run a query through Spark Connect; any error when it is not answered."""
    from pyspark.sql import SparkSession

    # The server ends an idle session by itself; one that is stopped right after a query leaves an error in its log.
    SparkSession.builder.remote(f"sc://{HOST}:{CONNECT}").create().sql(QUESTION).collect()


def answers(ask: Callable[[], None], port: int, seconds: float) -> bool:
    """Return whether a server answers a query in time. A question without an answer ends with this process."""
    deadline = time.monotonic() + seconds
    if not wait_until(lambda: listens(port) or running(SERVER) is None, seconds) or not listens(port):
        return False
    answered = threading.Event()

    def keep_asking() -> None:
        while not answered.is_set():
            with contextlib.suppress(Exception):
                ask()
                answered.set()
            time.sleep(0.5)

    threading.Thread(target=keep_asking, daemon=True).start()
    return wait_until(lambda: answered.is_set() or running(SERVER) is None, deadline - time.monotonic()) and answered.is_set()


# --- commands ---------------------------------------------------------------------------------------------------------


def start_master_and_workers() -> str:
    """Start the standalone cluster; return the address of its master."""
    port, page = free_ports(2)
    address = f"spark://{HOST}:{port}"
    spark_class = str(SPARK / "bin" / "spark-class")
    place = ["--host", HOST]
    say(f"master and {len(WORKERS)} workers at {address}, their page at http://{HOST}:{page}")
    launch(
        MASTER,
        [spark_class, "org.apache.spark.deploy.master.Master", *place, "--port", str(port), "--webui-port", str(page)],
        SPARK_DAEMON_MEMORY="512m",
        SPARK_MASTER_OPTS="-Dspark.master.rest.enabled=false",  # nobody submits applications here
    )
    if not wait_until(lambda: listens(port) or running(MASTER) is None, START_SECONDS) or running(MASTER) is None:
        raise ClusterError(f"the master did not start\n{end_of_log(MASTER)}")
    size = ["--cores", str(max(1, (os.cpu_count() or 1) // len(WORKERS))), "--memory", "2g"]
    for name in WORKERS:
        launch(
            name,
            [
                spark_class,
                "org.apache.spark.deploy.worker.Worker",
                *place,
                *size,
                *("--webui-port", "0", "--work-dir", str(LOGS / f"{name}-executors"), address),
            ],
            SPARK_DAEMON_MEMORY="512m",
        )
    return address


def hive_jar() -> Path | None:
    """Return the jar, which Spark fetches from Maven Central once per machine; None if it cannot be fetched."""
    ivy = Path.home() / ".ivy2.5.2"
    group, artifact, version = HIVE_JAR.split(":")
    jar = ivy / "jars" / f"{group}_{artifact}-{version}.jar"
    if not jar.exists():
        say(f"fetching {HIVE_JAR}")
        command = [str(SPARK / "bin" / "spark-submit"), "--packages", HIVE_JAR, "--conf", f"spark.jars.ivy={ivy}"]
        command += ["--exclude-packages", "*:[!h]*,*:hadoop*,*:hive-[!l]*"]  # all that it would bring with it
        command += ["--class", "org.apache.hadoop.util.VersionInfo", "spark-internal"]
        with (LOGS / "jars.log").open("w") as log:
            subprocess.run(command, env=os.environ | {"SPARK_HOME": str(SPARK)}, stdout=log, stderr=log)
    if jar.exists():
        return jar
    say(f"{HIVE_JAR} could not be fetched, see {LOGS / 'jars.log'}: Thrift sessions may hang when they end")
    return None


def start_server(master: str) -> None:
    """Start the application that serves Thrift and Connect, with the settings of the embedded target parquet."""
    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": CONNECT,
        "spark.driver.bindAddress": HOST,
        "spark.driver.host": HOST,
        "spark.driver.memory": "2g",
        "spark.executor.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 4,
        "spark.sql.warehouse.dir": HOME / "warehouse",
        # else a session goes on with the files that a table had when it first read it, whatever others have written since
        "spark.sql.filesourceTableRelationCacheSize": 0,
        "spark.sql.hive.filesourcePartitionFileCacheSize": 0,
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={HOME / 'metastore'};create=true",
        "spark.driver.extraJavaOptions": f'-Dderby.system.home="{HOME}" '
        f'-Dlog4j2.configurationFile="{ROOT / "profiles" / "log4j2.properties"}"',
    }
    hive_settings = {
        "hive.server2.thrift.bind.host": HOST,
        "hive.server2.thrift.port": THRIFT,
        "hive.exec.local.scratchdir": HOME / "scratch",
        "hive.server2.logging.operation.enabled": "false",  # it would keep a file of each query in /tmp
    }
    command = [str(SPARK / "bin" / "spark-submit"), "--master", master, "--name", "collapsing"]
    command += ["--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    if jar := hive_jar():
        command += ["--driver-class-path", str(jar), "--conf", f"spark.executor.extraClassPath={jar}"]
    command.append("spark-internal")
    for name, value in hive_settings.items():
        command += ["--hiveconf", f"{name}={value}"]
    say(f"servers of Thrift at {HOST}:{THRIFT} and of Spark Connect at sc://{HOST}:{CONNECT}")
    launch(SERVER, command)


def end_of_log(name: str) -> str:
    """Return the last lines of a process's log, and where it is."""
    log = LOGS / f"{name}.log"
    return "\n".join([*log.read_text(errors="replace").splitlines()[-15:], f"More in {log}"])


def start(local: bool) -> None:
    """Start everything, and return when both servers have answered a query. ClusterError when they do not; nothing is left."""
    if alive := [name for name in NAMES if running(name)]:
        raise ClusterError(f"{', '.join(alive)} running already: scripts/cluster status shows more, scripts/cluster stop ends it")
    refuse_taken_ports()
    shutil.rmtree(LOGS, ignore_errors=True)
    for folder in (LOGS, HOME / "scratch"):
        folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        start_server("local[*]" if local else start_master_and_workers())
        for ask, port in ((ask_thrift, THRIFT), (ask_connect, CONNECT)):
            if not answers(ask, port, START_SECONDS):
                raise ClusterError(f"no answer to a query on port {port}\n{end_of_log(SERVER)}")
    except BaseException:
        stop_all()
        raise
    say(f"both answer, after {time.monotonic() - began:.0f} s. For example:")
    print("  scripts/demo --target cluster\n  scripts/demo --target connect")


def status() -> bool:
    """Show every process and both servers; return whether both answer."""
    for name in NAMES:
        if (HOME / f"{name}.pid").exists():
            say(f"{name}: {running(name) or 'has ended'}")
    if running(SERVER) is None:
        say("the servers do not run: scripts/cluster start")
        return False
    ready = {
        f"Thrift at {HOST}:{THRIFT}": answers(ask_thrift, THRIFT, STOP_SECONDS),
        f"Spark Connect at sc://{HOST}:{CONNECT}": answers(ask_connect, CONNECT, STOP_SECONDS),
    }
    for place, answered in ready.items():
        say(f"{place}: {'answers' if answered else 'does not answer'}")
    say(f"logs: {LOGS}")
    return all(ready.values())


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Keep a second scripts/cluster from starting or stopping at the same time. ClusterError when there is one."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "cluster.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClusterError("another scripts/cluster is starting or stopping the servers: wait for it to end") from None
        yield


def main() -> int:
    """Do what was asked. Exit status: 0 done, 1 failed or not ready, 130 stopped by the user."""
    parser = argparse.ArgumentParser(prog="scripts/cluster", description="Spark servers on this machine")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("start").add_argument("--local", action="store_true")
    commands.add_parser("status")
    commands.add_parser("stop")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # cleans up, as after Ctrl-C
    try:
        if arguments.command == "status":
            return 0 if status() else 1
        with alone():
            if arguments.command == "start":
                start(arguments.local)
            else:
                say("stopped" if stop_all() else "nothing to stop")
    except ClusterError as error:
        print(f"[cluster] {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
