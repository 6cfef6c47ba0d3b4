"""The demo: land a year of flight events block by block, fold them with dbt, prove the result, show it.

Run by scripts/demo, which sets up Java, Python and the environment. One process, one Spark session: dbt is
called through its own dbtRunner, so that only the first run pays for starting Spark.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import socket
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import events
import report
from workspace import InUse, alone, start_afresh

ROOT = Path(__file__).resolve().parents[2]
ALL = "path:models/flights"
# All other models are views, which do not go stale: a batch need not create them again.
TABLES = ("path:models/flights/ledgers", "path:models/flights/projections")
LEDGER = "flights_ledger"
FIRST_DAY, LAST_DAY = "2013-12-01", "2013-12-31"
FORTNIGHTS = 2  # of December that are folded as one batch each, before the days that are folded one by one
ROWS_SHOWN = 12
# Targets of profiles.yml: a Spark inside of this process, or a server of scripts/cluster, with where it listens.
EMBEDDED = ("parquet", "delta", "iceberg")
SERVERS = {
    "cluster": int(os.environ.get("COLLAPSING_THRIFT_PORT", "10000")),
    "connect": int(os.environ.get("COLLAPSING_CONNECT_PORT", "15002")),
}


@dataclass
class Batch:
    """One ``dbt run``: what arrived, of the flights and of the register of aircraft, and how long it took (seconds)."""

    label: str
    blocks: int
    events: int
    aircraft: int
    seconds: float
    appended: dict[str, int] = field(default_factory=dict)


@dataclass
class Proof:
    """One dbt test: its name, what it shows, its status (``pass``, ``fail``, ...), and seconds."""

    name: str
    shows: str
    status: str
    seconds: float


class DemoError(Exception):
    """The demo cannot go on; the text says why, for a reader who did not write it."""


def terminal(log: Path) -> TextIO:
    """Return the terminal to write on, and send all else (dbt, Spark, the JVM) to ``log``."""
    kept = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sys.stdout.flush()
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    return kept


def reach_server(target: str) -> None:
    """Point dbt at the server of a target; nothing to do for an embedded one. DemoError when nothing listens."""
    if target in EMBEDDED:
        return
    address = ("127.0.0.1", SERVERS[target])
    try:
        socket.create_connection(address, timeout=5).close()
    except OSError:
        raise DemoError(f"nothing listens on {address[0]}:{address[1]}: start the servers with scripts/cluster start") from None
    if target == "connect":
        os.environ["SPARK_REMOTE"] = f"sc://{address[0]}:{address[1]}"


def land(file: Path, folder: Path) -> None:
    """Put one block into the folder that the stage reads, so that it is seen whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{file.name}.landing"  # Spark does not look at names that begin with a dot
    try:
        os.link(file, unfinished)
    except OSError:  # another disk, or one without links
        shutil.copyfile(file, unfinished)
    os.replace(unfinished, folder / file.name)


