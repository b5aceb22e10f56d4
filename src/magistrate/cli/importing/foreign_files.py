"""Opens the files of other products, recognizes them by their names and contents, and reads what is in them.

It is imported where it is used, because it takes a moment."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from magistrate.cli.models.named_files import find_named_file
from magistrate.engine.importers.names import Faults, ForeignName, ForeignRefusal
from magistrate.engine.importers.openfga_models import OpenFgaModelReader, find_model_json, read_openfga_json
from magistrate.engine.importers.openfga_relationships import (
    read_csv,
    read_json_array,
    read_json_lines,
    read_yaml_sequence,
)
from magistrate.engine.importers.relationships import UNREADABLE, Placed
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.importers.spicedb import is_relationship, read_relationships, read_spicedb_schema
from magistrate.engine.testing.yaml_documents import YamlFault, YamlNode, find_text, read_yaml_nodes
from magistrate.errors import InvalidRequest

MAX_FILE_BYTES = 67_108_864
"""Limits a file that is read as a whole (64 MiB); CSV, JSON Lines and relationships as text are read line by line."""
MAX_LINE_BYTES = 1_048_576
MAX_YAML_CHARACTERS = 33_554_432
"""Limits a YAML file (32 Mi): all of it is in memory, each value with its place."""

_YAML = (".yaml", ".yml")
_JSON_LINES = (".jsonl", ".ndjson")
_AVRO = b"Obj\x01"
_STATEMENT = re.compile(r"(?:definition|caveat|use|import|partial)\b")
"""Matches the beginning of a statement of a SpiceDB schema."""
_HASH_COMMENT = re.compile(r"#[^\n]*")
_SLASH_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STORE_MEMBERS = ("model", "model_file", "tuples", "tuple_file", "tuple_files")
_VALIDATION_MEMBERS = ("schema", "schemaFile", "relationships", "assertions", "validation")


@dataclass(slots=True)
class ForeignFiles:
    """Holds what files say: a model, None if none of them has one, and readers of relationships. `empty` are the files
    in which nothing but comments is written."""

    model: ForeignModel | None = None
    relationships: list[Callable[[], Iterator[Placed]]] = field(default_factory=list)
    empty: list[Path] = field(default_factory=list)


def read_openfga_files(paths: Sequence[str], root: Path | None, faults: Faults) -> ForeignFiles:
    """Reads files of OpenFGA: a model as text, JSON or fga.mod, tuples as CSV, JSON or YAML, and store files. `root` is
    the folder below which they may name other files, besides their own. What is wrong with a model is reported. Raises
    InvalidRequest for a file that cannot be read."""
    reader = _OpenFgaFiles(root, faults)
    for path in paths:
        reader.add_file(Path(path))
    return reader.list_files()


def read_spicedb_files(paths: Sequence[str], root: Path | None, faults: Faults) -> ForeignFiles:
    """Reads files of SpiceDB: a schema, relationships, and validation files. `root` is the folder below which they may
    name other files, besides their own. What is wrong with a schema is reported. Raises InvalidRequest for a file that
    cannot be read."""
    reader = _SpiceDbFiles(root, faults)
    for path in paths:
        reader.add_file(Path(path))
    return reader.files


def _set_model(files: ForeignFiles, model: ForeignModel, path: Path) -> None:
    if files.model is not None:
        raise InvalidRequest(f"{path} has a model, and another file has one, too")
    files.model = model


def _read_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise InvalidRequest(f"{path} is larger than {MAX_FILE_BYTES} bytes; give its tuples as CSV or JSON Lines")
    return content


def _read_text(path: Path) -> str:
    try:
        return _read_bytes(path).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None


def _read_lines(path: Path) -> Iterator[bytes]:
    """Yields the lines of a file. Raises InvalidRequest for one that is too long."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise InvalidRequest(f"{path}:{number}:1: is longer than {MAX_LINE_BYTES} bytes")
            yield line.removeprefix(BOM_UTF8) if number == 1 else line


def _decode_lines(path: Path) -> Iterator[str]:
    for number, line in enumerate(_read_lines(path), 1):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise InvalidRequest(f"{path}:{number}:1: is not UTF-8") from None


def _find_reference(path: Path, node: YamlNode, root: Path | None) -> Path:
    """Returns the file that a member of another file names. Raises ForeignRefusal unless it may name it."""
    at = ForeignName("", str(path), node.line, node.column)
    if not node.text or isinstance(node.value, dict | list):
        raise ForeignRefusal(at, "invalid_reference", "expected the name of a file")
    try:
        return find_named_file(path, node.text, root)
    except InvalidRequest as error:
        raise ForeignRefusal(at, "invalid_reference", error.message) from None


