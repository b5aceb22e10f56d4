"""The text form that consistency tokens, cursors and event ids share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.names import Revision
from magistrate.operations.consistency import TokenCodec, compute_crc, compute_mac, decode_text, read_token, write_token
from magistrate.operations.paging import read_page_request
from magistrate.operations.writes.objects import OBJECT_LIST
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity

HERE = Identity("0123456789abcdef", "0f" * 16)
CODECS = [TokenCodec(compute_crc, 4), TokenCodec(compute_mac, 8, check_is_first=True)]


@pytest.mark.parametrize("codec", CODECS)
@given(content=st.binary(max_size=40), key=st.binary(max_size=16))
def test_a_token_is_decoded_to_its_content(codec: TokenCodec, content: bytes, key: bytes) -> None:
    assert codec.decode(codec.encode(content, key), key) == content


@pytest.mark.parametrize("codec", CODECS)
@given(content=st.binary(min_size=1, max_size=40), place=st.integers(0), letter=st.sampled_from("Aa0_-=+/ \n"))
def test_a_changed_token_is_no_token(codec: TokenCodec, content: bytes, place: int, letter: str) -> None:
    token = codec.encode(content, b"key")
    at = place % len(token)

    changed = token[:at] + letter + token[at + 1 :]

    assert changed == token or codec.decode(changed, b"key") is None


@pytest.mark.parametrize("codec", CODECS)
def test_a_token_of_another_key_is_no_token(codec: TokenCodec) -> None:
    assert codec.decode(codec.encode(b"content", b"key"), b"other") is None


@given(st.text())
def test_a_text_that_is_decoded_is_the_only_one_of_its_bytes(text: str) -> None:
    decoded = decode_text(text)

    assert decoded is None or TokenCodec(lambda *_: b"", 0).encode(decoded) == text


def test_tokens_of_earlier_versions_stay_valid() -> None:
    """They were made before the codec was shared."""
    token = "AQEjRWeJq83vAAAAAAAAAAcWm4zn"
    cursor = "viZHjE_HLblbIm9iamVjdHMiLCJvYmplY3RJZCIsInBsYW4iLCJkb2N1bWVudCJd"

    assert write_token(HERE, RevisionId(Revision(7), None)) == token
    assert read_token(HERE, "Service-Token", token).revision == 7
    wanted = read_page_request(OBJECT_LIST, {"nextCursor": cursor}, HERE)
    assert wanted.slice.boundary == ("plan", "document")
