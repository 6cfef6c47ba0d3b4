"""The reference of the macros, made from the YAML beside them."""

from __future__ import annotations

from pathlib import Path

import yaml

# What the page shows, in order: heading, folder, files to leave out.
SECTIONS = [
    ("Macros", "macros", {"private.yml"}),
    ("Operations", "macros/operations", set()),
    ("Generic tests", "tests/generic", set()),
]
OPENING = """# Macros, operations and tests

Everything that a project calls. You write a macro into SQL, run an operation by
`dbt run-operation collapsing.<name> --args '{...}'`, and put a generic test under a model in YAML.
[Settings](../settings.md) belong to the model, and are not arguments.

"""


def anchor(path: str) -> str:
    """Return the anchor of a YAML file's macro on the page, given its path in the repository; empty for any other file."""
    file = Path(path)
    listed = any(str(file.parent) == folder and file.name not in without for _, folder, without in SECTIONS)
    return file.stem if listed and file.suffix == ".yml" else ""


def page(root: Path) -> str:
    """Return the page as Markdown."""
    parts = [OPENING]
    for heading, folder, without in SECTIONS:
        parts.append(f"## {heading}\n\n")
        for file in sorted((root / folder).glob("*.yml")):
            if file.name not in without:
                parts += [entry(macro, file.stem) for macro in yaml.safe_load(file.read_text(encoding="utf-8"))["macros"]]
    return "".join(parts)


def entry(macro: dict, name: str) -> str:
    """Return what the page says about one macro, under the name by which a project calls it."""
    arguments = macro.get("arguments", [])
    text = f"### `{name}` {{#{name}}}\n\n{macro['description'].strip()}\n\n"
    if arguments:
        text += "| argument | type | |\n|---|---|---|\n"
        text += "".join(f"| `{one['name']}` | {one['type']} | {' '.join(one['description'].split())} |\n" for one in arguments)
    return text + "\n"
