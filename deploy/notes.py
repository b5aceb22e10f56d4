"""`python deploy/notes.py [--dated] TAG` prints the notes of a release: what CHANGELOG.md says of a tag such as v1.2.3.

The heading of the entry is `## 1.2.3 - 2026-01-31`, or `## 1.2.3 (not yet tagged)` before the release, which `--dated`
refuses. Lines of a paragraph are joined, because GitHub breaks the text of a release at every end of a line, and links
to files lead to the tag if GITHUB_REPOSITORY says where the repository is."""

import os
import re
import sys
from pathlib import Path

NOT_TAGGED = " (not yet tagged)"
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
_DATE = re.compile(r" - \d{4}-\d{2}-\d{2}")
_BEGINS_A_BLOCK = re.compile(r"\s*([-*|#>]|\d+\.|```)")
_LINK_TO_FILE = re.compile(r"\]\((?![a-z]+:|#)([^)]+)\)")


def main(arguments: list[str]) -> str | None:
    """Returns what is wrong, or None."""
    is_dated = "--dated" in arguments
    [tag] = [argument for argument in arguments if argument != "--dated"]
    try:
        entry = find_entry(Path("CHANGELOG.md").read_text(encoding="utf-8"), tag.removeprefix("v"), is_dated)
    except LookupError as error:
        return str(error)
    print(lead_to_tag(join_lines(entry), tag, os.environ.get("GITHUB_REPOSITORY", "")))
    return None


def find_entry(changelog: str, version: str, is_dated: bool) -> str:
    """Returns the text below the heading of a version. Raises LookupError if there is none, or no date is in it while
    `is_dated`."""
    for heading in _HEADING.finditer(changelog):
        if heading[1].split(" ")[0] != version:
            continue
        rest = heading[1].removeprefix(version)
        if not _DATE.fullmatch(rest) and (is_dated or rest != NOT_TAGGED):
            raise LookupError(
                f"The heading of CHANGELOG.md must be '## {version} - ' and the date, not '{heading[0]}'."
            )
        following = _HEADING.search(changelog, heading.end())
        text = changelog[heading.end() : following.start() if following else len(changelog)].strip()
        if not text:
            raise LookupError(f"The entry of CHANGELOG.md for {version} is empty.")
        return text
    raise LookupError(f"CHANGELOG.md has no entry '## {version}'.")


def join_lines(text: str) -> str:
    """Returns the text with each paragraph and each item of a list in one line; blocks of code stay as they are."""
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        begins = is_code or not line.strip() or not lines or not lines[-1] or _BEGINS_A_BLOCK.match(line)
        if begins or lines[-1].startswith(("#", "```")):
            lines.append(line if is_code else line.rstrip())
        else:
            lines[-1] += " " + line.strip()
        is_code ^= line.lstrip().startswith("```")
    return "\n".join(lines)


def lead_to_tag(text: str, tag: str, repository: str) -> str:
    """Returns the text with links to files of the repository at the tag; as it is if the repository is not known."""
    if not repository:
        return text
    return _LINK_TO_FILE.sub(rf"](https://github.com/{repository}/blob/{tag}/\1)", text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
