"""Models as documents, from JSON."""

import msgspec

from magistrate.engine.text.document import ModelDocument
from magistrate.engine.text.json_documents import ModelBody, read_body, read_members


def document_of(body: ModelBody) -> ModelDocument:
    document, faults = read_body(read_members(msgspec.to_builtins(body)), lambda path: (0, 0))
    assert not faults
    return document
