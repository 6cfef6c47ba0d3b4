#!/usr/bin/env python3
"""Fold blocks as they land: one warm process of dbt and Spark, with a live table of the ledgers of a project.

Needs dbt, the package `collapsing` in the project, and for the live table `rich`. In a project that installs the package, run
``python dbt_packages/collapsing/scripts/watch.py --help``. It reads the figures of `collapsing.status` and runs `dbt run` where
something is unread.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import io
import json
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

ALL = tuple(f"config.materialized:incremental_{kind}" for kind in ("ledger", "joined", "projection"))
# What a run says of a ledger's batch: its number, then how many rows came to which decision.
BATCH = re.compile(r"batch (\d+): (?:\d+ blocks?, )?(\d+) rows?(?: \((.*)\))?")
# A line of an error that only says that there is one.
HEADING = re.compile(r"(\w+ )?Error( in .*)?|Traceback .*|An error occurred while calling .*")
GAUGES = ("unread_blocks", "unread_rows", "rows", "live", "dead", "tombstones", "rejects", "lag_batches", "last_batch", "bytes")


class WatchError(Exception):
    """Something that dbt was asked for has failed; the text says what."""


@dataclass
class Ledger:
    """What is known of one ledger: its figures as status has them, and what this process has folded."""

    name: str
    figures: dict[str, Any] = field(default_factory=dict)
    decisions: Counter[str] = field(default_factory=Counter)  # since the process began
    batches: int = 0
    rows: int = 0
    failures: int = 0
    seconds: float = 0.0
    said: str = ""  # of the last run that folded something, or failed
    last: dict[str, Any] = field(default_factory=dict)  # what the last run did, for a line of JSON

    @property
    def is_waiting(self) -> bool:
        """Whether a run may find something: where the number of unread blocks is not known, any may."""
        unread = self.figures.get("unread_blocks")
        return unread is None or unread > 0 or (self.figures.get("lag_batches") or 0) > 0

    def take(self, status: str, message: str, seconds: float) -> bool:
        """Take the result of a run; returns whether it folded a batch or failed."""
        self.last = {"seconds": round(seconds, 3)}
        self.seconds += seconds
        if status not in ("success", "pass"):
            self.failures += 1
            self.said = telling_line(message) or status
            self.last["error"] = self.said
            return True
        found = BATCH.match(message)
        if not found:
            return False
        decisions = {name: int(rows) for name, rows in (part.rsplit(" ", 1) for part in (found[3] or "").split(", ") if part)}
        self.batches, self.rows, self.said = self.batches + 1, self.rows + int(found[2]), message
        self.decisions.update(decisions)
        self.last |= {"batch": int(found[1]), "folded_rows": int(found[2]), "decisions": decisions}
        return True


class Stop:
    """Hears SIGTERM and SIGINT: the first asks for an end after the batch that is being folded, the second ends at once."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.listen()

    def listen(self) -> None:
        """Listen, again where Spark has put itself in this place."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)

    def _hear(self, number: int, _frame: object) -> None:
        if self.asked.is_set():
            os._exit(128 + number)  # as if it were killed, which a ledger survives
        self.asked.set()


class Dbt:
    """Calls dbt in this process, in which Spark stays up; the project is parsed once.

    Parameters
    ----------
    options : argparse.Namespace
        Those of the command line.
    stop : Stop
        Listens again after each command, for Spark's session takes SIGINT for itself.
    """

    def __init__(self, options: argparse.Namespace, stop: Stop) -> None:
        self._options, self._stop = options, stop
        self._manifest = None
        self._manifest = self.call("parse").result

    def call(self, *command: str) -> Any:
        """Run a command of dbt that must not raise; returns its result, failed or not."""
        from dbt.cli.main import dbtRunner
        from dbt.flags import get_flags

        options = self._options
        given = ["--quiet", "--no-use-colors", *command, "--project-dir", str(options.project_dir)]
        for name in ("profiles_dir", "target", "vars"):
            if getattr(options, name):
                given += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
        said: list[str] = []  # why an operation failed, which its result does not tell

        def hear(event: Any) -> None:
            if event.info.name.startswith("RunningOperation"):
                said.append(event.data.exc)

        result = dbtRunner(self._manifest, callbacks=[hear]).invoke(given)
        self._stop.listen()
        if result.exception or (command[0] != "run" and not result.success):
            asked = " ".join(command[: 1 + (command[0] == "run-operation")])
            line = telling_line(result.exception or "".join(said)) or "failed"
            raise WatchError(f"dbt {asked}: {line} (the whole error is in {get_flags().LOG_PATH}/dbt.log)")
        return result

    def models(self, *select: str) -> set[str]:
        """Return the models that are selected, by the names that status tells them by."""
        told = ["--resource-type", "model", "--output", "json", "--output-keys", "unique_id"]
        listed = self.call("ls", *told, "--select", *select).result
        return {name_of(self._manifest.nodes[json.loads(line)["unique_id"]]) for line in listed}

    def operation(self, name: str, **arguments: Any) -> str:
        """Run an operation of the package; returns what it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.call("run-operation", f"collapsing.{name}", "--args", json.dumps(arguments))
        return printed.getvalue()