class Dbt:
    """dbt in this process: commands, the relations it made, and queries on its connection to Spark."""

    # All to the log file; no manifest.json and the like after every command, which nothing here reads.
    QUIET = ("--log-level", "none", "--log-level-file", "debug", "--no-use-colors", "--no-write-json")

    def __init__(self, log: Path, target: str) -> None:
        os.chdir(ROOT)
        from dbt.cli.main import dbtRunner  # takes two seconds: not before the first message

        self.log, self.target = log, target
        self.heard = lambda text: None
        self.runner = dbtRunner(callbacks=[self._heard])
        self.manifest = self("parse")
        self.runner = dbtRunner(manifest=self.manifest, callbacks=[self._heard])  # no file changes: not parsed again

    def _heard(self, event: Any) -> None:
        if event.info.name == "LogStartLine":
            self.heard(event.data.description)

    def __call__(self, *command: str) -> Any:
        """Run a dbt command and give its result. DemoError with dbt's own words when it does not succeed."""
        said = self.runner.invoke([*self.QUIET, *command, "--project-dir", str(ROOT), "--target", self.target])
        if said.success:
            return said.result
        reasons = [str(said.exception)] if said.exception else []
        for node in getattr(said.result, "results", None) or []:
            if node.status in ("error", "fail", "runtime error"):
                reasons.append(f"{node.node.name}: {(node.message or '').strip()}")
        raise DemoError(f"dbt {' '.join(command)} failed\n" + "\n".join(reasons) + f"\nMore in {self.log}")

    def models(self) -> dict[str, Any]:
        """Return the demo's models by name, as dbt's manifest has them."""
        return {
            node.name: node
            for node in self.manifest.nodes.values()
            if node.resource_type == "model" and node.original_file_path.startswith("models/flights/")
        }

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Run SQL the way dbt does, whatever the target is."""
        from dbt.adapters.factory import get_adapter_by_type

        adapter = get_adapter_by_type("spark")
        with adapter.connection_named("demo"):
            _, cursor = adapter.connections.add_query(sql, auto_begin=False)
            return [dict(zip((column[0] for column in cursor.description), row, strict=True)) for row in cursor.fetchall()]


class Demo:
    """The steps of the demo, in the order of run()."""

    def __init__(self, local: Path, console: Console, seed: int, target: str) -> None:
        self.local, self.console, self.seed, self.target = local, console, seed, target
        self.batches: list[Batch] = []
        self.last_batch = 0
        self.started = time.perf_counter()

    def run(self) -> None:
        """Do everything. DemoError when a step fails, a proof included."""
        reach_server(self.target)
        if self.target in EMBEDDED:
            self.console.print(f"Starting afresh: emptying warehouse, metastore and landing in {self.local}")
            start_afresh(self.local, ["warehouse", "metastore", "landing"])
        else:
            self.console.print(f"Starting afresh: dropping the server's schema demo, emptying landing in {self.local}")
            start_afresh(self.local, ["landing"])
        self.make_events()
        with self.console.status("dbt is starting") as status:
            self.dbt = Dbt(self.local / "logs" / "dbt.log", self.target)
            self.models = self.dbt.models()
            if self.target not in EMBEDDED:
                self.check_server()
                self.dbt.query(f"drop schema if exists {self.models[LEDGER].schema} cascade")
            self.relations = {name: model.relation_name for name, model in self.models.items()}
            self.dbt("seed", "--select", "path:seeds/flights")
            self.dbt.heard = lambda text: status.update(f"January to November: {text}")
            self.fold_first_batch()
        self.dbt.heard = lambda text: None
        self.fold_december()
        proofs, others = self.prove()
        marts = self.show_marts()
        self.write_report(proofs, others, marts)

    def check_server(self) -> None:
        """DemoError where the server is not the one of scripts/cluster: whose schema would be dropped is somebody else's."""
        warehouse = self.dbt.query("set spark.sql.warehouse.dir")[0]["value"]
        own = self.local / "cluster" / "warehouse"
        if Path(warehouse.removeprefix("file:")) != own:
            raise DemoError(
                f"the server that answers has its tables in {warehouse}, and the one of scripts/cluster start in {own}:"
                " nothing was dropped. Stop the other one first"
            )

    def make_events(self) -> None:
        """Write the event stream, or find it there."""
        start_afresh(self.local, [left.name for left in self.local.glob(".events-*")])  # of a demo that was killed
        with self.console.status("Turning the flights of 2013 into events"):
            self.stream = events.write_stream(self.local / "events", self.seed)
        self.days = sorted({self.day_of(name) for files in (self.stream, self.stream["aircraft"]) for name in files["files"]})
        count, again = self.stream["events"], self.stream["rows"] - self.stream["events"]
        self.console.print(
            f"{self.stream['flights']:,} flights as {count:,} events in {len(self.stream['files'])} files, "
            f"one per day: {self.stream['late_events']:,} events late, {again:,} copies"
        )
        aircraft = self.stream["aircraft"]
        self.console.print(
            f"{aircraft['registered']:,} aircraft in a register of its own, with {aircraft['changes']:,} changes in December"
        )

    def fold(self, label: str, days: list[str], *selected: str) -> Batch:
        """Land the blocks of these days, run dbt on the selected models, and count what the ledger of flights appended."""
        blocks, aircraft = (
            {name: rows for name, rows in files.items() if self.day_of(name) in days}
            for files in (self.stream["files"], self.stream["aircraft"]["files"])
        )
        for folder, names in (("flight_events", blocks), ("aircraft_events", aircraft)):
            for name in names:
                land(self.local / "events" / folder / name, self.local / "landing" / folder)
        begun = time.perf_counter()
        self.dbt("run", "--select", *selected)
        seconds = time.perf_counter() - begun

        batch = Batch(label, len(blocks), sum(blocks.values()), sum(aircraft.values()), seconds)
        runs = self.dbt.query(
            f"select batch, states, cancels, tombstones from {self.relations['flights_history']} "
            f"where act = 'run' and batch > {self.last_batch}"
        )
        batch.appended = {name: sum(run[name] for run in runs) for name in ("states", "cancels", "tombstones")}
        self.last_batch = max((run["batch"] for run in runs), default=self.last_batch)
        self.batches.append(batch)
        return batch

    def fold_first_batch(self) -> None:
        """Fold January to November as one batch."""
        batch = self.fold("January to November", [day for day in self.days if day < FIRST_DAY], ALL)
        self.console.print(
            f"January to November: {batch.events:,} events of {batch.blocks} blocks folded as one batch, "
            f"{sum(batch.appended.values()):,} rows appended, {batch.seconds:.1f} s"
        )

    def fold_december(self) -> None:
        """Fold the first fortnights of December as a batch each, then a batch per day, and what arrived after it as one batch."""
        december = [day for day in self.days if FIRST_DAY <= day <= LAST_DAY]
        fortnights = [december[14 * number : 14 * number + 14] for number in range(FORTNIGHTS)]
        steps = [(f"to {days[-1]}", days) for days in fortnights]
        steps += [(day, [day]) for day in december[14 * FORTNIGHTS :]]
        steps.append(("stragglers", [day for day in self.days if day > LAST_DAY]))
        columns = [
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("batches"),
            TimeElapsedColumn(),
        ]
        self.console.print("[bold]batch            events   appended:  state  cancel  tombstone  aircraft   seconds[/bold]")
        with Progress(*columns, console=self.console, transient=True) as progress:
            task = progress.add_task("December", total=len(steps))
            for label, days in steps:
                progress.update(task, description=f"folding {label}")
                batch = self.fold(label, days, *TABLES)
                progress.console.print(
                    f"{label:<14} {batch.events:>8,} {sum(batch.appended.values()):>10,}  "
                    f"{batch.appended['states']:>6,} {batch.appended['cancels']:>7,} "
                    f"{batch.appended['tombstones']:>10,} {batch.aircraft:>9,} {batch.seconds:>9.1f}",
                    highlight=False,
                )
                progress.advance(task)

    def prove(self) -> tuple[list[Proof], int]:
        """Run the demo's dbt tests; return the proofs and the number of other tests, all of which passed."""
        with self.console.status("Comparing the ledgers and every projection with the original tables") as status:
            self.dbt.heard = lambda text: status.update(f"Testing: {text}")
            said = self.dbt("test", "--select", ALL).results
        results = [result for result in said if result.node.resource_type == "test"]
        # A test in a file of its own compares with the original tables; the others are checks of a column.
        in_files = [result for result in results if not hasattr(result.node, "test_metadata")]
        proofs = [Proof(r.node.name, self.what_it_shows(r.node), str(r.status), r.execution_time) for r in in_files]
        proofs.sort(key=lambda proof: proof.name)
        if not proofs:
            raise DemoError("dbt found no test that compares with the original tables")
        self.console.print(
            self.table(
                "Proofs",
                ["test", "what it shows", "result", "seconds"],
                [[proof.name, escape(proof.shows), f"[green]{proof.status}[/green]", f"{proof.seconds:.1f}"] for proof in proofs],
            )
        )
        others = len(results) - len(proofs)
        self.console.print(f"{len(proofs)} proofs and {others} other dbt tests passed")
        return proofs, others

    def show_marts(self) -> dict[str, list[dict[str, Any]]]:
        """Print the first rows of every mart; return all of them by name."""
        marts = {}
        for name, model in sorted(self.models.items()):
            if "marts" not in Path(model.original_file_path).parts:
                continue
            rows = marts[name] = self.dbt.query(f"select * from {model.relation_name}")
            shown = [[report.number(value) for value in row.values()] for row in rows[:ROWS_SHOWN]]
            numeric = [name for name in rows[0] if not any(isinstance(row[name], str) for row in rows)]
            self.console.print(self.table(f"{name}, first {len(shown)} rows", list(rows[0]), shown, numeric))
        return marts

    def write_report(self, proofs: list[Proof], others: int, marts: dict[str, list[dict[str, Any]]]) -> None:
        """Write the HTML page and print its path."""
        from importlib.metadata import version

        project = report.Project(["--project-dir", str(ROOT), "--target", self.target])
        path = self.local / "report" / "flights.html"
        report.write_page(
            path,
            "flights.html",
            ledgers=project.ledgers([LEDGER, "aircraft_ledger"]),
            project=project.name,
            stream=self.stream,
            batches=self.batches,
            typical=statistics.median(batch.seconds for batch in self.batches if batch.blocks == 1),
            proofs=proofs,
            other_tests=others,
            compared=project.rows((ROOT / "scripts" / "flights" / "compared.sql").read_text()),
            marts=marts,
            seconds=time.perf_counter() - self.started,
            versions=f"dbt {version('dbt-core')}, Spark {version('pyspark')} on {os.cpu_count()} cores, target {self.target}",
        )
        self.console.print(f"Report: {path}", soft_wrap=True, highlight=False)

    @staticmethod
    def table(title: str, columns: list[str], rows: Iterable[Sequence[str]], numeric: Sequence[str] = ("seconds",)) -> Table:
        """Lay out a table for the terminal; nothing is cut off, ``numeric`` columns go to the right."""
        table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
        for column in columns:
            justify = "right" if column in numeric else "left"
            table.add_column(column.replace("_", " "), justify=justify, overflow="fold")
        for row in rows:
            table.add_row(*row)
        return table

    @staticmethod
    def what_it_shows(test: Any) -> str:
        """Return a test's description, or the comment that it begins with."""
        comments = itertools.takewhile(lambda line: line.startswith("--"), test.raw_code.splitlines())
        return test.description or " ".join(line.lstrip("- ") for line in comments)

    @staticmethod
    def day_of(name: str) -> str:
        """Return the arrival day in a file's name."""
        return Path(name).stem[-10:]


