"""A page about the ledgers of a dbt project: one HTML file that can be read without a network.

It asks dbt, in this process, for what the operation `status` and the macros `history`, `final` and `rejects` return, and writes
nothing to the project's tables.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent
DECISIONS = {
    "applied": "changed its key",
    "duplicate": "a copy of a row that was there",
    "stale": "older than what its key had",
    "superseded": "a newer row of its key was in the same batch",
    "tie": "same key and version as another row, but other values",
    "orphan_delete": "deletes a key that is not live",
    "bad": "without key or version, or with a wrong sign",
}
APPENDED = {
    "states": "new values of a key (sign 1)",
    "cancels": "copies of stored rows, which they cancel (-1)",
    "tombstones": "keys that were deleted (0)",
}
# What is asked about a ledger, as JSON in one query, since each query takes dbt a second.
FACTS = """
select 'runs' as kind, to_json(struct(
    batch, act, date_format(started_at, 'yyyy-MM-dd HH:mm') as started_at, decisions,
    struct(coalesce(states, 0) as states, coalesce(cancels, 0) as cancels, coalesce(tombstones, 0) as tombstones) as appended
)) as fact
from {{ collapsing.history(ledger) }} where act in ('run', 'full_refresh', 'undone')
union all
select 'rejects', to_json(struct(reason, count(*) as found)) from {{ collapsing.rejects(ledger) }} group by reason
"""
LIVE = """
union all
select 'live', to_json(struct('{{ name }}' as name, count(*) as found)) from {{ collapsing.final(model) }}
"""
FILES = """
with files as (
    select ledger_batch, _metadata.file_path, max(_metadata.file_size) as bytes, count(*) as stored
    from {{ ledger }} group by ledger_batch, _metadata.file_path
)

select
    case
        when ledger_batch = -{{ compacted }} then 'compacted' when ledger_batch > {{ compacted }} then 'batches'
        else 'no longer read'
    end as kind,
    sum(bytes) as bytes, count(*) as files, sum(stored) as stored
from files group by 1 order by 1
"""


class ReportError(Exception):
    """The report cannot be made; the message says why and what to do."""


class Project:
    """A dbt project, asked through dbt. `options`: those of dbt's command line that say which project and target."""

    def __init__(self, options: Sequence[str]) -> None:
        from dbt.cli.main import dbtRunner  # takes two seconds

        self.options, self.name = options, ""
        self.heard: dict[str, list[str]] = {"info": [], "error": []}  # what Jinja has printed, and dbt's errors
        self.runner = dbtRunner(callbacks=[self._hear])  # without a manifest: dbt would add each inline query to it

    def _hear(self, event: Any) -> None:
        if event.info.name == "PrintEvent" or event.info.level == "error":
            self.heard[event.info.level].append(event.info.msg)

    def invoke(self, *command: str) -> Any:
        """Run a dbt command and give its result. ReportError with dbt's words when it fails."""
        self.heard["error"].clear()
        quiet = ["--quiet", "--log-level", "none", "--no-use-colors", "--no-write-json"]
        said = self.runner.invoke([*quiet, *command, *self.options])
        if not said.success:
            raise ReportError("\n".join(self.heard["error"]) or f"dbt {command[0]} failed: {said.exception}")
        return said.result

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Run a query in which ref() and macros are known, and give its rows."""
        [shown] = self.invoke("show", "--inline", sql, "--limit", "-1").results
        self.name = shown.node.package_name
        return [dict(zip(shown.agate_table.column_names, row, strict=True)) for row in shown.agate_table.rows]

    def ledgers(self, names: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return the figures of ledgers, by default of all that are built. ReportError for a name that has none."""
        asked = {"format": "json"} | ({"model": list(names)} if names else {})
        self.invoke("run-operation", "collapsing.status", "--args", json.dumps(asked))
        found = json.loads(self.heard["info"][-1])
        if not found:
            raise ReportError("the project has no ledger")
        if other := [one["model"] for one in found if one["kind"] != "ledger"]:
            raise ReportError(f"no ledger of the project: {', '.join(other)}")
        built = [one for one in found if one["state"] == "built"]
        if missing := [one["model"] for one in found if one not in built]:
            if names or not built:
                raise ReportError(f"not built yet, so that there is nothing to report: {', '.join(missing)}")
            print(f"Left out, not built yet: {', '.join(missing)}", file=sys.stderr)
        return [self._figures(status["model"], status) for status in built]

    def _figures(self, name: str, status: dict[str, Any]) -> dict[str, Any]:
        """Return all that the page says about a ledger: its status, and what is asked in FACTS and FILES."""
        readers = [reader for reader in status["readers"] if reader["batch"] is not None]
        asked = f"{{% set ledger = {ref(name)} %}}{FACTS}"
        for one in [name, *(reader["name"] for reader in readers)]:
            asked += f"{{% set name, model = '{one}', {ref(one)} %}}{LIVE}"
        facts: dict[str, list] = {"runs": [], "rejects": [], "live": []}
        for row in self.rows(asked):
            facts[row["kind"]].append(json.loads(row["fact"]))
        live = {one["name"]: one["found"] for one in facts["live"]}
        try:
            storage = self.rows(f"{{% set ledger, compacted = {ref(name)}, {status['compacted']} %}}{FILES}")
        except ReportError:  # a format that does not tell files to a query
            storage = []
        return {
            "name": name,
            "status": dict(status, live=live[name]),
            "runs": sorted(facts["runs"], key=lambda run: run["batch"]),
            "projections": [dict(reader, groups=live[reader["name"]]) for reader in readers],
            "rejects": facts["rejects"],
            "storage": storage,
        }