def name_of(node: Any) -> str:
    """Return the name by which status tells a model: of one with versions all but the latest have their number in it."""
    version = getattr(node, "version", None)
    return node.name if version in (None, getattr(node, "latest_version", None)) else f"{node.name}.v{version}"


def telling_line(said: object) -> str:
    """Return the line of an error that tells most: the package's own, or Java's last cause, or the first that is no heading."""
    lines = [line.strip() for line in str(said).splitlines() if line.strip()]
    own = [line for line in lines if "collapsing:" in line]
    causes = [line for line in lines if line.startswith("Caused by:")][-1:]
    others = [line for line in lines if not HEADING.fullmatch(line)]
    return next(iter(own + causes + others + lines), "")


def end_of_spark() -> str:
    """Say how the Spark of this process has ended: nothing where it has not, or where Spark is a server."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    context = context and context._active_spark_context
    try:
        return "Spark has stopped" if context and context._jsc.sc().isStopped() else ""
    except Exception as error:  # of many kinds, by what Java was doing when it died
        return f"Spark's Java process is gone ({telling_line(error)})"


class Watch:
    """Folds what the ledgers of a project have not read.

    Parameters
    ----------
    dbt : Dbt
        The project.
    select : sequence of str
        Which models to run.
    """

    def __init__(self, dbt: Dbt, select: Sequence[str]) -> None:
        self._dbt, self._select = dbt, list(select)
        self.failed_looks = 0  # in a row
        known = dbt.models(ALL[0])
        self.ledgers = {name: Ledger(name) for name in sorted(dbt.models(*self._select) & known)}
        self._has_others = len(known) > 1
        if not self.ledgers:
            raise WatchError(f"no ledger is selected by {' '.join(self._select)}")

    def look(self) -> bool:
        """Ask for the figures of each ledger; returns whether a run may find something. WatchError where nothing can be asked."""
        self.failed_looks += 1  # unless what follows succeeds
        try:
            told = self._status()
        except WatchError as error:
            told = self._status_one_by_one(error)
        self.failed_looks = 0
        for ledger in self.ledgers.values():
            ledger.figures = told.get(ledger.name, {})
        return any(ledger.is_waiting for ledger in self.ledgers.values())

    def _status(self, **asked: str) -> dict[str, dict[str, Any]]:
        """Return the figures of what is asked for, {model: figures}."""
        said = self._dbt.operation("status", format="json", **asked)
        # of a server that is away dbt 1.10 speaks on stdout too
        return {figures["model"]: figures for figures in json.loads(said.splitlines()[-1])}

    def _status_one_by_one(self, error: WatchError) -> dict[str, dict[str, Any]]:
        """Return the figures of the ledgers that have any; of others a run says what is wrong. Raises `error` if none has."""
        told: dict[str, dict[str, Any]] = {}
        for name in self.ledgers if self._has_others else ():
            with contextlib.suppress(WatchError):
                told |= self._status(model=name)
        if not told:
            raise error
        return told

    def fold(self) -> tuple[list[Ledger], list[str]]:
        """Run the models; returns the ledgers that have folded a batch or failed, and what is wrong with other models."""
        told, failed = [], []
        for result in self._dbt.call("run", "--select", *self._select).result or []:
            status, message = str(result.status), result.message or ""
            ledger = self.ledgers.get(name_of(result.node))
            if ledger and ledger.take(status, message, result.execution_time):
                told.append(ledger)
            elif not ledger and status == "error":
                failed.append(f"{name_of(result.node)}: {telling_line(message)}")
        return told, failed


def metrics_of(ledgers: Sequence[Ledger], failures: int, last_success: float) -> str:
    """Return what is known of ledgers, and of the turns of this process, in Prometheus' text format."""
    lines: list[str] = []

    def metric(name: str, kind: str, values: Sequence[tuple[dict[str, str], float | None]]) -> None:
        known = [(labels, value) for labels, value in values if value is not None]
        lines.extend([f"# TYPE collapsing_{name} {kind}"] * bool(known))
        for labels, value in known:
            escaped = {key: text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for key, text in labels.items()}
            named = ",".join(f'{key}="{text}"' for key, text in escaped.items())
            lines.append(f"collapsing_{name}{{{named}}} {value}" if named else f"collapsing_{name} {value}")

    for name in GAUGES:
        metric(name, "gauge", [({"ledger": ledger.name}, ledger.figures.get(name)) for ledger in ledgers])
    ages = [({"ledger": ledger.name}, ledger.figures.get("age_minutes")) for ledger in ledgers]
    metric("age_seconds", "gauge", [(labels, None if age is None else round(age * 60)) for labels, age in ages])
    for name in ("batches", "rows", "failures", "seconds"):
        metric(f"folded_{name}_total", "counter", [({"ledger": ledger.name}, getattr(ledger, name)) for ledger in ledgers])
    decided = [
        ({"ledger": ledger.name, "decision": decision}, rows)
        for ledger in ledgers
        for decision, rows in sorted(ledger.decisions.items())
    ]
    metric("decisions_total", "counter", decided)
    metric("watch_failures_total", "counter", [({}, failures)])
    metric("watch_last_success_timestamp_seconds", "gauge", [({}, round(last_success, 3))])
    return "\n".join(lines) + "\n"