def _list_members(node: YamlNode) -> dict[str, YamlNode]:
    """Returns the members that have a value: one without is as if it were not there."""
    return {name: member for name, member in node.members.items() if member.value is not None}


def _is_empty(path: Path, comment: re.Pattern[str] | None) -> bool:
    """Returns whether nothing but comments and blanks is in a file, which a longer one is assumed not to be."""
    if path.stat().st_size > MAX_LINE_BYTES:
        return False
    text = _read_bytes(path).decode("utf-8-sig", errors="replace")
    return not (text if comment is None else comment.sub("", text)).strip()


class _OpenFgaFiles:
    def __init__(self, root: Path | None, faults: Faults) -> None:
        self._root = root
        self._faults = faults
        self._files = ForeignFiles()
        self._text: OpenFgaModelReader | None = None
        self._path = Path()

    def list_files(self) -> ForeignFiles:
        """Returns what the files say, once all were added."""
        if self._text is not None:
            _set_model(self._files, self._text.finish(), self._path)
        return self._files

    def add_file(self, path: Path) -> None:
        """Adds a file that was given. Those that it names are not such that name others."""
        if _is_empty(path, None if path.suffix.lower() in (".csv", *_JSON_LINES) else _HASH_COMMENT):
            self._files.empty.append(path)
        elif path.name == "fga.mod":
            self._add_modules(path)
        elif path.suffix.lower() in _YAML:
            root = _read_yaml(path)
            if isinstance(root.value, list):
                self._add_sequence(root, path)
            else:
                self._add_store(root, path)
        else:
            self._add_plain(path)

    def _add_store(self, root: YamlNode, path: Path) -> None:
        """Adds a store file: a model, tuples, or the names of files that have them."""
        if not root.members.keys() & {*_STORE_MEMBERS}:
            raise InvalidRequest(f"{path} is neither tuples nor a store file of OpenFGA")
        members = _list_members(root)
        if "model" in members:
            self._add_text(members["model"].text, path, members["model"])
        references = [members[name] for name in ("model_file", "tuple_file") if name in members]
        for node in (*references, *(members["tuple_files"].elements if "tuple_files" in members else ())):
            self._add_named(_find_reference(path, node, self._root))
        if "tuples" in members:
            self._add_sequence(members["tuples"], path)

    def _add_named(self, path: Path) -> None:
        if path.name == "fga.mod":
            self._add_modules(path)
        elif path.suffix.lower() in _YAML:
            self._add_sequence(_read_yaml(path), path)
        else:
            self._add_plain(path)

    def _add_sequence(self, node: YamlNode, path: Path) -> None:
        if not isinstance(node.value, list | None):
            raise InvalidRequest(f"{path}:{node.line}:{node.column}: expected a list of tuples")
        self._files.relationships.append(lambda: read_yaml_sequence(node, str(path)))

    def _add_plain(self, path: Path) -> None:
        suffix = path.suffix.lower()
        if suffix == ".csv":
            self._files.relationships.append(lambda: read_csv(_decode_lines(path), str(path)))
        elif suffix in _JSON_LINES:
            self._files.relationships.append(lambda: read_json_lines(_read_lines(path), str(path)))
        elif suffix == ".json" or _read_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            self._add_json(path)
        else:
            self._add_text(_read_text(path), path)

    def _add_text(self, text: str, path: Path, node: YamlNode | None = None) -> None:
        self._path = path
        if self._text is None:
            self._text = OpenFgaModelReader(self._faults)
        if node is None or not node.is_block:
            self._text.read_text(text, str(path))
        else:
            line, column = find_text(_read_text(path), node)
            self._text.read_text(text, str(path), line, column)

    def _add_modules(self, path: Path) -> None:
        manifest = _read_yaml(path)
        for node in manifest.members["contents"].elements if "contents" in manifest.members else ():
            target = _find_reference(path, node, self._root)
            self._add_text(_read_text(target), target)

    def _add_json(self, path: Path) -> None:
        text = _read_text(path)
        try:
            content = msgspec.json.decode(text, type=list[msgspec.Raw] | dict[str, msgspec.Raw])
        except UNREADABLE as error:
            raise InvalidRequest(f"{path} is not valid JSON: {error}") from None
        if isinstance(content, dict) and "tuples" not in content:
            self._add_json_model(path, text)
            return
        member, bodies = ("", content) if isinstance(content, list) else ("tuples", _read_raw(path, content["tuples"]))
        self._files.relationships.append(lambda: read_json_array(bodies, member, text, str(path)))

    def _add_json_model(self, path: Path, text: str) -> None:
        model = find_model_json(_decode(path, text))
        if model is None:
            raise InvalidRequest(f"{path} is neither a model nor tuples of OpenFGA")
        _set_model(self._files, read_openfga_json(model, text, str(path), self._faults), path)


