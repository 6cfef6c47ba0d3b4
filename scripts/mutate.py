"""Turn each rule of the package around, one at a time, and show that the default tests notice: run by scripts/mutate.

A mutant is a line of SQL in a macro with a comparison, an order or a condition reversed or left out. dbt's unit tests judge it;
where they cannot, the mutant names test files. All of that is in one Spark session. A mutant that all of them let pass has
survived, and so has one whose line is not there any more.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from dbt.adapters.spark.connections import SparkCredentials
from pyspark.sql import SparkSession
from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Mutant:
    """One rule turned around.

    Parameters
    ----------
    file : str
        The macro's file, below macros/.
    old, new : str
        Text that stands there once, and what takes its place.
    tests : str
        Test files, without `test_` and `.py`, that judge it; by default dbt's unit tests do.
    target : str
        The target of profiles.yml on which they do.
    """

    file: str
    old: str
    new: str
    tests: str = ""
    target: str = "parquet"


FOLD = "fold/fold.sql"
ENGINES, VERSIONED, COLLAPSING = "engines/engines.sql", "engines/versioned_collapsing.sql", "engines/collapsing.sql"
REPLACING, DEDUPLICATING = "engines/replacing.sql", "engines/deduplicating.sql"
COMBINE, NOTES, PROFILE, RULES = "fold/combine.sql", "batch/notes.sql", "batch/profile.sql", "batch/rules.sql"
MEASURES, PROJECT, MERGED = "projections/measures.sql", "projections/project.sql", "projections/merge.sql"
FINAL, LIVE, VISIBLE, WATERMARK = "final.sql", "final.sql", "storage/visible.sql", "projections/watermark.sql"
TABLE, COMMIT, PARQUET, RUN = "storage/table.sql", "storage/commit.sql", "storage/parquet.sql", "materializations/ledger.sql"
LOGS, SUMS = "storage/log_formats.sql", "materializations/projection.sql"
COMPACT, OPTIMIZE, UNDO, FIGURES = (f"operations/{name}.sql" for name in ("compact", "optimize", "undo", "status"))

MUTANTS = [
    # the fold
    Mutant(VERSIONED, "'>', seen)", "'<', seen)"),
    Mutant(VERSIONED, "'>', seen)", "'>=', seen)"),
    Mutant(VERSIONED, "'=', seen) ~ ' and '", "'<', seen) ~ ' and '"),
    Mutant(VERSIONED, "seen ~ '.ledger_sign is null'", "seen ~ '.ledger_sign is not null'"),
    Mutant(VERSIONED, "~ '.ledger_sign = 1)'", "~ '.ledger_sign = 0)'"),
    Mutant(VERSIONED, "suffix=' desc') ~ ', ledger_delete desc'", "suffix='') ~ ', ledger_delete desc'"),
    Mutant(VERSIONED, "~ ', ledger_delete desc'", "~ ', ledger_delete'"),
    Mutant(ENGINES, "'ledger_batch desc, ledger_sign desc'", "'ledger_batch, ledger_sign desc'"),
    Mutant(ENGINES, "'ledger_batch desc, ledger_sign desc'", "'ledger_batch desc, ledger_sign'"),
    Mutant(VERSIONED, "'looks_up': true", "'looks_up': true, 'last_arrival': true"),
    Mutant(VERSIONED, "'tombstones': true", "'tombstones': false"),
    Mutant(VERSIONED, "'cancels': true", "'cancels': false"),
    Mutant(FOLD, "and ledger_last_state.ledger_sign = 1, array(-1", "and ledger_last_state.ledger_sign = 0, array(-1"),
    Mutant(FOLD, "'if(outcome.ledger_sign <=> -1, ledger_last_state.", "'if(outcome.ledger_sign <=> 1, ledger_last_state."),
    Mutant(FOLD, "in ('applied', 'orphan_delete')", "in ('applied')"),
    Mutant(FOLD, "if(monotonically_increasing_id() < 0, null, ", "if(false, null, ", "costs"),
    Mutant(FOLD, "if(outcome.ledger_sign <=> -1, null, ledger_decision)", "ledger_decision", "starter"),
    Mutant(FOLD, "if(outcome.ledger_sign <=> -1, null, ledger_is_planned)", "ledger_is_planned", "package"),
    Mutant(FOLD, "left semi join unread", "left anti join unread"),
    Mutant(FOLD, "where ledger_rank = 1\n", "where ledger_rank = 2\n"),
    Mutant(FOLD, "if(ledger_rank = 1, 0, 1)", "if(ledger_rank = 1, 1, 0)", "decisions"),
    Mutant(FOLD, "bool_or(not ledger_delete) over", "bool_or(ledger_delete) over", "decisions"),
    Mutant(
        FOLD,
        "incoming.ledger_batch = last_state.ledger_before",
        "incoming.ledger_batch <> last_state.ledger_before",
        "decisions",
    ),
    Mutant(FOLD, "ledger_rank = 1 and ledger_applies then", "ledger_rank > 1 and ledger_applies then"),
    Mutant(FOLD, "ledger_copy > 1 then", "ledger_copy = 1 then", "decisions"),
    Mutant(
        FOLD,
        "incoming.ledger_delete = (last_state.ledger_sign <> 1)",
        "incoming.ledger_delete <> (last_state.ledger_sign <> 1)",
        "decisions engines",
    ),
    Mutant(FOLD, "not ledger_applies then 'stale'", "ledger_applies then 'stale'", "decisions"),
    Mutant("decisions.sql", "stored.ledger_batch < asked", "stored.ledger_batch <= asked", "decisions"),
    Mutant("decisions.sql", "where kind = 'block'", "where kind <> 'block'", "decisions"),
    Mutant(FOLD, "settings.sign) ~ ' = -1'", "settings.sign) ~ ' = 1'"),
    Mutant(FOLD, "ledger_delete) = ledger_winner", "ledger_delete) <> ledger_winner", "decisions"),
    Mutant(FOLD, "and ledger_delete <> {{ is_live }}", "and ledger_delete = {{ is_live }}", "decisions"),
    Mutant(FOLD, "and not ledger_has_upserts and", "and ledger_has_upserts and", "decisions"),
    Mutant(FOLD, "settings.is_deleted) ~ ' = 1'", "settings.is_deleted) ~ ' = 0'", "bad_rows"),
    Mutant(FOLD, "last_state.ledger_sign = 1, false)", "last_state.ledger_sign = 0, false)", "decisions"),
    Mutant(FOLD, "' <=> last_state.'", "' = last_state.'", "package"),
    Mutant(FOLD, "'incoming', '=', 'last_state'", "'incoming', '<', 'last_state'", "decisions"),
    # events folded one after another
    Mutant(COMBINE, "'ledger_sign', if(new.ledger_delete, 0, 1)", "'ledger_sign', if(new.ledger_delete, 1, 0)", "engines"),
    Mutant(VERSIONED, "version ~ ') <= max('", "version ~ ') < max('", "decisions"),
    Mutant(VERSIONED, "1 preceding), 2, 1)'", "1 preceding), 1, 2)'", "decisions"),
    Mutant(REPLACING, "settings.version + ['ledger_arrival']", "['ledger_arrival'] + settings.version", "changed_rules"),
    # other engines
    Mutant(VERSIONED, "order='ledger_skipped, ledger_delete, '", "order='ledger_skipped, ledger_delete desc, '"),
    Mutant(VERSIONED, "'incoming', '>', 'last_state'", "'incoming', '<', 'last_state'"),
    Mutant(VERSIONED, "struct(ledger_arrival) < ledger_deleted_in", "struct(ledger_arrival) > ledger_deleted_in"),
    Mutant(VERSIONED, "bool_or(not ledger_delete)", "bool_or(ledger_delete)"),
    Mutant(VERSIONED, "coalesce(last_state.ledger_sign, -1) = -1'", "coalesce(last_state.ledger_sign, -1) = 1'"),
    Mutant(VERSIONED, "tombstones=false", "tombstones=true"),
    Mutant(COLLAPSING, "'last_arrival': true", "'last_arrival': false", "decisions"),
    Mutant(COLLAPSING, "'not if(incoming.ledger_delete", "'if(incoming.ledger_delete", "engines"),
    Mutant(COLLAPSING, "ledger_sign * ledger_net > 0", "ledger_sign * ledger_net < 0", "clickhouse"),
    Mutant(COLLAPSING, "ledger_last_sign = 1", "ledger_last_sign = -1", "clickhouse"),
    Mutant(VERSIONED, "ledger_sign * ledger_net > 0", "ledger_sign * ledger_net < 0", "clickhouse"),
    Mutant(VERSIONED, "order by ledger_batch desc, ledger_place desc", "order by ledger_batch, ledger_place", "clickhouse"),
    Mutant(REPLACING, "'ledger_batch desc, ledger_place desc'", "'ledger_batch, ledger_place'", "clickhouse"),
    Mutant(FINAL, "    where ledger_sign = 1\n", "    where ledger_sign = 0\n", "clickhouse"),
    Mutant(REPLACING, "'incoming', '>=', 'last_state'", "'incoming', '<', 'last_state'", "decisions"),
    Mutant(REPLACING, "'new', '>=', 'old'", "'new', '<', 'old'", "engines"),
    Mutant(DEDUPLICATING, "last_state.ledger_sign is null", "last_state.ledger_sign is not null"),
    Mutant(COMBINE, "if(old.ledger_sign = 1 and not", "if(old.ledger_sign = 0 and not"),
    # what readers see
    Mutant(LIVE, "cancels.ledger_batch > abs(states", "cancels.ledger_batch < abs(states"),
    Mutant(LIVE, "cancels.ledger_sign = -1", "cancels.ledger_sign = 1"),
    Mutant(LIVE, "cancels.ledger_batch <= states", "cancels.ledger_batch > states"),
    Mutant(LIVE, "where states.ledger_sign = 1", "where states.ledger_sign = 0"),
    Mutant(LIVE, "states.ledger_batch <= states.ledger_newest", "states.ledger_batch > states.ledger_newest"),
    Mutant(LIVE, "cancels.ledger_batch > {{ compacted }}", "cancels.ledger_batch < {{ compacted }}", "package"),
    Mutant(FINAL, "as_of > table.last", "as_of < table.last", "corners"),
    Mutant(FINAL, "as_of < (table.compacted", "as_of > (table.compacted", "optimize"),
    Mutant("changes.sql", "after > table.last", "after < table.last", "settings"),
    Mutant("changes.sql", "0 < after < (table", "0 < after > (table", "optimize"),
    Mutant("changes.sql", "where ledger_batch > {{", "where ledger_batch < {{", "package"),
    Mutant(VISIBLE, "if(ledger_batch > 0, 1, 0)", "if(ledger_batch > 0, 0, 1)", "package"),
    Mutant(VISIBLE, "'ledger_note is null'", "'ledger_note is not null'", "package"),
    Mutant(VISIBLE, "and ledger_batch <= {{ as_of", "and ledger_batch >= {{ as_of", "corners"),
    Mutant(VISIBLE, "- 1) > {{ number }}", "- 1) < {{ number }}", "optimize"),
    # projections
    Mutant(PROJECT, "ledger_sign <> 0\n        and {{ read", "ledger_sign = 0\n        and {{ read"),
    Mutant(PROJECT, "'ledger_batch > ' ~ own.last", "'ledger_batch >= ' ~ own.last", "measures"),
    Mutant(PROJECT, "' and ledger_batch <= ' ~ ledger.last", "' and ledger_batch < ' ~ ledger.last", "measures"),
    Mutant(MEASURES, "'if(ledger_sign = -1, '", "'if(ledger_sign = 1, '"),
    Mutant(MEASURES, "' is null, 0, ledger_sign)'", "' is not null, 0, ledger_sign)'"),
    Mutant(MERGED, "~ stop ~ ', sum(ledger_sign) <> 0)'", "~ stop ~ ', sum(ledger_sign) = 0)'"),
    Mutant(MERGED, "'if(sum(ledger_sign) < 0, '", "'if(sum(ledger_sign) > 0, '"),
    Mutant(MERGED, "~ value.name) }} > 0", "~ value.name) }} < 0", "projections"),
    Mutant(MERGED, "~ rows ~ ', 0) = 0, null, '", "~ rows ~ ', 0) <> 0, null, '"),
    Mutant(PROJECT, "    ledger_part = 0\n", "    ledger_part <> 0\n"),
    Mutant(PROJECT, "~ value) }} <> 0", "~ value) }} = 0", "projections"),
    Mutant(PROJECT, "having count(*) > 0", "having count(*) = 0", "measures"),
    Mutant(PROJECT, "'if(grouping_id() = '", "'if(grouping_id() <> '"),
    Mutant(MEASURES, "' < 0, substr('", "' > 0, substr('", "projections"),
    Mutant(MEASURES, "~ ') = 0, null, '", "~ ') <> 0, null, '"),
    Mutant(WATERMARK, "'ledger') == ledger.identity %}", "'ledger') != ledger.identity %}", "optimize"),
    Mutant(WATERMARK, "'ledger') != ledger.identity %}", "'ledger') == ledger.identity %}", "measures"),
    Mutant(WATERMARK, "behind == 0", "behind != 0", "measures"),
    Mutant(WATERMARK, "ledger.compacted > own.last", "ledger.compacted < own.last", "refreshed"),
    Mutant(WATERMARK, "behind > 64", "behind < 64", "measures"),
    Mutant(WATERMARK, "own.compacted > 16", "own.compacted < 16", "measures"),
    Mutant(WATERMARK, "ledger.last < own.last", "ledger.last > own.last", "measures"),
    Mutant(WATERMARK, "ledger.compacted <= own.last and", "ledger.compacted > own.last and", "optimize"),
    # a batch, its notes and its commit
    Mutant("batch/stage.sql", "'not ' ~ collapsing._sql_is_block_in", "collapsing._sql_is_block_in", "intake package"),
    Mutant(NOTES, "filter (where note.kind = 'block')", "filter (where note.kind <> 'block')", "intake"),
    Mutant(NOTES, "cast(sum(planned) as string) =", "cast(sum(planned) as string) <>", "intake"),
    Mutant(NOTES, "        union all\n        select null, null, null, null\n", "", "refreshed"),
    Mutant(NOTES, "ledger_block is not null\n    )", "true\n    )", "intake"),
    Mutant(NOTES, "count_if(ledger_sign = 1) as states", "count_if(ledger_sign = 0) as states", "tools"),
    Mutant(NOTES, "count_if(ledger_sign = -1) as cancels", "count_if(ledger_sign = 1) as cancels", "tools"),
    Mutant(NOTES, "count_if(ledger_sign = 0) as tombstones", "count_if(ledger_sign = -1) as tombstones", "tools"),
    Mutant(PROFILE, "'coalesce(' ~ conditions | join(' and ')", "'coalesce(true or ' ~ conditions | join(' and ')", "intake"),
    Mutant(PROFILE, "if profile.bad %}{% do conditions.append('not (", "if profile.bad %}{% do conditions.append('(", "bad_rows"),
    Mutant(RULES, "notes.rules[setting] != value", "notes.rules[setting] == value", "package"),
    Mutant(TABLE, "numbers[0] <= 0", "numbers[0] < 0", "package"),
    Mutant(TABLE, "number > table.compacted) %}", "number < table.compacted) %}", "optimize"),
    Mutant(COMMIT, ".identity != table.identity", ".identity == table.identity", "package"),
    Mutant(PARQUET, "reads | reject('in', now.numbers)", "reads | select('in', now.numbers)", "package"),
    Mutant(PARQUET, "if reads %}", "if false %}", "conflicts"),
    Mutant(PARQUET, "if source and source.numbers", "if false and source.numbers", "conflicts"),
    Mutant(COMMIT, "set taken = empties + (", "set taken = [] + (", "conflicts"),
    Mutant(COMMIT, "~ collapsing._ddl_type(column.dtype) ~ ') as '", "~ 'string) as '", "types"),
    Mutant(COMMIT, "if garbage %}", "if false %}", "undo"),
    Mutant(SUMS, "first = 1 if is_whole else own.last + 1", "first = 1", "conflicts measures"),
    Mutant(LOGS, "' or coalesce(max(ledger_batch), 0) > ' ~ last if", "'' if", "conflicts", "delta"),
    Mutant(LOGS, "coalesce(min(ledger_batch), 1) <> {{ first }}", "false", "conflicts", "delta"),
    Mutant(LOGS, "select if(min(ledger_batch) >= {{ source.least }}, true", "select if(true, true", "conflicts", "delta"),
    Mutant(COMMIT, "~ ' and ledger_batch > ' ~ -compacted", "", "optimize", "delta"),
    Mutant(SUMS, "'least': -(ledger.compacted", "'least': (ledger.compacted", "measures", "delta"),
    Mutant(RUN, "number=table.last + 1", "number=table.last + 2", "package"),
    Mutant(COLLAPSING, "'true' if settings.combine else", "'true' if not settings.combine else", "decisions"),
    Mutant("settings/ledger_settings.sql", "if combine and settings.partition_by", "if settings.partition_by", "settings"),
    Mutant("batch/bad_rows.sql", "suffix=' is null'", "suffix=' is not null'", "bad_rows"),
    # operations
    Mutant(COMPACT, "ledger_sign in (0, 1)", "ledger_sign in (1)", "optimize"),
    Mutant(COMPACT, "not in ('NaN', 'Infinity')", "not in ('Infinity')", "changed_rules"),
    Mutant(
        COMPACT, "settings.key, engine.last_state) }}", "settings.key, engine.last_state | replace('desc', '')) }}", "optimize"
    ),
    Mutant(REPLACING, "(settings).last_state)) }}", "(settings).last_state | replace('desc', ''))) }}", "clickhouse"),
    Mutant(COMPACT, "and ledger_batch > {{ upto }}", "and ledger_batch <= {{ upto }}", "undo"),
    Mutant(COMPACT, "'$.kind') = 'commit'", "'$.kind') <> 'commit'", "undo"),
    Mutant(OPTIMIZE, "upto <= compacted", "upto > compacted", "optimize"),
    Mutant(OPTIMIZE, "table.last - keep_batches", "table.last + keep_batches", "optimize"),
    Mutant(OPTIMIZE, "read < limit.upto", "read > limit.upto", "optimize"),
    Mutant(RUN, "table.compacted >= settings", "table.compacted < settings", "upkeep"),
    Mutant(UNDO, "batch > table.compacted", "batch < table.compacted", "undo"),
    Mutant(UNDO, "return(batch <= table.last)", "return(batch > table.last)", "undo"),
    Mutant(UNDO, "table, settings, batch - 1, 'undo'", "table, settings, batch, 'undo'", "undo"),
    Mutant(FIGURES, "and (ledger_batch > 0 or", "and (ledger_batch < 0 or", "status"),
    Mutant(FIGURES, "sum(states - cancels)", "sum(states + cancels)", "status"),
    Mutant(FIGURES, "kind = 'reject'", "kind <> 'reject'", "status"),
    Mutant(FIGURES, "ledger.last - (read or 0)", "ledger.last + (read or 0)", "status"),
    Mutant("checks/recompute.sql", "= 1, 1, 0)'", "= 1, 0, 1)'", "generic_tests"),
]


class Court:
    """Judges mutants in a copy of the repository, so that nobody else meets them."""

    def __init__(self, folder: Path, target: str) -> None:
        self.copy, self.target = folder / "repository", target
        ignored = shutil.ignore_patterns(".git", ".local", ".venv*", "target", "__pycache__", "dbt_packages")
        shutil.copytree(ROOT, self.copy, ignore=ignored)
        # what tests share is that of the copy: it finds the package beside itself
        sys.path.insert(0, str(self.copy / "tests" / "python"))
        sessions = importlib.import_module("support.sessions")
        os.environ |= {"COLLAPSING_LOCAL": str(folder / "local"), "DBT_LOG_PATH": str(folder / "logs"), "DBT_TARGET": target}
        os.environ["SPARK_SUBMIT_OPTS"] = " ".join([os.environ.get("SPARK_SUBMIT_OPTS", ""), *sessions.JAVA_OPTIONS]).strip()
        for stage in ("flight_events", "aircraft_events"):
            (folder / "local" / "landing" / stage).mkdir(parents=True)
        # what a mutant breaks, Java would print
        quiet = {"spark.log.level": "OFF"}
        short = sessions.SHORT_LIVED | sessions.LOCAL_FILES | sessions.IN_MEMORY if target == "parquet" else {}
        sessions.set_in_sessions(short | quiet)
        self.project = importlib.import_module("support.dbt_project").DbtProject(
            self.copy, self.copy / "profiles", schema="demo", target=folder / "target"
        )
        # the session has its warehouse here, and not in the folder of the first test file, which goes with that
        assert self.project.invoke("debug", "--connection").success

    def catches(self, mutant: Mutant) -> str | None:
        """Return the test that notices a mutant, None where none does."""
        path = self.copy / "macros" / mutant.file
        text = path.read_text()
        if mutant.old not in text:
            return None
        path.write_text(text.replace(mutant.old, mutant.new, 1))
        try:
            if mutant.tests:
                return next((name for name in mutant.tests.split() if not self.passes(name)), None)
            return None if self.builds("--fail-fast", "--log-level", "none") else "dbt's unit tests"
        finally:
            path.write_text(text)

    def builds(self, *options: str) -> bool:
        """Return whether dbt's unit tests pass on the copy as it is."""
        result = self.project.invoke("build", *options, "--select", "path:models/unit_tests")
        if isinstance(result.exception, KeyboardInterrupt):  # dbt takes it for itself, and for a failure
            raise result.exception
        return result.success

    def passes(self, name: str) -> bool:
        """Return whether a test file passes on the copy as it is. Raises RuntimeError where nothing of it ran."""
        file = self.copy / "tests" / "python" / f"test_{name}.py"
        options = ["-q", "-x", "-p", "no:cacheprovider", f"--target={self.target}", str(file)]
        with _as_before(), contextlib.redirect_stdout(io.StringIO()) as heard:
            code, said = int(pytest.main(options)), heard.getvalue()
        if code == pytest.ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise RuntimeError(f"test_{name}.py ended with {code}: {said[-4000:]}")
        return code == pytest.ExitCode.OK


