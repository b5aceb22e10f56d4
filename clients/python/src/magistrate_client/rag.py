"""Filters what a search finds to what a subject may see, for retrieval-augmented generation: before anything reaches
the model, because what a model has read it can repeat.

    documents = filter(found, "user:ann", "viewer", client=client)

    retriever = AllowedSearch(client, index.search, "user:ann", "viewer")
    documents = retriever.retrieve("holidays", 5)

`magistrate_client.langchain` and `.llama_index` have retrievers of these libraries."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

from magistrate_client.errors import InvalidUse
from magistrate_client.refs import AnyObject, AnySubject

if TYPE_CHECKING:
    from magistrate_client.asynchronous.client import AsyncClient
    from magistrate_client.calls import Context
    from magistrate_client.synchronous.client import Client

Document = TypeVar("Document")
AnyClient = TypeVar("AnyClient")
SearchFunction = TypeVar("SearchFunction")
FindObject = Callable[[Any], AnyObject]

METADATA = "object"
"""Names the entry in the metadata of a document that has its object, unless a function finds it."""
MAX_CANDIDATES = 1_000
"""Limits the documents that are searched for: the checks of one request."""
FIRST_FACTOR = 2
"""Sets how many times as many documents as are wanted are searched for at first, and how that grows."""


def find_object(document: Any) -> AnyObject:
    """Returns the object of a document: what its metadata has as `object`. Raises InvalidUse if there is none."""
    metadata = document.get("metadata") if isinstance(document, dict) else getattr(document, "metadata", None)
    if not isinstance(metadata, dict) or METADATA not in metadata:
        raise InvalidUse(f"a document has no {METADATA!r} in its metadata; pass object=, which finds it")
    found: AnyObject = metadata[METADATA]
    return found


def filter(  # noqa: A001 - it is called as rag.filter
    documents: Sequence[Document],
    subject: AnySubject,
    relation: str,
    *,
    client: Client,
    object: FindObject = find_object,
    context: Context | None = None,
) -> list[Document]:
    """Returns the documents on whose objects a subject has a relation, in their order. 1,000 are one request, at one
    revision. Several parts of one object need one check.

    Raises InvalidUse for a document without an object, and the errors of the client: none passes unchecked."""
    objects, found = _collect_objects(documents, object)
    results = client.check_many([(subject, relation, one) for one in objects], context=context) if objects else []
    return _select(documents, found, dict(zip(objects, results)))


async def filter_async(
    documents: Sequence[Document],
    subject: AnySubject,
    relation: str,
    *,
    client: AsyncClient,
    object: FindObject = find_object,
    context: Context | None = None,
) -> list[Document]:
    """Returns documents like `filter`."""
    objects, found = _collect_objects(documents, object)
    results = await client.check_many([(subject, relation, one) for one in objects], context=context) if objects else []
    return _select(documents, found, dict(zip(objects, results)))


def _collect_objects(documents: Sequence[Any], object: FindObject) -> tuple[list[str], list[str]]:
    """Returns the objects, each once, and that of each document."""
    found = [str(object(document)) for document in documents]
    return list(dict.fromkeys(found)), found


def _select(documents: Sequence[Document], found: Sequence[str], results: dict[str, bool]) -> list[Document]:
    return [document for document, name in zip(documents, found) if results[name]]


class _Search(Generic[AnyClient, SearchFunction]):
    """Holds what both searches need."""

    def __init__(
        self,
        client: AnyClient,
        search: SearchFunction,
        subject: AnySubject,
        relation: str,
        *,
        object: FindObject = find_object,
        context: Context | None = None,
        max_candidates: int = MAX_CANDIDATES,
    ) -> None:
        self._client = client
        self._search = search
        self._check = (subject, relation)
        self._object = object
        self._context = context
        self._max_candidates = max_candidates


class AllowedSearch(_Search["Client", Callable[[Any, int], "Sequence[Document]"]], Generic[Document]):
    """Searches for documents that a subject may see, until there are enough of them.

    `search` takes a query and a number, and returns that many documents, the best first; fewer if there are no more.
    Twice as many as are wanted are searched for at first, and then more, up to `max_candidates`: if few are allowed,
    fewer than wanted are returned, never one that is not allowed. Each search is checked as a whole, at one
    revision."""

    def retrieve(self, query: Any, k: int) -> list[Document]:
        """Returns the best `k` documents that are allowed, in the order of the search."""
        allowed: list[Document] = []
        for count in count_candidates(k, self._max_candidates):
            found = self._search(query, count)
            allowed = filter(found, *self._check, client=self._client, object=self._object, context=self._context)
            if len(allowed) >= k or len(found) < count:
                break
        return allowed[:k]


class AsyncAllowedSearch(
    _Search["AsyncClient", Callable[[Any, int], "Awaitable[Sequence[Document]]"]], Generic[Document]
):
    """Searches like AllowedSearch; `search` is a coroutine function."""

    async def retrieve(self, query: Any, k: int) -> list[Document]:
        """Returns the best `k` documents that are allowed, in the order of the search."""
        allowed: list[Document] = []
        for count in count_candidates(k, self._max_candidates):
            found = await self._search(query, count)
            checked = filter_async(found, *self._check, client=self._client, object=self._object, context=self._context)
            allowed = await checked
            if len(allowed) >= k or len(found) < count:
                break
        return allowed[:k]


def count_candidates(k: int, most: int) -> Iterator[int]:
    """Yields how many documents are searched for, one search after another. Raises InvalidUse for a `k` that is not
    between 1 and `most`."""
    if not 1 <= k <= most:
        raise InvalidUse(f"k must be between 1 and {most}, which is max_candidates")
    count = min(k * FIRST_FACTOR, most)
    yield count
    while count < most:
        count = min(count * FIRST_FACTOR, most)
        yield count