def write_metrics(path: Path, metrics: str) -> None:
    """Write the metrics so that who reads the file meets the old ones or the new ones, whole."""
    waiting = path.with_name(f".{path.name}.{os.getpid()}")
    waiting.write_text(metrics)
    waiting.replace(path)


class Screen:
    """Shows the ledgers: a live table on a terminal if `rich` is installed, else a line for each batch, or JSON.

    Parameters
    ----------
    out : TextIO
        Where to write.
    as_json : bool
        Whether a batch is a line of JSON.
    """

    def __init__(self, out: TextIO, as_json: bool) -> None:
        self._out, self._as_json, self._live = out, as_json, None
        if out.isatty() and not as_json:
            try:
                from rich.console import Console
                from rich.live import Live
            except ModuleNotFoundError:
                self._write("a line for each batch follows; for a live table: pip install rich")
                return
            self._live = Live(console=Console(file=out), auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start()

    def show(self, ledgers: Sequence[Ledger], doing: str) -> None:
        """Show what is known, and what is being done."""
        if self._live:
            self._live.update(self._table(ledgers, doing), refresh=True)

    def tell(self, ledger: Ledger) -> None:
        """Tell that a ledger has folded a batch, or failed."""
        now = dt.datetime.now(dt.timezone.utc)
        if self._as_json:
            self._write(
                json.dumps({"at": now.isoformat(timespec="seconds"), "ledger": ledger.name, **ledger.last, **ledger.figures})
            )
        elif not self._live:
            self._write(f"{now:%H:%M:%S} {ledger.name}: {ledger.said}, {ledger.last.get('seconds', 0):.1f} s")

    def complain(self, error: object) -> None:
        """Tell what has gone wrong beside the ledgers."""
        if self._as_json:
            self._write(json.dumps({"at": dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"), "error": str(error)}))
        elif self._live:
            self._live.console.print(str(error), style="red", markup=False, highlight=False)
        else:
            self._write(f"{dt.datetime.now(dt.timezone.utc):%H:%M:%S} {error}")

    def close(self) -> None:
        """Leave the table where it is."""
        if self._live:
            self._live.stop()

    def _write(self, line: str) -> None:
        print(line, file=self._out, flush=True)

    @staticmethod
    def _table(ledgers: Sequence[Ledger], doing: str) -> Any:
        """Return a table of the figures for narrow terminals, what the last run said of each ledger, and what is being done."""
        from rich import box
        from rich.console import Group
        from rich.markup import escape
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in ("ledger", "waiting", "batch", "age", "live", "dead", "lag", "folded", "seconds"):
            table.add_column(name, justify="left" if name == "ledger" else "right", overflow="fold")
        for ledger in ledgers:
            figures = ledger.figures
            age = figures.get("age_minutes")
            cells = [figures.get(name) for name in ("unread_blocks", "last_batch")]
            cells += [None if age is None else f"{age:.0f} min"] + [figures.get(name) for name in ("live", "dead", "lag_batches")]
            cells += [ledger.rows, f"{ledger.last.get('seconds', 0):.1f}"]
            table.add_row(escape(ledger.name), *["-" if cell is None else escape(str(cell)) for cell in cells])
        said = [Text(f" {ledger.name}: {ledger.said}") for ledger in ledgers if ledger.said]
        return Group(table, *said, Text(f" {doing}", style="dim italic"))


def watch(options: argparse.Namespace, out: TextIO, stop: Stop) -> int:
    """Look and fold until asked to stop; returns the exit code, which says whether the last turn failed."""
    screen = Screen(out, options.json)
    try:
        return _turns(options, screen, stop)
    except (WatchError, OSError) as error:  # OSError: the metrics cannot be written
        screen.complain(error)
        return 1
    except Exception as error:  # anything not foreseen: a line here, the stack in the log
        import traceback

        traceback.print_exc()
        screen.complain(f"{type(error).__name__}: {error} (more in {options.log})")
        return 1
    finally:
        screen.close()


def _turns(options: argparse.Namespace, screen: Screen, stop: Stop) -> int:
    """Take turns of looking and folding; returns the exit code. WatchError where the project cannot be read at all.

    What has failed is tried again in the next turn: a server may be back by then. There is none if the Spark of this process has
    ended, which nothing brings back, or if too many looks in a row have failed.
    """
    screen.show([], "starting dbt and Spark")
    project = Watch(Dbt(options, stop), options.select)
    ledgers = list(project.ledgers.values())
    failures, last_success = 0, 0.0
    while True:
        end = ""
        try:
            has_failed = _turn(project, screen, stop)
        except WatchError as error:
            has_failed, end = True, end_of_spark()
            if end:
                end += f"; what it said last is in {options.log}"
            elif project.failed_looks >= options.give_up:
                end = f"gave up (failed looks in a row: {project.failed_looks}): {error}"
            screen.complain(end or error)
        failures += has_failed
        last_success = last_success if has_failed else time.time()
        if options.metrics:
            write_metrics(options.metrics, metrics_of(ledgers, failures, last_success))
        is_last = options.once or bool(end)
        if not (is_last or stop.asked.is_set()):
            screen.show(ledgers, f"looks every {options.interval:g} s")
            stop.asked.wait(options.interval)
        if is_last or stop.asked.is_set():
            screen.show(ledgers, "stopped" if stop.asked.is_set() else "done")
            return int(has_failed)


def _turn(project: Watch, screen: Screen, stop: Stop) -> bool:
    """Look, and fold if something is unread; returns whether a model has failed. WatchError where dbt itself has."""
    if not project.look() or stop.asked.is_set():
        return False
    screen.show(list(project.ledgers.values()), "folding")
    told, errors = project.fold()
    try:
        project.look()
    finally:
        for ledger in told:
            screen.tell(ledger)
        for error in errors:
            screen.complain(error)
    return bool(errors) or any("error" in ledger.last for ledger in told)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    ends = (
        "The exit code is 0 if the last look, and the run that followed it, succeeded, else 1: also if Spark has died, "
        "or after --give-up failed looks. SIGTERM and SIGINT let a batch that has begun come to its end. "
        "A second one stops at once, and the next run recovers."
    )
    parser = argparse.ArgumentParser(prog="watch", description=__doc__.splitlines()[0], epilog=ends)
    option = parser.add_argument
    option("--project-dir", type=Path, default=Path.cwd(), metavar="DIR", help="folder of the dbt project (the current one)")
    option("--profiles-dir", type=Path, metavar="DIR", help="folder of profiles.yml (where dbt looks for it)")
    option("--target", metavar="NAME", help="target of the profile (its default)")
    option("--select", nargs="+", default=ALL, metavar="NODES", help="models to run (ledgers, joined ledgers and projections)")
    option("--vars", metavar="YAML", help="variables of the project, as dbt takes them")
    option("--interval", type=float, default=10, metavar="SECONDS", help="seconds between two looks (10)")
    option("--give-up", type=int, default=3, metavar="LOOKS", help="end after so many failed looks in a row (3)")
    option("--once", action="store_true", help="look and fold once, then end")
    option("--metrics", type=Path, metavar="FILE", help="after each look, write metrics to this file, as Prometheus reads them")
    option("--json", action="store_true", help="print a line of JSON per ledger and batch, in place of the table")
    option("--log", type=Path, metavar="FILE", help="file for what dbt, Spark and Java print (logs/watch.log in the project)")
    options = parser.parse_args(arguments)
    if not options.interval > 0:
        parser.error("--interval must be above 0")
    if options.give_up < 1:
        parser.error("--give-up must be 1 or more")
    if not (options.project_dir / "dbt_project.yml").is_file():
        parser.error(f"--project-dir: there is no dbt_project.yml in {options.project_dir}")
    options.log = options.log or options.project_dir / "logs" / "watch.log"
    return options


def _terminal(log: Path) -> TextIO:
    """Return the terminal to write on, and send all else (dbt, Spark, Java) to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    kept = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sys.stdout.flush()
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    return kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Watch a project; returns the exit code."""
    options = _options(arguments)
    stop = Stop()
    return watch(options, _terminal(options.log), stop)


if __name__ == "__main__":
    sys.exit(main())