def main() -> int:
    """Run the demo. Exit status: 0 done and proven, 1 something failed, 130 stopped by the user."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=events.SEED, help="of the events (%(default)s)")
    parser.add_argument("--target", choices=[*EMBEDDED, *SERVERS], default="parquet", help="of profiles.yml (%(default)s)")
    arguments = parser.parse_args()

    local = Path(os.environ.get("COLLAPSING_LOCAL") or ROOT / ".local").resolve()
    log = local / "logs" / "demo.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    # Times are shown as they are stored; Python's own zone must not move them.
    os.environ["TZ"] = "UTC"
    time.tzset()
    # In a session of minutes Java's second compiler keeps a core busy for longer than its code saves.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m")

    screen = terminal(log)
    console = Console(file=screen, width=None if screen.isatty() else 120)

    def stop(*_: Any) -> None:
        """Leave at once: dbt would first wait for Spark, and there is nothing to save. Spark ends with this process."""
        console.show_cursor()
        console.print("Stopped. The next run starts afresh.")
        os._exit(130)

    signal.signal(signal.SIGINT, stop)
    started = time.perf_counter()
    try:
        with alone(local, is_embedded=arguments.target in EMBEDDED):
            os.truncate(log, 0)  # not before: a demo that runs already writes to it
            Demo(local, console, arguments.seed, arguments.target).run()
    except (DemoError, InUse) as error:
        console.print(f"[bold red]The demo failed:[/bold red] {escape(str(error))}", highlight=False)
        return 1
    except Exception as error:  # anything not foreseen: a sentence here, the stack in the log
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        console.print(f"[bold red]The demo failed:[/bold red] {type(error).__name__}: {escape(str(error))}", highlight=False)
        console.print(f"More in {log}", soft_wrap=True, highlight=False)
        return 1
    console.print(f"Done in {time.perf_counter() - started:.0f} seconds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
