"""Has a retriever of LangChain that returns only what a subject may see.

    retriever = AllowedRetriever(
        client=client, search=store.similarity_search, subject="user:ann", relation="viewer", k=5
    )

Make one for each subject. It needs `pip install 'magistrate-client[langchain]'`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Optional

from langchain_core.callbacks import CallbackManagerForRetrieverRun  # pyright: ignore[reportMissingImports]
from langchain_core.documents import Document  # pyright: ignore[reportMissingImports]
from langchain_core.retrievers import BaseRetriever  # pyright: ignore[reportMissingImports]

from magistrate_client.rag import MAX_CANDIDATES, AllowedSearch, find_object


class AllowedRetriever(BaseRetriever):  # type: ignore[misc]  # where LangChain is not installed, it is Any
    """Retrieves the best `k` documents on whose objects the subject has the relation. `search` returns a number of
    documents for a query, the best first, such as `similarity_search` of a vector store; the other members are those of
    AllowedSearch."""

    client: Any
    search: Callable[[str, int], Sequence[Document]]
    subject: Any
    relation: str
    k: int = 4
    object: Callable[[Any], Any] = find_object
    context: Optional[dict[str, Any]] = None  # noqa: UP045 - Pydantic reads it on Python 3.9
    max_candidates: int = MAX_CANDIDATES

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        search = AllowedSearch(
            self.client,
            self.search,
            self.subject,
            self.relation,
            object=self.object,
            context=self.context,
            max_candidates=self.max_candidates,
        )
        return search.retrieve(query, self.k)
