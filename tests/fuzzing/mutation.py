"""Damages texts: what a fuzzer makes of an input that is valid."""

import random
from collections.abc import Sequence

from hypothesis import strategies as st

SIGNS = (
    *(
        b"\0",
        b"\n",
        b"\r\n",
        b"\t",
        b" ",
        b"'",
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b"(",
        b")",
        b":",
        b",",
        b"#",
        b"@",
    ),
    *(b"*", b"/", b"//", b"/*", b"-", b"+", b".", b"?", b"!", b"&&", b"||", b"=", b"<", b"%", b"%00", b"$", b"&", b"|"),
    *(b"0", b"-1", b"1e400", b"9223372036854775808", b"99999999999999999999", b"0x", b"1.", b"NaN", b"null", b"true"),
    *(b"\xff", b"\xc3\x28", b"\xed\xa0\x80", "\u2028".encode(), "é".encode(), "\U0001f600".encode(), b"\\ud800"),
)
"""Lists what ends, opens or separates something in one of the languages, and numbers at their limits."""
MAX_BYTES = 20_000


def mutate(source: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Returns one of the seeds with some of its parts removed, repeated, replaced, moved or taken from other seeds."""
    text = bytearray(source.choice(seeds))
    for _ in range(source.choice((1, 1, 2, 3, 6))):
        place = source.randrange(len(text) + 1)
        end = min(len(text), place + source.choice((1, 2, 5, 20, 200)))
        match source.randrange(8):
            case 0:
                del text[place:end]
            case 1:
                text[place:place] = source.choice(SIGNS)
            case 2:
                text[place:end] = source.choice(SIGNS)
            case 3:
                text[place:place] = text[place:end] * source.choice((1, 2, 10, 300))
            case 4:
                other = source.choice(seeds)
                begin = source.randrange(len(other) + 1)
                text[place:place] = other[begin : begin + source.choice((3, 20, 200))]
            case 5:
                text[place:end] = bytes(source.randrange(256) for _ in range(end - place))
            case 6:
                text[place:place] = source.choice(SIGNS) * source.choice((2, 50, 2_000))
            case _:
                text[place:end] = text[end:][: end - place]
        del text[MAX_BYTES:]
    return bytes(text)


def inputs(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Returns damaged seeds, and some texts and bytes that look like none."""
    damaged = st.integers(0, 2**64).map(lambda seed: mutate(random.Random(seed), seeds))
    return st.one_of(
        damaged, damaged, damaged, st.text().map(lambda text: text.encode(errors="surrogatepass")), st.binary()
    )
