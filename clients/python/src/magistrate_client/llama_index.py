"""Has a retriever of LlamaIndex that returns only what a subject may see.

    def search(query: QueryBundle, count: int) -> list[NodeWithScore]:
        return index.as_retriever(similarity_top_k=count).retrieve(query)

    retriever = AllowedRetriever(AllowedSearch(client, search, "user:ann", "viewer"), k=5)

Make one for each subject. It needs `pip install 'magistrate-client[llama-index]'`."""

from __future__ import annotations

from llama_index.core.retrievers import BaseRetriever  # pyright: ignore[reportMissingImports]
from llama_index.core.schema import NodeWithScore, QueryBundle  # pyright: ignore[reportMissingImports]

from magistrate_client.rag import AllowedSearch


class AllowedRetriever(BaseRetriever):  # type: ignore[misc]  # where LlamaIndex is not installed, it is Any
    """Retrieves the best `k` nodes that a search allows. The metadata of a node has its object, unless the search has a
    function that finds it."""

    def __init__(self, search: AllowedSearch[NodeWithScore], *, k: int = 4) -> None:
        self._search = search
        self._k = k
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._search.retrieve(query_bundle, self._k)