def _read_raw(path: Path, raw: msgspec.Raw) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw] | None) or []
    except UNREADABLE as error:
        raise InvalidRequest(f"{path}: tuples is no array: {error}") from None


def _decode(path: Path, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except UNREADABLE as error:
        raise InvalidRequest(f"{path} is not valid JSON: {error}") from None


def _read_yaml(path: Path) -> YamlNode:
    text = _read_text(path)
    if len(text) > MAX_YAML_CHARACTERS:
        message = f"a YAML file has at most {MAX_YAML_CHARACTERS} characters; use CSV or JSON"
        raise ForeignRefusal(ForeignName("", str(path), 1, 1), "file_too_large", message)
    try:
        return read_yaml_nodes(text)
    except YamlFault as fault:
        message = f"is not valid YAML: {fault.problem}".replace("\n", " ") if fault.is_syntax else fault.problem
        raise ForeignRefusal(ForeignName("", str(path), fault.line, fault.column), "invalid_yaml", message) from None


class _SpiceDbFiles:
    def __init__(self, root: Path | None, faults: Faults) -> None:
        self.files = ForeignFiles()
        self._root = root
        self._faults = faults

    def add_file(self, path: Path) -> None:
        """Adds a file that was given."""
        with path.open("rb") as file:
            if file.read(len(_AVRO)) == _AVRO:
                raise InvalidRequest(
                    f"{path} is a backup of zed; write what it has with `zed backup parse-schema` and "
                    "`zed backup parse-relationships`, and give these files"
                )
        is_yaml = path.suffix.lower() in _YAML
        if _is_empty(path, _HASH_COMMENT if is_yaml else _SLASH_COMMENT):
            self.files.empty.append(path)
        elif is_yaml:
            self._add_validation_file(path)
        elif _has_schema(_decode_lines(path)):
            self._add_schema(_read_text(path), path)
        else:
            self._add_relationships(lambda: _decode_lines(path), path)

    def _add_schema(self, text: str, path: Path, line: int = 1, column: int = 1) -> None:
        _set_model(self.files, read_spicedb_schema(text, str(path), self._faults, line, column=column), path)

    def _add_relationships(self, read: Callable[[], Iterable[str]], path: Path, line: int = 1, column: int = 1) -> None:
        self.files.relationships.append(lambda: read_relationships(read(), str(path), line, column))

    def _add_validation_file(self, path: Path) -> None:
        root = _read_yaml(path)
        if not root.members.keys() & {*_VALIDATION_MEMBERS}:
            raise InvalidRequest(f"{path} is not a validation file of SpiceDB: it has none of its members")
        members = _list_members(root)
        if "schemaFile" in members:
            target = _find_reference(path, members["schemaFile"], self._root)
            self._add_schema(_read_text(target), target)
        if "schema" in members:
            node = members["schema"]
            self._add_schema(_demand_text(node, path, "a schema"), path, *find_text(_read_text(path), node))
        if "relationships" in members:
            node = members["relationships"]
            lines = _demand_text(node, path, "relationships").split("\n")
            self._add_relationships(lambda: lines, path, *find_text(_read_text(path), node))


def _has_schema(lines: Iterable[str]) -> bool:
    """Returns whether the first line that is a relationship, or begins like a statement, is the latter."""
    for line in _remove_comments(lines):
        if _STATEMENT.match(line):
            return True
        if is_relationship(line):
            return False
    return False


def _remove_comments(lines: Iterable[str]) -> Iterator[str]:
    """Yields what lines have besides comments, without blanks around it."""
    is_open = False
    for line in lines:
        text = line
        if is_open:
            _, end, text = line.partition("*/")
            is_open = not end
        text = _SLASH_COMMENT.sub(" ", text).strip()
        if "/*" in text and not is_relationship(text):
            text, _, _ = text.partition("/*")
            is_open = True
        yield text.strip()


def _demand_text(node: YamlNode, path: Path, described: str) -> str:
    if isinstance(node.value, dict | list):
        raise InvalidRequest(f"{path}:{node.line}:{node.column}: expected {described} as a text, in lines below |")
    return node.text
