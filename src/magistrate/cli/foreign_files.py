"""Opens the files of other products, tells by their names and contents what they are, and reads what is in them.

It is imported where it is used, because it takes a moment."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from magistrate.engine.foreign.names import Faults, ForeignName, ForeignRefusal
from magistrate.engine.foreign.openfga_json import find_model_json, read_openfga_json
from magistrate.engine.foreign.openfga_relationships import (
    read_csv,
    read_json_array,
    read_json_lines,
    read_yaml_sequence,
)
from magistrate.engine.foreign.openfga_text import OpenFgaModelReader
from magistrate.engine.foreign.relationships import Placed
from magistrate.engine.foreign.schema import ForeignModel
from magistrate.engine.foreign.spicedb_relationships import is_relationship, read_relationships
from magistrate.engine.foreign.spicedb_schema import read_spicedb_schema
from magistrate.engine.foreign.yaml_nodes import YamlNode, read_yaml_nodes
from magistrate.errors import InvalidRequest

MAX_FILE_BYTES = 67_108_864
"""Limits a file that is read as a whole (64 MiB); CSV, JSON Lines and relationships as text are read line by line."""
MAX_LINE_BYTES = 1_048_576

_YAML = (".yaml", ".yml")
_JSON_LINES = (".jsonl", ".ndjson")
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
_AVRO = b"Obj\x01"
_REMARK = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(slots=True)
class ForeignFiles:
    """Holds what files say: a model, None if none of them has one, and readers of relationships."""

    model: ForeignModel | None = None
    relationships: list[Callable[[], Iterator[Placed]]] = field(default_factory=list)


def read_openfga_files(paths: Sequence[str], faults: Faults) -> ForeignFiles:
    """Reads files of OpenFGA: a model as text, JSON or fga.mod, tuples as CSV, JSON or YAML, and store files. What is
    wrong with a model is reported. Raises InvalidRequest for a file that cannot be read."""
    reader = _OpenFgaFiles(faults)
    for path in paths:
        reader.add_file(Path(path))
    return reader.list_files()


def read_spicedb_files(paths: Sequence[str], faults: Faults) -> ForeignFiles:
    """Reads files of SpiceDB: a schema, relationships, and validation files. What is wrong with a schema is reported.
    Raises InvalidRequest for a file that cannot be read."""
    files = ForeignFiles()
    for path in paths:
        _add_spicedb_file(Path(path), files, faults)
    return files


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
        return _read_bytes(path).decode().replace("\r\n", "\n")
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
            yield line


def _decode_lines(path: Path) -> Iterator[str]:
    for number, line in enumerate(_read_lines(path), 1):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise InvalidRequest(f"{path}:{number}:1: is not UTF-8") from None


def find_reference(path: Path, node: YamlNode) -> Path:
    """Returns the file that a member of another file names. Raises ForeignRefusal if it is outside of its folder."""
    at = ForeignName("", str(path), node.line, node.column)
    if not node.text or isinstance(node.value, dict | list):
        raise ForeignRefusal(at, "invalid_reference", "expected the name of a file")
    folder = path.parent.resolve()
    target = (folder / node.text).resolve() if "\0" not in node.text else folder
    if not target.is_relative_to(folder) or target == folder:
        raise ForeignRefusal(at, "invalid_reference", f"'{node.text}' is not in the folder of {path.name}")
    if not target.is_file():
        raise ForeignRefusal(at, "invalid_reference", f"there is no file '{node.text}'")
    return path.parent / node.text


class _OpenFgaFiles:
    def __init__(self, faults: Faults) -> None:
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
        if path.name == "fga.mod":
            self._add_modules(path)
        elif path.suffix.lower() in _YAML:
            root = _read_yaml(path)
            if isinstance(root.value, list):
                self._add_sequence(root, path)
            else:
                self._add_store(root.members, path)
        else:
            self._add_plain(path)

    def _add_store(self, members: Mapping[str, YamlNode], path: Path) -> None:
        """Adds a store file: a model, tuples, or the names of files that have them."""
        references = [members[name] for name in ("model_file", "tuple_file") if name in members]
        references += members["tuple_files"].elements if "tuple_files" in members else ()
        if not references and not {"model", "tuples"} & members.keys():
            raise InvalidRequest(f"{path} is neither tuples nor a store file of OpenFGA")
        if "model" in members:
            self._add_text(members["model"].text, path, members["model"])
        for node in references:
            target = find_reference(path, node)
            if target.name == "fga.mod":
                self._add_modules(target)
            elif target.suffix.lower() in _YAML:
                self._add_sequence(_read_yaml(target), target)
            else:
                self._add_plain(target)
        if "tuples" in members:
            self._add_sequence(members["tuples"], path)

    def _add_sequence(self, node: YamlNode, path: Path) -> None:
        if not isinstance(node.value, list):
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
            line, column = find_block(path, node)
            self._text.read_text(text, str(path), line, column)

    def _add_modules(self, path: Path) -> None:
        manifest = _read_yaml(path)
        for node in manifest.members["contents"].elements if "contents" in manifest.members else ():
            target = find_reference(path, node)
            self._add_text(_read_text(target), target)

    def _add_json(self, path: Path) -> None:
        text = _read_text(path)
        try:
            found = msgspec.json.decode(text, type=list[msgspec.Raw] | dict[str, msgspec.Raw])
        except _UNREADABLE as error:
            raise InvalidRequest(f"{path} is not valid JSON: {error}") from None
        if isinstance(found, dict) and "tuples" not in found:
            self._add_json_model(path, text)
            return
        member, bodies = ("", found) if isinstance(found, list) else ("tuples", _read_raw(path, found["tuples"]))
        self._files.relationships.append(lambda: read_json_array(bodies, member, text, str(path)))

    def _add_json_model(self, path: Path, text: str) -> None:
        model = find_model_json(_decode(path, text))
        if model is None:
            raise InvalidRequest(f"{path} is neither a model nor tuples of OpenFGA")
        _set_model(self._files, read_openfga_json(model, text, str(path), self._faults), path)


def _read_raw(path: Path, raw: msgspec.Raw) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw])
    except _UNREADABLE as error:
        raise InvalidRequest(f"{path}: tuples is no array: {error}") from None


def _decode(path: Path, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except _UNREADABLE as error:
        raise InvalidRequest(f"{path} is not valid JSON: {error}") from None


def _read_yaml(path: Path) -> YamlNode:
    return read_yaml_nodes(_read_text(path), str(path))


def find_block(path: Path, node: YamlNode) -> tuple[int, int]:
    """Returns where the text of a block scalar begins, in the line behind its sign, and the column of its margin."""
    lines = _read_text(path).split("\n")[node.line : node.line + 1_000]
    first = next((line for line in lines if line.strip()), "")
    return node.line + 1, len(first) - len(first.lstrip(" ")) + 1


def _add_spicedb_file(path: Path, files: ForeignFiles, faults: Faults) -> None:
    with path.open("rb") as file:
        begin = file.read(65_536)
    if begin.startswith(_AVRO):
        raise InvalidRequest(
            f"{path} is a backup of zed; write what it has with `zed backup parse-schema` and "
            "`zed backup parse-relationships`, and give these files"
        )
    if path.suffix.lower() in _YAML:
        _add_validation_file(path, files, faults)
    elif _has_relationships(begin.decode(errors="replace")):
        files.relationships.append(lambda: read_relationships(_decode_lines(path), str(path)))
    else:
        _set_model(files, read_spicedb_schema(_read_text(path), str(path), faults), path)


def _has_relationships(text: str) -> bool:
    """Returns whether the first line that is no comment is a relationship."""
    lines: Iterable[str] = (line.strip() for line in _REMARK.sub("", text).split("\n"))
    return is_relationship(next((line for line in lines if line and not line.startswith("//")), ""))


def _add_validation_file(path: Path, files: ForeignFiles, faults: Faults) -> None:
    members = _read_yaml(path).members
    if "schemaFile" in members:
        target = find_reference(path, members["schemaFile"])
        _set_model(files, read_spicedb_schema(_read_text(target), str(target), faults), path)
    if "schema" in members:
        node = members["schema"]
        line, column = find_block(path, node) if node.is_block else (node.line, node.column)
        _set_model(files, read_spicedb_schema(node.text, str(path), faults, line, column), path)
    if "relationships" in members:
        node = members["relationships"]
        line, column = find_block(path, node) if node.is_block else (node.line, node.column)
        lines = node.text.split("\n")
        files.relationships.append(lambda: read_relationships(lines, str(path), line, column))