@contextlib.contextmanager
def _as_before() -> Iterator[None]:
    """Leave nothing behind of the tests that run within: environment, settings of sessions, tables, views and what is cached."""
    environment = dict(os.environ)
    of_sessions = SparkCredentials.__post_init__, SparkSession.Builder.getOrCreate
    try:
        yield
    finally:
        SparkCredentials.__post_init__, SparkSession.Builder.getOrCreate = of_sessions
        os.environ.clear()
        os.environ.update(environment)
        spark = SparkSession.builder.getOrCreate()
        spark.catalog.setCurrentDatabase("default")
        spark.catalog.clearCache()
        for view in spark.sql("show views in default").where("isTemporary").collect():
            spark.catalog.dropTempView(view.viewName)
        for (schema,) in spark.sql("show schemas").collect():
            if schema != "default":
                spark.sql(f"drop schema `{schema}` cascade")


def _part(text: str) -> tuple[int, int]:
    """Read K/N, K from 1 to N. ArgumentTypeError where it is something else."""
    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    if not numbers or not 1 <= int(numbers[1]) <= int(numbers[2]):
        raise argparse.ArgumentTypeError(f"must be K/N, K from 1 to N, such as 1/2; given: {text}")
    return int(numbers[1]), int(numbers[2])


def _failing(court: Court, tests: list[str]) -> str:
    """Return what of dbt's unit tests and of some test files fails without a mutant, or did not run."""
    failing = [] if court.target != "parquet" or court.builds() else ["dbt's unit tests"]
    for name in tests:
        try:
            failing += [] if court.passes(name) else [name]
        except RuntimeError as error:
            failing.append(str(error))
    return ", ".join(failing)