def ref(asked: str) -> str:
    """Return the call that Jinja needs for a model's name in status, such as orders_ledger or orders_ledger.v1."""
    name, _, version = asked.partition(".v")
    return f"ref('{name}', v='{version}')" if version else f"ref('{name}')"


def counted(decisions: dict[str, int]) -> dict[str, int]:
    """Return the decisions of a batch under the names of DECISIONS."""
    counts = dict.fromkeys(DECISIONS, 0)
    for decision, rows in decisions.items():
        counts[decision if decision in counts else "bad"] += rows
    return counts


# --- the page -----------------------------------------------------------------------------------------------------


def write_page(path: Path, template: str, **figures: Any) -> None:
    """Fill a template with figures and write the page, whole or not at all. OSError where the disk refuses."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader([SCRIPTS / "templates", SCRIPTS / "flights"])
    templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    templates.filters |= {"counted": counted, "number": number, "whole": whole}
    templates.globals |= {"DECISIONS": DECISIONS, "APPENDED": APPENDED, "full_bar": full_bar}
    page = templates.get_template(template).render(made_at=time.strftime("%Y-%m-%d %H:%M"), **figures)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(page, encoding="utf-8")
    os.replace(unfinished, path)


def whole(parts: dict[str, float]) -> float:
    """Return the length of a bar of parts."""
    return sum(map(abs, parts.values()))


def full_bar(sizes: Iterable[float | None]) -> float:
    """Return the length that fills a cell: the longest bar, but for those ten times as long as most, which hide the others."""
    sizes = [abs(size) for size in sizes if size] or [1]
    return max(size for size in sizes if size <= 10 * statistics.median(sizes))


def number(value: Any) -> str:
    """Return a value as text: thousands apart, one decimal, nothing as a dash."""
    if value is None:
        return "–"
    return f"{value:,.1f}" if isinstance(value, float | Decimal) else f"{value:,}" if isinstance(value, int) else str(value)


def main() -> int:
    """Write the report. Exit status: 0 done, 1 it could not be made."""
    parser = argparse.ArgumentParser(prog="scripts/report", description=__doc__.split("\n\n")[0])
    parser.add_argument("ledgers", nargs="*", metavar="LEDGER", help="the names of ledger models (default: all that are built)")
    parser.add_argument("--project-dir", type=Path, default=Path(), help="where dbt_project.yml is (default: here)")
    parser.add_argument("--profiles-dir", type=Path, help="as dbt's own options of these names:")
    parser.add_argument("--profile")
    parser.add_argument("--target")
    parser.add_argument("--vars")
    parser.add_argument("--out", type=Path, default=Path("target/ledgers.html"), help="the file to write (%(default)s)")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    options = []
    for name in ("project_dir", "profiles_dir", "profile", "target", "vars"):
        if value := getattr(arguments, name):
            options += [f"--{name.replace('_', '-')}", str(value)]
    try:
        project = Project(options)
        ledgers = project.ledgers(arguments.ledgers)
        write_page(out, "ledgers.html", ledgers=ledgers, project=project.name)
    except (ReportError, OSError) as error:  # OSError: the page cannot be written
        print(f"scripts/report: {error}", file=sys.stderr)
        return 1
    print(f"Report: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
