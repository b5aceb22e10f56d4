"""The retrievers of LangChain and LlamaIndex, with the base classes of these libraries, on a small local index.

They are not among the packages of the tests: both have 330 MB and take longer to install than all others together. The
nightly run installs them."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from magistrate_client import Client
from magistrate_client.rag import AllowedSearch
from magistrate_client.testing import memory_client

pytestmark = pytest.mark.nightly

REASON = "{} is not installed; the nightly run installs it"
MODEL = """version 1.0

type user

type document
    relation viewer [user]
"""
TEXTS = {f"d{number:02}": "holiday " * (20 - number) for number in range(20)}


@pytest.fixture
def client() -> Iterator[Client]:
    with memory_client(MODEL) as client:
        client.write(create=[f"document:d{number:02}#viewer@user:ann" for number in range(0, 20, 5)])
        yield client


def rank(query: str, count: int) -> Sequence[str]:
    """The ids of the best texts for a query."""
    ranked = sorted(TEXTS, key=lambda name: -TEXTS[name].split().count(query))
    return ranked[:count]


def test_a_retriever_of_langchain_returns_what_is_allowed(client: Client) -> None:
    documents = pytest.importorskip("langchain_core.documents", reason=REASON.format("langchain-core"))
    from magistrate_client.langchain import AllowedRetriever

    def search(query: str, count: int) -> list[Any]:
        return [
            documents.Document(page_content=TEXTS[name], metadata={"object": f"document:{name}"})
            for name in rank(query, count)
        ]

    retriever = AllowedRetriever(client=client, search=search, subject="user:ann", relation="viewer", k=3)
    found = retriever.invoke("holiday")

    assert [document.metadata["object"] for document in found] == ["document:d00", "document:d05", "document:d10"]
    assert isinstance(retriever, pytest.importorskip("langchain_core.retrievers").BaseRetriever)


def test_a_retriever_of_llama_index_returns_what_is_allowed(client: Client) -> None:
    schema = pytest.importorskip("llama_index.core.schema", reason=REASON.format("llama-index-core"))
    from magistrate_client.llama_index import AllowedRetriever

    def search(query: Any, count: int) -> list[Any]:
        return [
            schema.NodeWithScore(
                node=schema.TextNode(text=TEXTS[name], metadata={"object": f"document:{name}"}), score=1.0
            )
            for name in rank(query.query_str, count)
        ]

    retriever = AllowedRetriever(AllowedSearch(client, search, "user:ann", "viewer"), k=3)
    found = retriever.retrieve("holiday")

    assert [node.metadata["object"] for node in found] == ["document:d00", "document:d05", "document:d10"]
    assert isinstance(retriever, pytest.importorskip("llama_index.core.retrievers").BaseRetriever)
