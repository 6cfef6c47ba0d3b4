"""The command line: which measures, at which sizes. It is read before Spark and dbt are loaded, which takes seconds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from measures import (
    cold,
    day,
    final,
    first_load,
    growth,
    many_batches,
    merge,
    old_blocks,
    overhead,
    projections,
    small,
)

MEASURES: dict[str, ModuleType] = {
    "merge": merge,
    "growth": growth,
    "final": final,
    "projections": projections,
    "first-load": first_load,
    "overhead": overhead,
    "small": small,
    "cold": cold,
    "day": day,
    "old-blocks": old_blocks,
    "many-batches": many_batches,
}
PEERS = ("all", *dict.fromkeys([*merge.CHOICES, *first_load.CHOICES]))
SCALES = ("smoke", "default", "large")
NUMBERS = ("rows", "batch", "blocks", "batches", "rounds", "warm_up", "partitions")
OF_ALL = ("partitions",)  # an option of every measure


def read(arguments: Sequence[str] | None = None) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the target, and the setting of each measure that is asked for. Ends the process where something is wrong."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure what the documents claim about speed.")
    parser.add_argument("measures", nargs="*", metavar="measure", help=", ".join(MEASURES))
    parser.add_argument("--scale", choices=SCALES, default="default")
    parser.add_argument("--target", choices=("parquet", "delta", "iceberg"), default="parquet")
    for name in NUMBERS:
        parser.add_argument(_option(name), type=int)
    parser.add_argument("--deletes", type=int)
    parser.add_argument("--projections", type=int, choices=(1, 2, 3))
    parser.add_argument("--order", choices=("random", "time", "late"))
    parser.add_argument("--peers", choices=PEERS)
    parser.add_argument("--form", choices=merge.FORMS)
    given = vars(parser.parse_args(arguments))
    asked, scale, target = given.pop("measures"), given.pop("scale"), given.pop("target")
    given = {name: value for name, value in given.items() if value is not None}

    unknown = sorted(set(asked) - set(MEASURES))
    if unknown:
        parser.error(f"there is no measure {', '.join(unknown)}; there are {', '.join(MEASURES)}")
    for name in NUMBERS:
        if given.get(name, 1) < 1:
            parser.error(f"{_option(name)} must be 1 or more")
    if not 0 <= given.get("deletes", 0) < 100:
        parser.error("--deletes is a percentage, from 0 to 99")
    chosen = {name: MEASURES[name] for name in asked or [name for name in MEASURES if target in MEASURES[name].TARGETS]}
    for name, measure in chosen.items():
        if target not in measure.TARGETS:
            parser.error(f"{name} is measured on plain parquet alone, not on {target}")
    for name in given.keys() - set(OF_ALL):
        takers = [measure for measure in chosen if name in MEASURES[measure].SIZES[scale]]
        if not takers or (asked and len(takers) < len(chosen)):
            others = [measure for measure in chosen if measure not in takers]
            parser.error(f"{_option(name)} is no option of {', '.join(others)}")
    for name, measure in chosen.items():
        if "peers" in measure.SIZES[scale] and given.get("peers", "all") not in ("all", *measure.peers_on(target)):
            parser.error(f"--peers of {name} on {target} is all, {', '.join(measure.peers_on(target))}")
    return target, {
        name: {"scale": scale}
        | {option: given.get(option, value) for option, value in measure.SIZES[scale].items()}
        | {option: given[option] for option in OF_ALL if option in given}
        for name, measure in chosen.items()
    }


def _option(name: str) -> str:
    """Return the option that sets a value: `--warm-up` for `warm_up`."""
    return "--" + name.replace("_", "-")
