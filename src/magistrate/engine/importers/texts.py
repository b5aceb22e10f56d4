"""Converts the model of another product that is one text, and guesses whose it is (docs/coming-from.md)."""

import re
from typing import Any, Literal

from magistrate.engine.importers.conversion import ConvertedModel, convert_model
from magistrate.engine.importers.names import Faults, ForeignName, ForeignRefusal
from magistrate.engine.importers.openfga_models import OpenFgaModelReader, find_model_json, read_openfga_json
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.importers.spicedb import read_spicedb_schema

Product = Literal["openfga", "spicedb"]
PRODUCTS: tuple[Product, ...] = ("openfga", "spicedb")

_FIRST_WORD = re.compile(r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*\n|#[^\n]*\n)*([a-z]+)[ \t\r\n]")
_BY_FIRST_WORD: dict[str, Product] = {
    "model": "openfga",
    "module": "openfga",
    "definition": "spicedb",
    "caveat": "spicedb",
    "use": "spicedb",
}


def guess_product(text: str) -> Product | None:
    """Returns the product whose model a text is, or None if it is one of ours."""
    if '"type_definitions"' in text and text.lstrip(" \t\r\n")[:1] == "{":
        return "openfga"
    first_word = _FIRST_WORD.match(text[:65_536])
    return _BY_FIRST_WORD.get(first_word[1]) if first_word is not None else None


def convert_text(product: Product, text: str, value: Any, faults: Faults) -> ConvertedModel:
    """Returns the model of a text in our form; `value` is what it is as JSON, None if it is none. What is wrong,
    and what cannot be expressed, is reported; if there are errors, the document is not complete."""
    try:
        return convert_model(_read_model(product, text, value, faults), faults)
    except ForeignRefusal as refusal:
        faults.report(refusal.at, refusal.code, refusal.message)
        return ConvertedModel()


def _read_model(product: Product, text: str, value: Any, faults: Faults) -> ForeignModel:
    if product == "spicedb":
        return read_spicedb_schema(text, "", faults)
    if value is None:
        reader = OpenFgaModelReader(faults)
        reader.read_text(text, "")
        return reader.finish()
    model = find_model_json(value)
    if model is None:
        raise ForeignRefusal(ForeignName("", "", 1, 1), "invalid_member", "this is no model of OpenFGA")
    return read_openfga_json(model, text, "", faults)
