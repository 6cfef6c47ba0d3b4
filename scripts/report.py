"""A page about the ledgers of a dbt project: one HTML file that can be read without a network.

It asks dbt, in this process, for what the macros `history`, `final`, `changes` and `rejects` return, and writes nothing to the
project's tables.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "shared"))
import charts
import pages

SHOWN = 90  # batches in a chart
SLOW = 3  # times the median: such a batch is named
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
        self.runner = dbtRunner()  # not with the manifest: dbt would add each inline query to it
        self.manifest = self.invoke("parse")

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
    ledger = project.models("ledger")[name]
    key = ledger.config.meta["collapsing"]["key"]
    key = key if isinstance(key, str) else key[0]
    history = project.rows(
        "select batch, blocks, rows_read, to_json(decisions) as decisions, states, cancels, tombstones, undoes, seconds,"
        f" date_format(finished_at, 'yyyy-MM-dd HH:mm') as finished_at from {{{{ collapsing.history({ref}) }}}} order by batch"
    )
    [sizes] = project.rows(
        "select count(*) as stored, count_if(ledger_sign = 0) as tombstones,"
        f" (select count(*) from {{{{ collapsing.final({ref}) }}}}) as live from {{{{ collapsing.changes({ref}, after=0) }}}}"
        f" where `{key}` is not null"  # the row that stands for a batch without rows has no key
    )
    readers = [other for other, node in project.models("projection").items() if ledger.unique_id in node.depends_on.nodes]
    projections = [project.rows(lag_of(name, other)) + [other] for other in (project.built(readers) if readers else [])]
    return {
        "history": [dict(row, decisions=counted(row["decisions"])) for row in history],
        "sizes": sizes,
        "projections": [(name, found["read"], found["behind"], found["groups"]) for found, name in projections],
        "rejects": rejects_of(project, name),
        "storage": storage_of(project, name),
    }


def lag_of(ledger: str, projection: str) -> str:
    """Return the query of how far a projection has read; batches that have nothing for it do not count."""
    return (
        f"with own as (select coalesce(max(abs(ledger_batch)), 0) as read from {{{{ ref('{projection}') }}}}) "
        "select max(own.read) as read, count(distinct changed.ledger_batch) as behind, "
        f"(select count(*) from {{{{ collapsing.final(ref('{projection}')) }}}}) as groups "
        f"from own left join {{{{ collapsing.changes(ref('{ledger}'), after=0) }}}} as changed "
        "on abs(changed.ledger_batch) > own.read and changed.ledger_sign <> 0"
    )


def rejects_of(project: Project, name: str) -> list[tuple[str, int]]:
    """Count the rejected rows, by reason; none if there is no such table."""
    if "on_bad_rows" not in str(project.models("ledger")[name].config.meta):
        return []
    relation = f"{{{{ collapsing.rejects(ref('{name}')) }}}}"
    column = "ledger_reason" if "ledger_reason" in columns_of(project, relation) else "reason"
    return [
        (row["reason"], int(row["found"]))
        for row in project.rows(
            f"select {column} as reason, count(*) as found from {relation} group by {column} order by found desc"
        )
    ]


def columns_of(project: Project, relation: str) -> list[str]:
    """Return the names of a relation's columns."""
    shown = project.invoke("show", "--inline", f"select * from {relation} where false", "--limit", "-1").results[0].agate_table
    return list(shown.column_names)


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
    history, shown = found["history"], found["history"][-SHOWN:]
    labels = [str(row["batch"]) for row in shown]
    left_out = f" The last {SHOWN} of {len(history)} batches." if len(history) > SHOWN else ""
    parts = [pages.section(name, overview(found))]
    parts.append(pages.section(f"{name}: live and dead rows", *live_and_dead(found, shown, labels, left_out)))
    if any(sum(row["decisions"].values()) for row in shown):
        parts.append(pages.section(f"{name}: what became of the rows", *decided(shown, labels, left_out)))
    parts.append(pages.section(f"{name}: seconds", *seconds(shown, labels, left_out)))
    if found["projections"]:
        columns = ["projection", "has read up to batch", "batches behind", "groups"]
        rows = [(one, int(read or 0), int(behind), int(groups)) for one, read, behind, groups in found["projections"]]
        parts.append(pages.section(f"{name}: projections", pages.table(columns, rows)))
    if found["storage"]:
        parts.append(pages.section(f"{name}: storage", *storage(found["storage"])))
    if found["rejects"]:
        parts.append(pages.section(f"{name}: rejected rows", pages.table(["reason", "rows"], found["rejects"])))
    return parts


