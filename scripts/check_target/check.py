"""Check on a target what the package needs of a platform. Run by scripts/check-target, whose --help says what it does."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from events import COLUMNS, Events
from worker import ANSWER

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
FORMATS = ("parquet", "delta", "iceberg")
# How statements of a run begin: what writes its rows, and what publishes them on plain parquet and Iceberg. Names may be quoted.
INSERT = r"^insert (?:overwrite directory .*?/{0}/run=|into \S*?\b{0}\b)"
PUBLISH = r"^(?:alter table \S*?\b{0}`? add|call )"
AFTER = r"^select ledger_note from"
# What the run says that came second: the package, the metastore, Delta or Iceberg.
SECOND = re.compile(r"another commit of|already exist|ALREADY_EXIST|concurrent|not an ancestor|commit failed", re.IGNORECASE)


class CannotAsk(Exception):
    """The target does not answer; the text says why."""


class Broken(Exception):
    """A promise does not hold; the text says what was seen."""


class NotTried(Exception):
    """The target was too fast or too slow for what was to be tried, which says nothing about a promise."""


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"[check] {text}", file=sys.stderr, flush=True)


class Worker:
    """A dbt process, which can be killed. Its Spark is another one only where the target is an embedded session."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.is_busy = False
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py")],
            cwd=place.folder,
            env=place.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=place.log,
            text=True,
            start_new_session=True,
        )
        if not self.ask("parse")["success"]:
            raise CannotAsk(self.last["said"])

    def send(self, *arguments: str, **acts: dict) -> None:
        """Have the process begin a command of dbt's."""
        given = [*arguments, *self._place.options]
        self.is_busy = True
        self._process.stdin.write(json.dumps({"arguments": given, **acts}) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict:
        """Return the answer to the command that was sent; of a process that died `success` is None."""
        self.last = {"success": None, "said": "the process is dead", "answers": [], "seconds": [], "met": False}
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                self.last, self.is_busy = json.loads(line.removeprefix(ANSWER)), False
                break
            self._place.log.write(line)
        return self.last

    def ask(self, *arguments: str, **acts: dict) -> dict:
        """Run a command of dbt's, and give its answer."""
        self.send(*arguments, **acts)
        return self.answer()

    def do(self, *arguments: str, **acts: dict) -> dict:
        """Run a command of dbt's that has to succeed."""
        answer = self.ask(*arguments, **acts)
        if not answer["success"]:
            raise Broken(f"`dbt {' '.join(arguments[:3])}` fails: {answer['said'].strip()[:600]}")
        return answer

    def operate(self, macro: str, **given) -> object:
        """Run a macro of the check's, and give what it says."""
        answers = self.do("run-operation", macro, "--args", json.dumps(given))["answers"]
        return answers[-1] if answers else None

    def sql(self, *statements: str) -> list[list]:
        """Run statements in which {name} stands for a table; returns the rows of the last query among them."""
        answers = self.operate("check_run", statements=statements)
        return answers[-1] if answers else []

    def end(self) -> None:
        """End the process and what it has started."""
        if self._process.poll() is None:
            self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Place:
    """The target, and the project that is run on it."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.folder = folder
        self.schema = f"collapsing_check_{uuid.uuid4().hex[:8]}"
        self.log = (folder / "log.txt").open("w")
        profiles = Path(arguments.profiles_dir or os.environ.get("DBT_PROFILES_DIR") or ROOT / "profiles").resolve()
        self.profile, self.target, output = self._find(profiles, arguments)
        self.type, self.method = output["type"], output.get("method", "")
        # Spark is in the process, and has its metastore to itself
        self.is_alone = (self.type, self.method) == ("spark", "session") and not os.environ.get("SPARK_REMOTE")
        self.format = arguments.file_format or (
            self.target if self.target in FORMATS else "delta" if self.type == "databricks" else "parquet"
        )
        self.options = ["--profiles-dir", str(profiles), "--target", self.target]
        self.environment = os.environ | {
            "COLLAPSING_CHECK_PROFILE": self.profile,
            "COLLAPSING_CHECK_FORMAT": self.format,
            "COLLAPSING_CHECK_SCHEMA": self.schema,
            "DBT_LOG_PATH": str(folder / "logs"),
            "DBT_PROFILES_DIR": str(profiles),
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        }
        package = folder / "package"
        shutil.copytree(HERE / "project", folder, dirs_exist_ok=True)
        (package / "tests").mkdir(parents=True)
        for path in ("dbt_project.yml", "macros", "tests/generic"):
            (package / path).symlink_to(ROOT / path)
        (folder / "packages.yml").write_text(f"packages:\n  - local: {package}\n")

    @staticmethod
    def _find(profiles: Path, arguments: argparse.Namespace) -> tuple[str, str, dict]:
        """Return profile, target and what the profile says of it. Raises CannotAsk."""
        try:
            found = yaml.safe_load((profiles / "profiles.yml").read_text()) or {}
        except OSError as error:
            raise CannotAsk(f"no profiles.yml in {profiles}: {error.strerror}") from None
        except yaml.YAMLError as error:
            raise CannotAsk(f"profiles.yml in {profiles} is not valid YAML: {error}") from None
        named = [name for name in found if name != "config"]
        profile = arguments.profile or (named[0] if len(named) == 1 else None)
        if profile not in found:
            raise CannotAsk(f"--profile must be one of {profiles}: {', '.join(named)}; given: {profile or 'nothing'}")
        target = arguments.target or found[profile].get("target", "default")
        outputs = found[profile]["outputs"]
        if "{{" in target:
            raise CannotAsk(f"--target must be given, because the profile {profile} takes it from {target}")
        if target not in outputs:
            raise CannotAsk(f"--target must be one of the profile {profile}: {', '.join(outputs)}; given: {target}")
        return profile, target, outputs[target]


class Check:
    """The checks, in their order. Each gives what was seen, or None where it does not apply; raises Broken."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._events = Events()
        self.worker = Worker(place)
        self.is_begun = False
        self.commit_seconds = 1.0

    def begin(self) -> dict:
        """Install the package, create the schema, say what the target is. Raises CannotAsk."""
        self.is_begun = True  # before the question: the schema may be there although no answer comes
        answer = self.worker.ask("run-operation", "check_begin")
        if not answer["success"] or not answer["answers"]:
            raise CannotAsk(answer["said"])
        self.about = answer["answers"][0]
        return self.about

    # --- what a table does -------------------------------------------------------------------------------------------------

    def numbers(self) -> str | None:
        """See that numbers are registered in one act, and once, and that what is not registered is not read."""
        if self.place.format != "parquet":
            return None
        worker = self.worker
        worker.sql("create table {parts} (v bigint, ledger_batch int) using parquet partitioned by (ledger_batch)")
        folder = worker.operate("check_location", name="parts")
        for run in (1, 2):
            worker.sql(f"insert overwrite directory '{folder}/run={run}' using parquet select id as v from range({run}00)")
        self._equal(worker.sql("select count(*) from {parts}"), [[0]], "rows of folders that are not registered")
        adds = "alter table {{parts}} add partition (ledger_batch = {}) partition (ledger_batch = {}) location '{}/run={}'"
        worker.sql(adds.format(0, 1, folder, 1))
        given = json.dumps({"statements": [adds.format(2, 1, folder, 2)]})
        if worker.ask("run-operation", "check_run", "--args", given)["success"]:
            raise Broken("a number was registered twice")
        self._equal(worker.sql("show partitions {parts}"), [["ledger_batch=0"], ["ledger_batch=1"]], "show partitions")
        worker.sql(adds.format(2, 3, folder, 2))
        counts = worker.sql("select ledger_batch, count(*) from {parts} group by ledger_batch order by 1")
        self._equal(counts, [[1, 100], [3, 200]], "rows of each number")
        return "a statement that adds two numbers adds none where one of them is there"

    def revive(self) -> None:
        """Start another process where the last one is dead, for the checks that are left."""
        if self.worker.is_busy:
            self.worker.end()
            self.worker = Worker(self.place)

    # --- runs -------------------------------------------------------------------------------------------------------------

    def lookups(self) -> str:
        """Compare what batches of updates, deletes, late rows and copies come to with what Python computes."""
        parted = " partitioned by (block)" if self.place.format == "parquet" else ""
        self.worker.sql(f"create table {{arrived}} ({COLUMNS}) using {self.place.format}{parted}")
        began = time.monotonic()
        for _ in range(4):
            self._arrive()
            seconds = self.worker.do("run", time={"statement": INSERT.format("orders")})["seconds"]
            self._compare(all_of_them=True)
        if not seconds:
            raise Broken(f"the commit could not be timed: no statement was like {INSERT.format('orders')}")
        self.commit_seconds = seconds[-1]
        self.worker.sql(
            "insert into {arrived} select id, tenant, version, is_deleted, amount, 'copies' from {arrived} where version < 2"
        )
        self.worker.do("run", "--select", "orders", "sums")
        self._compare()
        return (
            f"5 runs of 2 ledgers and a projection in {time.monotonic() - began:.0f} s; "
            f"the last commit of 40 rows took {self.commit_seconds:.2f} s"
        )

    def compaction(self) -> str:
        """See that optimize, undo and a full refresh leave the answer as it is."""
        for _ in range(2):
            self._operate_on("optimize", "orders")
            self._compare()
        self._arrive()
        self.worker.do("run", "--select", "orders", "sums")
        [[last]] = self.worker.sql("select max(ledger_batch) from {orders}")
        self._operate_on("undo", "orders", batch=last)
        self.worker.do("run", "--select", "orders", "sums")
        self._compare()
        self.worker.do("run", "--full-refresh", "--select", "orders", "sums")
        self._compare()
        return "the same answer after an optimize, a second one, a batch that was undone and folded again, and a full refresh"

    def crashes(self) -> Iterator[tuple[str, Callable[[], str | None]]]:
        """Kill the process at several points; the next run must come to the right answer."""
        insert, half = INSERT.format("orders"), self.commit_seconds / 2
        points = [
            ("before its rows are written", "run", {"statement": insert}),
            (f"while they are, after {half / 4:.2f} s", "run", {"statement": insert, "after": half / 4}),
            (f"while they are, after {half:.2f} s", "run", {"statement": insert, "after": half}),
            ("before they are published", "run", {"statement": PUBLISH.format("orders")}),
            ("after the commit", "run", {"statement": AFTER}),
            ("while a projection writes", "run", {"statement": INSERT.format("sums"), "after": half}),
            ("in an optimize", "optimize", {"statement": insert, "after": half}),
        ]
        for name, act, point in points:
            applies = self.place.format != "delta" or name != "before they are published"
            yield name, lambda act=act, point=point, applies=applies: self._crash(act, point) if applies else None

    def _crash(self, act: str, point: dict) -> str:
        for sooner in (1, 4, 16):  # a statement may have ended before it is to be killed
            die = point | ({"after": point["after"] / sooner} if "after" in point else {})
            self._arrive()
            if act == "run":
                ended = self.worker.ask("run", "--threads", "1", "--select", "orders", "sums", die=die)
            else:
                self.worker.do("run", "--select", "orders", "sums")
                ended = self.worker.ask("run-operation", "collapsing.optimize", "--args", '{"model": "orders"}', die=die)
            if ended["success"] is None:
                break
            if not ended["success"] or "after" not in point:
                raise Broken(f"could not be tried: no statement was like {point['statement']}; {ended['said'][:300]}")
        else:
            self.worker.do("run", "--select", "orders", "sums")
            self._compare()
            raise NotTried("the statement had ended each time before it was to be killed")
        self.worker.end()
        if not self.place.is_alone:
            time.sleep(max(3.0, 3 * self.commit_seconds))  # what it has sent may go on in the server
        self.worker = Worker(self.place)
        self.worker.do("run", "--select", "orders", "sums")
        self._compare()
        if act == "run" and self._batches_of_block() != 1:
            raise Broken(f"the rows of a block are in {self._batches_of_block()} batches")
        return "killed; the next run came to the right answer"

    # --- two processes --------------------------------------------------------------------------------------------------------

    def writers(self) -> str | None:
        """Run one ledger twice at once: whoever commits second stops with a clear message, and no row is doubled or lost."""
        if self.place.is_alone:
            return None
        told: list[str] = []
        met = 0
        with self._second() as other:
            for _ in range(3):
                self._arrive()
                until = {"statement": INSERT.format("orders"), "until": time.time() + 6}
                for worker in (self.worker, other):
                    worker.send("run", "--threads", "1", "--select", "orders", "sums", meet=until)
                answers = [worker.answer() for worker in (self.worker, other)]
                met += all(answer["met"] for answer in answers)
                told += [answer["said"] for answer in answers if not answer["success"]]
                self.worker.do("run", "--select", "orders", "sums")
                self._compare()
                self._compare(other)  # another session sees what this one wrote
                self._equal(self._batches_of_block(), 1, "batches with the rows of one block")
        if unclear := [text for text in told if not SECOND.search(text)]:
            raise Broken(f"the answer is right, but a run was stopped by: {unclear[0][:400]}")
        if not met:
            raise NotTried("3 times 2 runs, of which none came to its insert while the other did")
        return f"{met} times 2 runs at once: {len(told)} came second and stopped, no row was doubled"

    # --- helpers -----------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _second(self) -> Iterator[Worker]:
        """Return a second process."""
        other = Worker(self.place)
        try:
            yield other
        finally:
            other.end()

    def _batches_of_block(self) -> int:
        """Return in how many batches rows of the newest block are."""
        where = f"ledger_block = '{self._events.token}' and ledger_sign <> -1"
        return self.worker.sql(f"select count(distinct ledger_batch) from {{orders}} where {where}")[0][0]

    def _arrive(self) -> None:
        self.worker.sql(self._events.next_block())

    def _operate_on(self, operation: str, model: str, **given: int) -> None:
        self.worker.do("run-operation", f"collapsing.{operation}", "--args", json.dumps({"model": model, **given}))

    def _compare(self, worker: Worker | None = None, all_of_them: bool = False) -> None:
        """Compare what the views of the ledgers and the projection show with what Python computes."""
        views = [
            ("final_orders", ("tenant", "id", "version", "amount"), self._events.orders),
            ("final_sums", ("tenant", "n", "amount", "newest"), self._events.sums),
        ]
        views += [("final_days", ("price", "version", "amount"), self._events.days)] if all_of_them else []
        queries = []
        for name, columns, _ in views:
            casts = ", ".join(f"cast({column} as string)" for column in columns)
            queries.append(f"select {casts} from {{{name}}}")
        answers = (worker or self.worker).operate("check_run", statements=queries)
        for (name, _, wanted), found in zip(views, answers, strict=True):
            self._equal(sorted(found), wanted(), name)

    @staticmethod
    def _equal(found: object, wanted: object, what: str) -> None:
        if found != wanted and not isinstance(found, list):
            raise Broken(f"{what}: {found} instead of {wanted}")
        if found != wanted:
            missing, surplus = [row for row in wanted if row not in found], [row for row in found if row not in wanted]
            raise Broken(f"{what}: {len(found)} rows instead of {len(wanted)}; missing {missing[:3]}, not expected {surplus[:3]}")


def checks(check: Check) -> Iterator[tuple[str, Callable[[], str | None]]]:
    """Return the checks, each with its name."""
    yield "a number is registered once, or not at all", check.numbers
    yield "lookups, final and sums", check.lookups
    yield "optimize, undo, full refresh", check.compaction
    for name, crash in check.crashes():
        yield f"killed {name}", crash
    yield "two writers", check.writers


def version(package: str) -> str:
    """Return the version of an installed package."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return "?"


def report(place: Place, check: Check, rows: list[tuple[str, str, str]], seconds: float) -> None:
    """Print what to paste."""
    package = yaml.safe_load((ROOT / "dbt_project.yml").read_text())["version"]
    adapter = f"dbt-{place.type}"
    print(
        f"collapsing {package} on {adapter} {version(adapter)} ({place.method or place.type}), "
        f"dbt {check.about['dbt']}, Spark {check.about['spark'].split()[0]}, tables of {place.format}, in {seconds:.0f} s\n"
    )
    print("| check | holds | seen |\n|---|---|---|")
    for name, holds, seen in rows:
        print(f"| {name} | {holds} | {seen} |".replace("\n", " "))


def main() -> int:
    """Check a target. Exit status: 0 no promise was seen broken, 1 one was, 2 the target cannot be asked, 130 stopped."""
    parser = argparse.ArgumentParser(prog="scripts/check-target")
    parser.add_argument("--target")
    parser.add_argument("--profiles-dir")
    parser.add_argument("--profile")
    parser.add_argument("--file-format", choices=FORMATS)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # cleans up, as after Ctrl-C
    began, check, rows = time.monotonic(), None, []
    with tempfile.TemporaryDirectory(prefix="collapsing_check_") as folder:
        try:
            place = Place(arguments, Path(folder))
            say(f"profile {place.profile}, target {place.target}, schema {place.schema}, tables of {place.format}")
            deps = [sys.executable, "-m", "dbt.cli.main", "--quiet", "deps", *place.options]
            if (done := subprocess.run(deps, cwd=folder, env=place.environment, capture_output=True, text=True)).returncode:
                raise CannotAsk(done.stdout + done.stderr)
            check = Check(place)
            check.begin()
            for name, one in checks(check):
                at = time.monotonic()
                try:
                    seen = one()
                    rows.append((name, "yes" if seen else "-", seen or "does not apply here"))
                except NotTried as reason:
                    rows.append((name, "not tried", str(reason)))
                except Broken as broken:
                    rows.append((name, "**no**", str(broken)))
                    check.revive()
                say(f"{name}: {rows[-1][1]}, {rows[-1][2]} ({time.monotonic() - at:.0f} s)")
        except CannotAsk as error:
            print(f"[check] {str(error).strip()}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            return 130
        finally:
            if check:
                end(check, arguments.keep)
        report(place, check, rows, time.monotonic() - began)
    return 1 if any(holds == "**no**" for _, holds, _ in rows) else 0


def end(check: Check, keep: bool) -> None:
    """Drop the schema and end the process, a new one if the last one is dead."""
    schema = check.place.schema
    if check.is_begun and not keep:
        try:
            if check.worker.is_busy:  # it is dead, or the user stopped it in the middle of a command
                check.worker.end()
                check.worker = Worker(check.place)
            check.worker.do("run-operation", "check_end")
        except (Broken, CannotAsk, OSError) as error:
            say(f"the schema {schema} could not be dropped: {error}")
    check.worker.end()


if __name__ == "__main__":
    sys.exit(main())
