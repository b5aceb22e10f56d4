"""The filter for retrieval-augmented generation, on a small index in this process, with the real engine."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from magistrate_client import AsyncClient, Client, InvalidUse, rag
from magistrate_client.errors import InvalidParameter
from magistrate_client.rag import AllowedSearch, AsyncAllowedSearch, filter_async
from magistrate_client.testing import MemoryStore

MODEL = """version 1.0

type user

type document
    relation viewer [user, user:*]
"""
WORDS = ("holiday", "salary", "travel", "insurance", "parking")


class Page(NamedTuple):
    """A part of a document in the index."""

    text: str
    metadata: dict[str, str]


class SmallIndex:
    """Ranks parts by how often they have the words of a query, and counts the searches."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.pages = pages
        self.counts: list[int] = []

    def search(self, query: str, count: int) -> list[Page]:
        self.counts.append(count)
        scored = [(sum(page.text.split().count(word) for word in query.split()), page) for page in self.pages]
        ranked = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
        return [page for _, page in ranked[:count]]

    async def search_async(self, query: str, count: int) -> list[Page]:
        return self.search(query, count)


@pytest.fixture
def index() -> SmallIndex:
    """100 parts, of which the first match best; there are two of each object."""
    return SmallIndex(
        [
            Page("holiday " * (100 - number) + WORDS[number % 5], {"object": f"document:d{number // 2:02}"})
            for number in range(100)
        ]
    )


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = MemoryStore()
    with store.client() as client:
        client.write_model(MODEL)
        client.write(create=[f"document:d{number:02}#viewer@user:ann" for number in range(0, 50, 10)])
        client.write(create=[f"document:d{number:02}#viewer@user:bob" for number in range(50)])
    yield store
    store.close()


@pytest.fixture
def client(store: MemoryStore) -> Iterator[Client]:
    with store.client() as client:
        yield client


def names(pages: Sequence[Page]) -> list[str]:
    return [page.metadata["object"] for page in pages]


def test_only_what_is_allowed_passes_in_its_order(client: Client, index: SmallIndex) -> None:
    found = index.search("holiday", 100)

    allowed = rag.filter(found, "user:ann", "viewer", client=client)

    assert names(allowed) == [name for number in range(0, 50, 10) for name in [f"document:d{number:02}"] * 2]
    assert rag.filter(found, "user:bob", "viewer", client=client) == found
    assert rag.filter(found, "user:eve", "viewer", client=client) == []
    assert rag.filter([], "user:ann", "viewer", client=client) == []


def test_a_thousand_parts_of_few_documents_are_one_request(
    client: Client, index: SmallIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[int] = []
    check_many = client.check_many

    def count(checks: list[tuple[str, str, str]], **options: object) -> list[bool]:
        requests.append(len(checks))
        return check_many(checks, **options)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(client, "check_many", count)
    rag.filter(index.search("holiday", 100) * 10, "user:ann", "viewer", client=client)

    assert requests == [50]


def test_a_document_without_an_object_is_an_error_and_passes_nowhere(client: Client) -> None:
    with pytest.raises(InvalidUse, match="'object' in its metadata"):
        rag.filter([Page("", {})], "user:ann", "viewer", client=client)
    for name in ("document:", "document", "d00"):
        with pytest.raises(InvalidUse, match="type:id"):
            rag.filter([Page("", {"object": name})], "user:ann", "viewer", client=client)
    with pytest.raises(InvalidParameter):
        rag.filter([Page("", {"object": "document:two words"})], "user:ann", "viewer", client=client)
    assert rag.filter([Page("", {"object": "document:d00"})], "user:ann", "no-relation", client=client) == []


def test_a_function_finds_the_object(client: Client) -> None:
    found = rag.filter(["d00", "d01"], "user:ann", "viewer", client=client, object=lambda name: f"document:{name}")

    assert found == ["d00"]


def test_a_search_goes_on_until_enough_is_allowed(client: Client, index: SmallIndex) -> None:
    found = AllowedSearch(client, index.search, "user:ann", "viewer").retrieve("holiday", 5)

    assert names(found) == ["document:d00"] * 2 + ["document:d10"] * 2 + ["document:d20"]
    assert index.counts == [10, 20, 40, 80]


def test_a_search_in_which_all_is_allowed_is_one(client: Client, index: SmallIndex) -> None:
    found = AllowedSearch(client, index.search, "user:bob", "viewer").retrieve("holiday", 5)

    assert found == index.search("holiday", 5)
    assert index.counts[0] == 10
    assert len(index.counts) == 2  # with that of the line above


def test_a_search_ends_with_the_index_or_at_its_limit(client: Client, index: SmallIndex) -> None:
    every = AllowedSearch(client, index.search, "user:ann", "viewer").retrieve("holiday", 20)
    limited = AllowedSearch(client, index.search, "user:ann", "viewer", max_candidates=30).retrieve("holiday", 20)

    assert len(every) == 10
    assert len(limited) == 4
    assert index.counts == [40, 80, 160, 30]


@pytest.mark.parametrize("k", [0, -1, 1_001])
def test_a_number_of_documents_that_cannot_be_searched_for_is_an_error(
    client: Client, index: SmallIndex, k: int
) -> None:
    with pytest.raises(InvalidUse, match="between 1 and 1000"):
        AllowedSearch(client, index.search, "user:ann", "viewer").retrieve("holiday", k)


def test_a_right_that_is_revoked_counts_in_the_next_search(client: Client, index: SmallIndex) -> None:
    search = AllowedSearch(client, index.search, "user:ann", "viewer")
    first = search.retrieve("holiday", 2)

    client.write(delete=["document:d00#viewer@user:ann"])

    assert names(first) == ["document:d00"] * 2
    assert names(search.retrieve("holiday", 2)) == ["document:d10"] * 2


def test_tasks_filter_and_search_alike(store: MemoryStore, index: SmallIndex) -> None:
    async def search(client: AsyncClient) -> tuple[list[Page], list[Page]]:
        async with client:
            found = index.search("holiday", 100)
            allowed = await filter_async(found, "user:ann", "viewer", client=client)
            retrieved = await AsyncAllowedSearch(client, index.search_async, "user:ann", "viewer").retrieve(
                "holiday", 5
            )
            return allowed, retrieved

    allowed, retrieved = asyncio.run(search(store.async_client()))

    assert len(allowed) == 10
    assert retrieved == allowed[:5]
