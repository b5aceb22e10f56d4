"""Converts a file of another product with a model, relationships and tests to a test file of ours: a store file of
OpenFGA, or a validation file of SpiceDB (docs/coming-from.md)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from magistrate.engine.importers.conversion import ConvertedModel, convert_model
from magistrate.engine.importers.names import Faults, ForeignName, ForeignRefusal
from magistrate.engine.importers.openfga_models import OpenFgaModelReader
from magistrate.engine.importers.openfga_relationships import read_yaml_sequence
from magistrate.engine.importers.relationships import Placed, RelationshipConverter, RelationshipRefusal
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.importers.spicedb import read_relationships, read_spicedb_schema
from magistrate.engine.importers.suites import SuiteReader
from magistrate.engine.importers.texts import Product
from magistrate.engine.testing.suites import render_tests
from magistrate.engine.testing.yaml_documents import YamlFault, YamlNode, find_text, read_one_document
from magistrate.engine.text.document import exact_document
from magistrate.engine.text.rendering import render_model

_MEMBER = re.compile(r"""^(?:\{\s*)?["']?(model|schema|tuples|relationships)["']?\s*:""", re.MULTILINE)
_OPENFGA_SCHEMA = re.compile(r"(?:^|\\n)\s*schema\s+[0-9]", re.MULTILINE)
_FILE_NAMES = ("model_file", "tuple_file", "tuple_files", "schemaFile")


class ConvertedFile(NamedTuple):
    """Holds the text of the test file, and its model with what has another name here."""

    text: str
    converted: ConvertedModel


def guess_whole_file(text: str) -> Product | None:
    """Returns the product whose file a text is, or None if it is not such a file."""
    members = {match[1] for match in _MEMBER.finditer(text)}
    if "schema" in members:
        return "spicedb"
    is_openfga = "tuples" in members or ("model" in members and _OPENFGA_SCHEMA.search(text) is not None)
    return "openfga" if is_openfga else None


def convert_whole_file(product: Product, text: str, max_values: int, now: int, faults: Faults) -> ConvertedFile | None:
    """Returns the file in our form, for tests at `now`, in microseconds since 1970 UTC; None if its model is wrong.
    What is wrong with the model or with a relationship is reported, and the relationship left out. Raises
    ForeignRefusal for a text that cannot be read, and InvalidRequest with the place of the first fault in the tests."""
    try:
        root = read_one_document(text, max_values)
    except YamlFault as fault:
        message = f"is not valid YAML: {fault.problem}" if fault.is_syntax else fault.problem
        raise ForeignRefusal(ForeignName("", "", fault.line, fault.column), "invalid_yaml", message) from None
    members = {name: node for name, node in root.members.items() if node.value is not None}
    for name in (name for name in _FILE_NAMES if name in members):
        at = ForeignName("", "", members[name].line, members[name].column)
        raise ForeignRefusal(at, "invalid_reference", f"{name}: the service reads no other files")
    read = _read_openfga if product == "openfga" else _read_spicedb
    model, relationships = read(text, members, faults)
    converted = convert_model(model, faults)
    if faults.errors:
        return None
    kept = [*_list_convertible(relationships, RelationshipConverter(model, converted), faults)]
    suite = SuiteReader(model, converted, now).read(root.to_plain(), [lambda: iter(kept)])
    lines = render_model(exact_document(converted.document)).splitlines()
    indented = "\n".join(f"  {line}".rstrip() for line in lines)
    return ConvertedFile(f"model: |\n{indented}\n{render_tests(suite)}", converted)


def _read_openfga(text: str, members: dict[str, YamlNode], faults: Faults) -> tuple[ForeignModel, Iterator[Placed]]:
    reader = OpenFgaModelReader(faults)
    written = _demand_text(members, "model")
    line, column = find_text(text, written)
    reader.read_text(written.text, "", line, column)
    listed = members.get("tuples", YamlNode([], 1, 1))
    if not isinstance(listed.value, list):
        raise ForeignRefusal(ForeignName("", "", listed.line, listed.column), "invalid_member", "expected a list")
    return reader.finish(), read_yaml_sequence(listed, "")


def _read_spicedb(text: str, members: dict[str, YamlNode], faults: Faults) -> tuple[ForeignModel, Iterator[Placed]]:
    schema = _demand_text(members, "schema")
    line, column = find_text(text, schema)
    model = read_spicedb_schema(schema.text, "", faults, line, column=column)
    if "relationships" not in members:
        return model, iter(())
    written = _demand_text(members, "relationships")
    line, column = find_text(text, written)
    return model, read_relationships(written.text.split("\n"), "", line, column)


def _demand_text(members: dict[str, YamlNode], name: str) -> YamlNode:
    """Returns a member that is a text. Raises ForeignRefusal if there is none."""
    node = members.get(name, YamlNode(None, 1, 1))
    if not isinstance(node.value, str):
        at = ForeignName("", "", node.line, node.column)
        message = f"the file must have {name} as a text, because the names of the rest depend on it"
        raise ForeignRefusal(at, "invalid_member", message)
    return node


def _list_convertible(placed: Iterator[Placed], converter: RelationshipConverter, faults: Faults) -> Iterator[Placed]:
    """Yields the relationships that the model has, and reports all others."""
    for place, relationship in placed:
        try:
            if isinstance(relationship, RelationshipRefusal):
                raise relationship
            converter.build_line(relationship)
            yield place, relationship
        except RelationshipRefusal as refusal:
            faults.report(place(), refusal.code, refusal.message)
