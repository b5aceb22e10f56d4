"""Ids have the letters, marks and numbers of one version of Unicode, whichever interpreter runs the service."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.id_characters import ID_CHARACTER, ID_MESSAGE, MAX_ID_LENGTH, are_ids, describe_id_fault, is_id
from magistrate.engine.id_ranges import VERSION as VERSION_OF_TABLE
from tests.ids import ASCII, ID_WORDS, STRANGE_IDS, id_message, ids
from tests.unicode_ranges import CATEGORIES, PATH, VERSION, is_allowed, ranges, render

HAS_VERSION = unicodedata.unidata_version == VERSION


def is_id_character(code: int) -> bool:
    character = chr(code)
    # A mark that changes with the character before it is tried alone; one that is not in NFC is no id either.
    return is_id(character) or describe_id_fault(character).startswith(("must be in the normal form", "cannot be"))


@pytest.mark.skipif(not HAS_VERSION, reason=f"this interpreter has Unicode {unicodedata.unidata_version}")
def test_the_table_is_that_of_its_version() -> None:
    assert PATH.read_text("utf-8") == render()


def test_the_table_is_of_the_documented_version() -> None:
    assert VERSION_OF_TABLE == VERSION
    assert f"Unicode {VERSION.removesuffix('.0')} " in ID_MESSAGE


def test_every_code_point_is_allowed_or_refused_by_the_table() -> None:
    allowed = {*map(ord, ASCII), *(code for first, last in ranges() for code in range(first, last + 1))}

    for code in range(sys.maxunicode + 1):
        if HAS_VERSION or not is_allowed(chr(code)):
            assert is_id_character(code) == (code in allowed), f"U+{code:04X}"


@pytest.mark.nightly
def test_an_interpreter_with_a_newer_version_knows_all_of_them() -> None:
    known = [code for code in range(0x80, sys.maxunicode + 1) if is_id_character(code)]

    assert len(known) == 135_893
    assert {unicodedata.category(chr(code))[0] for code in known} == {*CATEGORIES}


@pytest.mark.parametrize("object_id", STRANGE_IDS)
def test_an_id_is_accepted(object_id: str) -> None:
    assert is_id(object_id)
    assert are_ids({object_id, "ann"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", id_message(" ", 2)),
        ("josé\u200d", id_message("\u200d", 5)),
        ("\u202eabc", id_message("\u202e", 1)),
        ("日本\x00", id_message("\x00", 3)),
        ("\u00a0", id_message("\u00a0", 1)),
        ("\ufeffann", id_message("\ufeff", 1)),
        ("😀", id_message("😀", 1)),
        ("\U00020000😀", id_message("😀", 2)),
        ("\U000e0041", id_message("\U000e0041", 1)),
        ("\ue000", id_message("\ue000", 1)),
        ("\ud800", id_message("\ud800", 1)),
        ("a\u0378", id_message("\u0378", 2)),
        ("\U00011f00", id_message("\U00011f00", 1)),
        ("jose\u0301", "must be in the normal form NFC of Unicode, which has U+00E9 at position 4, not U+0065"),
        ("\u2126", "must be in the normal form NFC of Unicode, which has U+03A9 at position 1, not U+2126"),
        ("a\u0301\u0323", "must be in the normal form NFC of Unicode, which has U+1EA1 at position 1, not U+0061"),
        ("\u0958", "must be in the normal form NFC of Unicode, which has U+0915 at position 1, not U+0958"),
        ("日" * 342, "must be at most 1024 bytes long in UTF-8; it has 1026"),
        ("x" * 1_023 + "é", "must be at most 1024 bytes long in UTF-8; it has 1025"),
        ("é" * 1_025, "must be at most 1024 characters long"),
        (".", "cannot be '.' or '..', which mean something else in a path"),
    ],
)
def test_a_text_that_is_no_id_is_described(text: str, message: str) -> None:
    assert not is_id(text)
    assert not are_ids({text, "ann"})
    assert describe_id_fault(text) == message


def test_the_words_of_the_message_are_all_signs() -> None:
    assert ID_MESSAGE == ID_WORDS


@given(st.sets(ids, min_size=1, max_size=5))
def test_ids_together_are_ids(together: set[str]) -> None:
    assert all(map(is_id, together))
    assert are_ids(together)


@given(st.text(max_size=8))
def test_any_text_is_an_id_or_has_a_fault(text: str) -> None:
    if text and not is_id(text):
        assert describe_id_fault(text)
    if is_id(text):
        assert unicodedata.is_normalized("NFC", text)
        assert len(text.encode()) <= MAX_ID_LENGTH


@given(ids)
def test_the_expression_of_the_openapi_document_matches_all_ids(object_id: str) -> None:
    assert re.fullmatch(f"{ID_CHARACTER}{{1,{MAX_ID_LENGTH}}}", object_id)


def test_the_expression_of_the_openapi_document_is_exact_for_ascii() -> None:
    matched = [chr(code) for code in range(0x80) if re.fullmatch(ID_CHARACTER, chr(code))]

    assert sorted(matched) == sorted(ASCII)
