"""`python deploy/site_pages.py FOLDER` writes the pages of the site, which `./run site` builds.

On the site, nothing leads out of it: what the pages link to beside them, such as a model or a module, becomes a page as
well, below `repository/`. Links of the repository stay as they are, because its pages are read there, too."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FILES = "repository"
"""Is the folder of the site for what is not in `docs/`."""
LANGUAGES = {".go": "go", ".json": "json", ".py": "python", ".sql": "sql", ".ts": "typescript", ".yaml": "yaml"}
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
_LINK = re.compile(r"(\]\()([^()\s#]+)((?:#[^()\s]*)?\))")
_FENCE = re.compile(r"^( *)(`{3,})[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"# (.*)")


class SitePages:
    """Writes pages, and those that they link to, into a folder. Raises FileNotFoundError for a link to nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: list[Path] = []
        self._known: set[Path] = set()

    def write(self) -> None:
        for path in sorted(DOCS.rglob("*")):
            if path.is_file():
                self._add(path)
        decisions = [path for path in sorted((DOCS / "decisions").glob("*.md")) if path.name != "index.md"]
        self._put(Path("decisions/index.md"), "# Decisions\n\n" + "".join(map(_render_entry, decisions)))
        while self._waiting:
            self._write_file(self._waiting.pop())

    def _add(self, path: Path) -> None:
        if path not in self._known:
            self._known.add(path)
            self._waiting.append(path)

    def _write_file(self, path: Path) -> None:
        place = _place_of(path)
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.is_file())
            self._put(place, _list_files(path, files))
            for file in files:
                self._add(file)
        elif path.suffix == ".md":
            self._put(place, self._move_links(path, place))
        elif place.suffix == ".md":
            language = LANGUAGES.get(path.suffix, "text")
            text = f"````{language}\n{path.read_text()}````\n"
            self._put(place, f"{NOT_SEARCHED}# {path.relative_to(ROOT)}\n\n{text}")
        else:
            target = self._folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    def _put(self, place: Path, text: str) -> None:
        target = self._folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def _move_links(self, path: Path, place: Path) -> str:
        """Returns the text of a page with links as they are on the site. What is in fences stays as it is."""

        def move(matched: re.Match[str]) -> str:
            linked = matched[2]
            if "://" in linked or linked.startswith("mailto:"):
                return matched[0]
            target = Path(os.path.normpath(path.parent / linked))
            if target == DOCS / "decisions":
                moved = Path("decisions/index.md")
            else:
                if not target.exists():
                    raise FileNotFoundError(f"{path.relative_to(ROOT)}: {linked}")
                self._add(target)
                moved = _place_of(target)
            return f"{matched[1]}{os.path.relpath(moved, place.parent)}{matched[3]}"

        return "".join(text if is_fence else _LINK.sub(move, text) for is_fence, text in _split(path.read_text()))


def _split(text: str) -> Iterator[tuple[bool, str]]:
    """Yields the parts of a page in order, each with whether it is a fence."""
    at = 0
    for fence in _FENCE.finditer(text):
        yield False, text[at : fence.start()]
        yield True, fence[0]
        at = fence.end()
    yield False, text[at:]


def _place_of(path: Path) -> Path:
    """Returns where a file or folder of the repository is on the site."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    place = FILES / path.relative_to(ROOT)
    if path.is_dir():
        return place / "index.md"
    is_copied = path.suffix in (".md", ".png", ".svg")
    return place if is_copied else place.with_name(f"{path.name}.md")


def _render_entry(page: Path) -> str:
    matched = _TITLE.match(page.read_text())
    assert matched is not None, page
    return f"- [{matched[1]}]({page.name})\n"


def _list_files(folder: Path, files: list[Path]) -> str:
    place = _place_of(folder).parent
    entries = [f"- [{file.name}]({os.path.relpath(_place_of(file), place)})\n" for file in files]
    return f"{NOT_SEARCHED}# {folder.relative_to(ROOT)}\n\n{''.join(entries)}"


def main(arguments: list[str]) -> int:
    [folder] = arguments
    shutil.rmtree(folder, ignore_errors=True)
    SitePages(Path(folder)).write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