def main() -> int:
    """Judge the mutants and print one line each; returns 1 where one survives."""
    parser = argparse.ArgumentParser(description=__doc__, prog="scripts/mutate")
    parser.add_argument("--only", default="", metavar="TEXT", help="mutants whose file, text or tests have this")
    parser.add_argument("--tested", action="store_true", help="leave out the first run of the tests, without a mutant")
    parser.add_argument(
        "--target", choices=("parquet", "delta"), default="parquet", help="mutants that are judged on this target"
    )
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N", help="each N-th mutant, from the K-th on")
    arguments = parser.parse_args()
    first, step = arguments.part
    judged = [mutant for mutant in MUTANTS if mutant.target == arguments.target]
    chosen = [mutant for mutant in judged if arguments.only in f"{mutant.file} {mutant.old} {mutant.tests}"][first - 1 :: step]
    if not chosen:
        parser.error(f"no mutant is left by --only {arguments.only!r} --part {first}/{step}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # cleans up, as after Ctrl-C
    console = Console(width=150, highlight=False)
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        court = Court(Path(name), arguments.target)
        tests = sorted({name for mutant in chosen for name in mutant.tests.split()})
        if failing := _failing(court, [] if arguments.tested else tests):
            console.print(f"without a mutant these fail, so that none can be judged: {failing}", markup=False)
            return 1
        for number, mutant in enumerate(chosen, 1):
            began = time.monotonic()
            try:
                caught = court.catches(mutant)
                verdict = f"caught by {caught}" if caught else "SURVIVED"
            except RuntimeError as error:
                caught, verdict = None, "NOT JUDGED"
                console.print(str(error), markup=False)
            survivors += caught is None
            line = f"{number:3}/{len(chosen)}  {verdict:40}  {mutant.file}: {mutant.old.strip()} -> {mutant.new.strip()}"
            console.print(f"{line}  ({time.monotonic() - began:.0f} s)", markup=False, soft_wrap=True)
        # what one mutant left behind could have failed the tests of the next
        if failing := _failing(court, tests):
            console.print(f"without a mutant these fail by now, so that what they caught does not count: {failing}", markup=False)
            return 1
    console.print(f"{len(chosen) - survivors} of {len(chosen)} mutants caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
