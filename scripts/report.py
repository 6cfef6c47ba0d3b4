"""A page about the ledgers of a dbt project: one HTML file that can be read without a network.

It asks dbt, in this process, for what the operation `status` and the macros `history`, `final`, `changes` and `rejects` return,
and writes nothing to the project's tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "shared"))
import charts
import pages

SHOWN = 90  # batches in a chart
RUNS = ("run", "full_refresh", "undone")  # acts that read blocks
DECISIONS = [
    ("applied", "blue", "changed the state of its key"),
    ("duplicate", "grey", "a copy of the newest event of its key, or of a row of its batch"),
    ("stale", "orange", "older than what its key had"),
    ("superseded", "green", "another event of its key in the same batch was newer"),
    ("tie", "purple", "the version of another event of its key, but other contents"),
    ("other", "red", "deletes of unknown keys, and bad rows"),
]


class ReportError(Exception):
    """The report cannot be made; the message says why and what to do."""


class Project:
    """Queries of a dbt project, through dbt."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from dbt.cli.main import dbtRunner  # takes two seconds

        self.options = ["--project-dir", str(arguments.project_dir)]
        for name in ("profiles_dir", "profile", "target", "vars"):
            if getattr(arguments, name):
                self.options += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
        self.printed: list[str] = []  # what Jinja has printed
        self.runner = dbtRunner(callbacks=[self._hear])  # not with the manifest: dbt would add each inline query to it
        self.manifest = self.invoke("parse")

    def _hear(self, event: Any) -> None:
        if event.info.name == "PrintEvent":
            self.printed.append(event.info.msg)

    def invoke(self, *command: str) -> Any:
        """Run a dbt command and give its result. ReportError with dbt's words when it fails."""
        quiet = ["--quiet", "--log-level", "none", "--no-use-colors", "--no-write-json"]
        said = self.runner.invoke([*quiet, *command, *self.options])
        if not said.success:
            results = getattr(said.result, "results", None) or []
            words = [str(said.exception)] if said.exception else [str(one.message) for one in results if one.message]
            raise ReportError("\n".join(words) or f"dbt {command[0]} failed")
        return said.result

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Run a query in which ref() and macros are known, and give its rows."""
        shown = self.invoke("show", "--inline", sql, "--limit", "-1").results[0].agate_table
        return [dict(zip(shown.column_names, row, strict=True)) for row in shown.rows]

    def status(self, name: str) -> dict[str, Any]:
        """Return what the operation `status` tells of a ledger."""
        self.printed.clear()
        self.invoke("run-operation", "collapsing.status", "--args", json.dumps({"model": name, "format": "json"}))
        return json.loads(self.printed[-1])[0]

    def models(self, kind: str) -> dict[str, Any]:
        """Return the nodes of models by name, those of the materialization `incremental_<kind>`; of versions the latest."""
        return {
            node.name: node
            for node in self.manifest.nodes.values()
            if node.config.materialized == f"incremental_{kind}" and node.version == node.latest_version
        }

    def built(self, names: list[str]) -> list[str]:
        """Return the names of those models that have a table."""
        rows = ", ".join(f"('{name}', {{{{ load_relation(ref('{name}')) is not none }}}})" for name in names)
        return [
            row["name"] for row in self.rows(f"select name from values {rows} as t (name, is_built) where is_built order by name")
        ]


# --- what is asked ------------------------------------------------------------------------------------------------


def figures_of(project: Project, name: str) -> dict[str, Any]:
    """Ask for all that the page says about a ledger."""
    ref = f"ref('{name}')"
    status = project.status(name)
    history = project.rows(
        "select batch, act, blocks, rows_read, to_json(decisions) as decisions, states, cancels, tombstones,"
        f" date_format(started_at, 'yyyy-MM-dd HH:mm') as started_at from {{{{ collapsing.history({ref}) }}}} order by batch"
    )
    [sizes] = project.rows(
        "select count(*) as stored, count_if(ledger_sign = 0) as tombstones,"
        f" (select count(*) from {{{{ collapsing.final({ref}) }}}}) as live from {{{{ collapsing.changes({ref}, after=0) }}}}"
    )
    built = [reader for reader in status["readers"] if reader["batch"] is not None]
    return {
        "history": [dict(row, decisions=counted(row["decisions"])) for row in history],
        "sizes": sizes,
        "projections": [(one["name"], one["batch"], one["lag_batches"], groups_of(project, one["name"])) for one in built],
        "rejects": rejects_of(project, name),
        "storage": storage_of(project, name),
        "compacted": status["compacted"],
    }


def groups_of(project: Project, projection: str) -> int:
    """Count the groups of a projection."""
    [found] = project.rows(f"select count(*) as found from {{{{ collapsing.final(ref('{projection}')) }}}}")
    return int(found["found"])


def rejects_of(project: Project, name: str) -> list[tuple[str, int]]:
    """Count the rejected rows, by reason."""
    rejects = f"{{{{ collapsing.rejects(ref('{name}')) }}}}"
    rows = project.rows(f"select reason, count(*) as found from {rejects} group by reason order by found desc")
    return [(row["reason"], int(row["found"])) for row in rows]


def storage_of(project: Project, name: str) -> list[dict[str, Any]]:
    """Return files and bytes of each batch. Empty where the format does not tell them to a query."""
    try:
        return project.rows(
            "select ledger_batch as batch, count(*) as files, sum(bytes) as bytes, sum(stored) as stored"
            " from (select ledger_batch, _metadata.file_path as path, max(_metadata.file_size) as bytes, count(*) as stored"
            f" from {{{{ ref('{name}') }}}} group by ledger_batch, _metadata.file_path)"
            " group by ledger_batch order by ledger_batch"
        )
    except ReportError:
        return []


def counted(decisions: str | None) -> dict[str, int]:
    """Return the decisions of a batch under the names of DECISIONS."""
    known = {name for name, _, _ in DECISIONS}
    counts = dict.fromkeys((name for name, _, _ in DECISIONS), 0)
    for decision, rows in json.loads(decisions or "{}").items():
        counts[decision if decision in known else "other"] += int(rows)
    return counts


# --- the page -----------------------------------------------------------------------------------------------------


def sections_of(name: str, found: dict[str, Any]) -> list[str]:
    """Return the parts of the page about a ledger."""
    runs = [row for row in found["history"] if row["act"] in RUNS]
    shown = runs[-SHOWN:]
    labels = [str(row["batch"]) for row in shown]
    left_out = f" The last {SHOWN} of {len(runs)} batches." if len(runs) > SHOWN else ""
    parts = [pages.section(name, overview(found))]
    parts.append(pages.section(f"{name}: live and dead rows", *live_and_dead(found, shown, labels, left_out)))
    if any(sum(row["decisions"].values()) for row in shown):
        parts.append(pages.section(f"{name}: what became of the rows", *decided(shown, labels, left_out)))
    if found["projections"]:
        columns = ["projection", "has read up to batch", "batches behind", "groups"]
        rows = [(one, int(read or 0), int(behind), int(groups)) for one, read, behind, groups in found["projections"]]
        parts.append(pages.section(f"{name}: projections", pages.table(columns, rows)))
    if found["storage"]:
        parts.append(pages.section(f"{name}: storage", *storage(found["storage"], int(found["compacted"]))))
    if found["rejects"]:
        parts.append(pages.section(f"{name}: rejected rows", pages.table(["reason", "rows"], found["rejects"])))
    return parts


def overview(found: dict[str, Any]) -> str:
    """Return the tiles."""
    runs, sizes = [row for row in found["history"] if row["act"] in RUNS], found["sizes"]
    stored, live, tombstones = (int(sizes[one] or 0) for one in ("stored", "live", "tombstones"))
    dead = stored - live - tombstones
    rejected = sum(rows for _, rows in found["rejects"])
    size = sum(int(row["bytes"]) for row in found["storage"])
    figures = [
        ("batches", len(runs), f"the last at {runs[-1]['started_at']}" if runs else "", False),
        ("live rows", live, "", False),
        ("dead rows", dead, f"{dead / stored:.0%} of all rows" if stored else "", bool(stored) and dead / stored > 0.5),
        ("tombstones", tombstones, "deleted keys", False),
        ("rejected rows", rejected, "bad ones", rejected > 0),
    ]
    if found["projections"]:
        behind = max(int(one[2]) for one in found["projections"])
        unit = "batch behind" if behind == 1 else "batches behind" if behind else ""
        figures.append(("slowest projection", behind or "up to date", unit, behind > 0))
    if size:
        figures.append(("storage", in_bytes(size), counted_as(sum(int(row["files"]) for row in found["storage"]), "file"), False))
    return pages.tiles(figures)


def live_and_dead(found: dict[str, Any], shown: list, labels: list[str], left_out: str) -> list[str]:
    """Draw what the ledger holds now, and what each batch appended."""
    sizes = found["sizes"]
    stored, live, tombstones = (int(sizes[one] or 0) for one in ("stored", "live", "tombstones"))
    now = [
        charts.Series("live", "blue", [live]),
        charts.Series("dead: cancelled, and what cancels", "orange", [stored - live - tombstones]),
        charts.Series("tombstones", "grey", [tombstones]),
    ]
    appended = [
        charts.Series("state rows (+1)", "blue", [int(row["states"] or 0) for row in shown]),
        charts.Series("cancel rows (-1)", "orange", [int(row["cancels"] or 0) for row in shown]),
        charts.Series("tombstones (0)", "grey", [int(row["tombstones"] or 0) for row in shown]),
    ]
    return [
        pages.paragraph("Now. An optimize removes the dead rows.", "note"),
        charts.legend(now),
        charts.figure("Live and dead rows", charts.rows_of_bars(["rows"], now, [f"{stored:,}"])),
        pages.paragraph("Rows that each batch appended." + left_out + undone(shown), "note"),
        charts.legend(appended),
        charts.figure("Rows appended by batch", charts.stacked_bars(labels, appended, "rows")),
    ]


def undone(runs: list[dict]) -> str:
    """Say which batches no longer count, because they were undone."""
    names = [str(row["batch"]) for row in runs if row["act"] == "undone"]
    return f" Undone: {', '.join(names)}." if names else ""


def decided(shown: list, labels: list[str], left_out: str) -> list[str]:
    """Draw the decisions about the rows of each batch."""
    series = [charts.Series(name, colour, [row["decisions"][name] for row in shown]) for name, colour, _ in DECISIONS]
    series = [one for one in series if any(one.values)]
    means = "; ".join(f"{name}: {what}" for name, _, what in DECISIONS if name in {one.name for one in series})
    return [
        pages.paragraph(f"Rows that each batch read. {means[0].upper()}{means[1:]}.{left_out}", "note"),
        charts.legend(series),
        charts.figure("Decisions by batch", charts.stacked_bars(labels, series, "rows")),
    ]


def storage(batches: list[dict], compacted: int) -> list[str]:
    """Draw the bytes of the compacted batch, of those after it, and of what no reader sees any more."""
    kinds: dict[str, list[dict]] = {"compacted": [], "batches": [], "no longer read": []}
    for row in batches:
        number = int(row["batch"])
        kinds["compacted" if number == -compacted else "batches" if number > compacted else "no longer read"].append(row)
    rows = [(label, one) for label, one in kinds.items() if one]
    series = [charts.Series("bytes", "blue", [sum(int(row["bytes"]) for row in one) for _, one in rows])]
    notes = [
        f"{in_bytes(sum(int(row['bytes']) for row in one))}, {counted_as(sum(int(row['files']) for row in one), 'file')}, "
        f"{counted_as(sum(int(row['stored']) for row in one), 'row')}"
        for _, one in rows
    ]
    return [charts.figure("Bytes by kind of batch", charts.rows_of_bars([label for label, _ in rows], series, notes))]


def counted_as(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def in_bytes(size: float) -> str:
    """Return bytes in the unit that suits them."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 999.5:  # what would be rounded to 1e+03
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


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
    started = time.perf_counter()
    out = arguments.out.resolve()
    try:
        project = Project(arguments)
        known = sorted(project.models("ledger"))
        if not known:
            raise ReportError("the project has no ledger")
        for name in arguments.ledgers:
            if name not in known:
                raise ReportError(f"{name} is no ledger of the project, which has: {', '.join(known)}")
        built = project.built(arguments.ledgers or known)
        if missing := [name for name in arguments.ledgers or known if name not in built]:
            if arguments.ledgers or not built:
                raise ReportError(f"not built yet, so that there is nothing to report: {', '.join(missing)}")
            print(f"Left out, not built yet: {', '.join(missing)}", file=sys.stderr)
        sections = [part for name in built for part in sections_of(name, figures_of(project, name))]
        lead = "What the ledgers hold, what became of the events, and how far the projections have read."
        made = (
            f"Made on {time.strftime('%Y-%m-%d %H:%M')} in {time.perf_counter() - started:.0f} seconds, "
            f"from the tables of the project {project.manifest.metadata.project_name}."
        )
        pages.write_page(out, "Ledgers", lead, sections, made)
    except (ReportError, OSError) as error:  # OSError: the page cannot be written
        print(f"scripts/report: {error}", file=sys.stderr)
        return 1
    print(f"Report: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
