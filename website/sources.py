"""Files of the repository on the site: source with its colours, a folder as a list, results and pictures as they are."""

from __future__ import annotations

from website.places import ROOT

LANGUAGES = {
    ".py": "python",
    ".c": "c",
    ".h": "c",
    ".toml": "toml",
    ".yml": "yaml",
    ".md": "markdown",
    ".txt": "text",
    "Makefile": "make",
}
FOLDER = "source"
# Not in the search: it would drown the pages.
HEAD = "---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"


def uri(path: str) -> str:
    """Give a path's place on the site.

    Args:
        path: from the repository's root.

    Returns:
        A page for source and folders; the file's own name for the rest.
    """
    if (ROOT / path).is_dir():
        return f"{FOLDER}/{path}/index.md"
    return f"{FOLDER}/{path}.md" if _language(path) else f"{FOLDER}/{path}"


def inside(path: str) -> list[str]:
    """Give the sources of a folder.

    Args:
        path: from the repository's root.

    Returns:
        Their paths, in the alphabet's order; none for a file.
    """
    if not (ROOT / path).is_dir():
        return []
    return sorted(f"{path}/{each.name}" for each in (ROOT / path).iterdir() if each.is_file() and _language(each.name))


def content(path: str) -> str | bytes:
    """Give a path as the site shows it.

    Args:
        path: from the repository's root.

    Returns:
        Markdown for source and folders, the bytes of the rest.
    """
    where = ROOT / path
    if where.is_dir():
        names = [each.rsplit("/", 1)[1] for each in inside(path)]
        return HEAD.format(path=f"{path}/") + "".join(f"- [{name}]({name}.md)\n" for name in names)
    if language := _language(path):
        return HEAD.format(path=path) + f'``````{language} linenums="1"\n{where.read_text(encoding="utf-8")}``````\n'
    return where.read_bytes()


def _language(path: str) -> str | None:
    name = path.rsplit("/", 1)[-1]
    return LANGUAGES.get(name) or LANGUAGES.get("." + name.rsplit(".", 1)[-1])