def overview(found: dict[str, Any]) -> str:
    """Return the tiles."""
    history, sizes = found["history"], found["sizes"]
    stored, live, tombstones = (int(sizes[one] or 0) for one in ("stored", "live", "tombstones"))
    dead = stored - live - tombstones
    timed = [float(row["seconds"]) for row in history if row["seconds"] is not None]
    rejected = sum(rows for _, rows in found["rejects"])
    size = sum(int(row["bytes"]) for row in found["storage"])
    figures = [
        ("batches", len(history), f"the last at {history[-1]['finished_at']}" if history else "", False),
        ("live rows", live, "", False),
        ("dead rows", dead, f"{dead / stored:.0%} of all rows" if stored else "", bool(stored) and dead / stored > 0.5),
        ("tombstones", tombstones, "deleted keys", False),
        ("seconds per batch", statistics.median(timed) if timed else None, "median", False),
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
        pages.paragraph("Rows that each batch appended." + left_out + undone(found["history"]), "note"),
        charts.legend(appended),
        charts.figure("Rows appended by batch", charts.stacked_bars(labels, appended, "rows")),
    ]


def undone(history: list[dict]) -> str:
    """Say which batches no longer count, because they were undone."""
    by = {int(row["undoes"]): int(row["batch"]) for row in history if row["undoes"] is not None}
    names = [f"{batch} (by batch {undo})" for batch, undo in sorted(by.items())]
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


def seconds(shown: list, labels: list[str], left_out: str) -> list[str]:
    """Draw the seconds of each batch, and name those that took much longer than most."""
    timed = [float(row["seconds"] or 0) for row in shown]
    median = statistics.median([one for one in timed if one] or [0])
    slow = [row for row in shown if median and float(row["seconds"] or 0) > SLOW * median]
    usual = [one if one <= SLOW * median else 0 for one in timed]
    longer = [one if one > SLOW * median else 0 for one in timed]
    bars = [charts.Series("usual", "blue", usual), charts.Series(f"more than {SLOW} times the median", "red", longer)]
    words = "From the start of the model until its rows were about to be appended: the append itself is not in it."
    parts = [
        pages.paragraph(words + left_out, "note"),
        charts.legend(bars) if slow else "",
        charts.figure("Seconds by batch", charts.stacked_bars(labels, bars, "seconds")),
    ]
    if slow:
        columns = ["batch", "finished at", "seconds", "blocks", "rows read", "rows appended", "why, perhaps"]
        parts.append(pages.table(columns, [slow_row(row, shown) for row in slow]))
    return parts


def slow_row(row: dict, shown: list) -> tuple:
    """Return a slow batch with what is known of it."""
    appended = sum(int(row[one] or 0) for one in ("states", "cancels", "tombstones"))
    usual = statistics.median([int(other["rows_read"] or 0) for other in shown])
    if row["batch"] == 1:
        why = "the first batch: tables are created, and Spark may just have started"
    elif usual and int(row["rows_read"] or 0) > SLOW * usual:
        why = f"{int(row['rows_read']) / usual:.0f} times the usual number of rows"
    else:
        why = "its rows do not explain it: a new process, an optimize at its end, or a busy machine"
    blocks, rows = int(row["blocks"] or 0), int(row["rows_read"] or 0)
    return int(row["batch"]), row["finished_at"], float(row["seconds"]), blocks, rows, appended, why


def storage(batches: list[dict]) -> list[str]:
    """Draw the bytes of the base and of the batches after it."""
    base = [row for row in batches if int(row["batch"]) < 0]
    later = [row for row in batches if int(row["batch"]) > 0]
    rows = [("base", base), ("batches after it" if base else "batches", later)]
    rows = [(label, one) for label, one in rows if one]
    series = [charts.Series("bytes", "blue", [sum(int(row["bytes"]) for row in one) for _, one in rows])]
    notes = [
        f"{in_bytes(sum(int(row['bytes']) for row in one))}, {counted_as(sum(int(row['files']) for row in one), 'file')}, "
        f"{counted_as(sum(int(row['stored']) for row in one), 'row')}"
        for _, one in rows
    ]
    return [charts.figure("Bytes of base and batches", charts.rows_of_bars([label for label, _ in rows], series, notes))]


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
        lead = "What the ledgers hold, what became of the events, how far the projections have read, and what each batch took."
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
