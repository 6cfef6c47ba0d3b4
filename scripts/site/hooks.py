"""Hooks of mkdocs: pages that the site has and docs/ has not, and links that lead out of docs/.

The site shows README.md and its neighbours as pages, a reference of the macros made from their YAML, and each
file of the repository that a page links to. So every link stays inside the site, and --strict checks all of them.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads this file by its path
import macro_pages  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
# Pages that stand beside docs/ in the repository.
NEIGHBOURS = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "models/examples/README.md": "seeds.md",
}
MACROS = "reference/macros.md"
# A word and its meaning in the glossary.
WORD = re.compile(r"^\| ([a-z ]+) \| (.+) \|$", re.MULTILINE)
LANGUAGES = {".sql": "sql", ".yml": "yaml", ".py": "python", ".md": "markdown", "": "bash"}
# What a page would fetch by itself from elsewhere. A link that a reader may follow is none of these.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*\brel=["']?(?:stylesheet|preconnect|icon)\b"""
    r"""[^>]*\bhref=["']?(?:https?:)?//|url\(["']?https?://"""
)
LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<to>[^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that docs/ does not have: the neighbours, the macros, and the source files that pages link to."""
    for name, uri in NEIGHBOURS.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text(encoding="utf-8")))
    files.append(File.generated(config, MACROS, content=macro_pages.page(ROOT)))
    linked = set()
    for file in files.documentation_pages():
        linked |= {target for target in map(repository_path, *links_of(file)) if is_source(target)}
    for target in sorted(linked):
        files.append(File.generated(config, uri_of_source(target), content=source_page(target)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links at the pages of the site, and write what GitHub reads and Python-Markdown does not."""
    origin = page.file.src_uri
    if origin.startswith("source/"):
        return markdown
    lines, fenced = [], False
    for line in markdown.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        lines.append(line if fenced else as_python_markdown(LINK.sub(lambda link: relinked(link, origin), line)))
    return "\n".join([*lines, "", *tooltips()])


def tooltips() -> list[str]:
    """Return the words of docs/settings.md#words and their plurals as abbreviations, which show their meaning on every page."""
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    words = WORD.findall(page.partition("\n## Words\n")[2].partition("\n## ")[0])
    meanings = [(form, meaning.replace("`", "")) for word, meaning in words[1:] for form in (word, plural(word))]
    return [f"*[{word}]: {meaning}" for word, meaning in meanings]


def plural(word: str) -> str:
    """Return the plural of a word of the glossary."""
    return f"{word}es" if word.endswith("ch") else f"{word}s"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that would ask another server for something. PluginError with what it would ask for."""
    fetched = FETCHED.search(output)
    if fetched:
        raise PluginError(f"{page.file.src_uri} would ask another server: {output[fetched.start() : fetched.end() + 60]}")
    return output


def as_python_markdown(line: str) -> str:
    """Let HTML blocks have Markdown in them, and code in tables have a bar."""
    line = line.replace("<details>", '<details markdown="1">')
    if line.startswith("|"):
        line = re.sub(r"`[^`]*`", lambda code: code.group().replace("\\|", "&#124;"), line)
        line = re.sub(r"`([^`]*&#124;[^`]*)`", r"<code>\1</code>", line)
    return line


def links_of(file: File) -> tuple[list[str], list[str]]:
    """Return the targets of a page's links, and as often the page's own name."""
    targets = [link["to"] for link in LINK.finditer(file.content_string)]
    return targets, [file.src_uri] * len(targets)


def repository_path(target: str, origin: str) -> str:
    """Return what a link leads to as a path in the repository; empty for another site and for a place on the page."""
    path = target.partition("#")[0]
    if not path or "://" in path or path.startswith("mailto:"):
        return ""
    written_in = {uri: name for name, uri in NEIGHBOURS.items()}.get(origin, f"docs/{origin}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(written_in), path))


def is_source(path: str) -> bool:
    """Tell whether a path of the repository is shown as source: it is no page and no picture of the site."""
    is_of_site = path.startswith("docs/") and not (ROOT / path).is_dir()
    return bool(path) and not is_of_site and path not in NEIGHBOURS and not macro_pages.anchor(path)


def uri_of_source(path: str) -> str:
    """Return the page of a source file. mkdocs builds no folder whose name begins with a dot."""
    return f"source/{path.removeprefix('.')}.md"


def relinked(link: re.Match, origin: str) -> str:
    """Return a link of a page as the site has it."""
    path, anchor = repository_path(link["to"], origin), link["to"].partition("#")[2]
    if not path:
        return link.group()
    if path.startswith("docs/") and not is_source(path):
        uri = path.removeprefix("docs/")
    elif macro_pages.anchor(path):
        uri, anchor = MACROS, macro_pages.anchor(path)
    else:
        uri = NEIGHBOURS.get(path, uri_of_source(path))
    there = posixpath.relpath(uri, posixpath.dirname(origin) or ".")
    text = title_of(path) if link["text"] == posixpath.basename(path) else link["text"]
    return f"[{text}]({there}{'#' + anchor if anchor else ''})"


def title_of(path: str) -> str:
    """Return what a link that is named for a file is called on the site: the heading of the page, or the file's name."""
    place = ROOT / path
    is_page = place.suffix == ".md" and place.is_file()
    return (
        next((line[2:] for line in place.read_text(encoding="utf-8").split("\n") if line.startswith("# ")), "")
        if is_page
        else place.name
    )


def source_page(path: str) -> str:
    """Return a page that shows a file, or lists a folder. PluginError where a page links to nothing."""
    place = ROOT / path
    title = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
    if place.is_dir():
        return title + "".join(f"- `{entry.name}`\n" for entry in sorted(place.iterdir()) if not entry.name.startswith("."))
    if not place.is_file():
        raise PluginError(f"a page links to {path}, which is not in the repository")
    language = LANGUAGES.get(place.suffix, "text")
    return f"{title}````` {{.{language} linenums=1}}\n{place.read_text(encoding='utf-8').rstrip()}\n`````\n"
