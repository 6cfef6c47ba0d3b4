"""Put figures into docs/benchmarks.md: run by `scripts/bench page FILE ...`.

The page has a pair of marks for each measure and target, `<!-- bench: final-parquet -->` and `<!-- end of final-parquet -->`.
What stands between them is replaced by the tables of the given files of that measure and target, one after the other. The
rest of the page is written by hand and stays.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from results import Results, markdown

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
MARKED = re.compile(r"(?P<begin><!-- bench: (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end of (?P=name) -->)", re.DOTALL)


def filled(page: str, results: Iterable[Results]) -> str:
    """Return the page with the figures in it. ValueError where it has no marks for some of them, or they are not for a page."""
    tables: dict[str, list[str]] = {}
    for one in results:
        if one.setting.get("scale") == "smoke":
            raise ValueError(f"the figures of {one.name} are those of --scale smoke, which mean nothing: they are not for a page")
        if one.setting.get("run") == "unfinished":
            raise ValueError(
                f"the figures of {one.name} are those of a run that did not come to its end: they are not for a page"
            )
        tables.setdefault(f"{one.measure}-{one.target}", []).append(markdown(one))
    marks = [mark["name"] for mark in MARKED.finditer(page)]
    unknown = sorted(set(tables) - set(marks))
    if unknown:
        raise ValueError(f"the page has no marks for {', '.join(unknown)}; it has them for {', '.join(marks)}")

    def replaced(mark: re.Match[str]) -> str:
        found = tables.get(mark["name"])
        return "\n\n".join([mark["begin"].rstrip(), *found, mark["end"]]) if found else mark[0]

    return MARKED.sub(replaced, page)


def main() -> None:
    """Fill the page."""
    parser = argparse.ArgumentParser(prog="scripts/bench page", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON that scripts/bench has written")
    given = parser.parse_args()
    try:
        text = filled(PAGE.read_text(encoding="utf-8"), [Results.read(file) for file in given.files])
    except (OSError, ValueError) as error:
        sys.exit(f"[bench] {error}")
    PAGE.write_text(text, encoding="utf-8")
    print(f"[bench] {PAGE}: figures of {len(given.files)} file{'s' * (len(given.files) != 1)}")


if __name__ == "__main__":
    main()
