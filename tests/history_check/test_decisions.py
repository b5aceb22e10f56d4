"""The checker decides as the oracle does when it looks at everything, at each step of a history."""

from pathlib import Path
from random import Random

import pytest

from history_check.decisions import Decisions, make_subject, read_access
from history_check.history_file import HistoryFile
from history_check.operations import Write
from history_check.state import State, read_warrant, split_object
from history_check.tokens import read_revision
from magistrate.engine.lists.language import read_query
from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import ObjectRef
from tests.access import access
from tests.conftest import list_seeds
from tests.histories.models import DOCUMENTS, OF, USERS, draw_types, draw_warrant
from tests.oracle import Node
from tests.oracle_queries import Facts, list_rows

WRITES, COMPARED_EVERY = 60, 6


def facts_of(state: State) -> Facts:
    warrants = [read_warrant(text) for name in state.types for text in state.list_warrants(name)]
    objects = [
        ObjectRef(TypeName(object_type), ObjectId(object_id))
        for name in state.types
        for object_type, object_id, _ in map(split_object, state.list_objects(name))
    ]
    return Facts(state.types, warrants, objects, lambda warrant: True)


def draw_write(random: Random, state: State) -> Write:
    stored = sorted(text for name in state.types for text in state.list_warrants(name))
    write = Write(process="p", begin=0, end=0, mark="p.1")
    if random.random() < 0.1:
        write.define = {"document": draw_types(random)["document"]}
    elif random.random() < 0.3 and stored:
        write.delete_warrants = (random.choice(stored),)
    elif random.random() < 0.1:
        write.delete_objects = (random.choice(sorted(state.list_objects("user")) or ["user:u0"]),)
    else:
        write.create_warrants = tuple({draw_warrant(random) for _ in range(3)})
    return write


@pytest.mark.parametrize("seed", list_seeds(1, 3))
def test_lists_and_access_are_those_of_the_whole_oracle(seed: int) -> None:
    random = Random(seed)
    state = State(draw_types(random), 1)
    decisions = Decisions(state)
    for revision in range(2, WRITES):
        state.apply(draw_write(random, state), revision)
        user, document = random.choice(USERS), random.choice(DOCUMENTS)
        objects = decisions.list_objects("document", "can-read", make_subject(*user.split(":")))
        subjects = decisions.list_subjects("user", Node("document", document.partition(":")[2], "viewer"))
        rows = decisions.list_access(read_access(OF[0]))
        if revision % COMPARED_EVERY:
            continue
        facts = facts_of(state)
        assert objects == names(facts, f"select document where {user} is can-read")
        assert subjects == names(facts, f"select viewer of type user for {document}")
        whole = access(state.types, facts.warrants, facts.objects, now=0)
        selected = {row for row in whole if (row.type, row.relation, row.subject_type) == read_access(OF[0])}
        assert rows == {f"{row.type}:{row.id}#{row.relation}@{row.subject_type}:{row.subject_id}" for row in selected}
    assert decisions.made
    assert decisions.reused


def names(facts: Facts, query: str) -> set[str]:
    return {f"{row.type}:{row.id}" for row in list_rows(facts, read_query(query))}


@pytest.mark.parametrize("text", ["", "latest", "AAAA", "AvPNh1TPJI-qAAAAAAAAAAK4pIGmWxQaq~", "A"])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no token"):
        read_revision(text)


def test_a_token_has_its_revision() -> None:
    assert read_revision("AvPNh1TPJI-qAAAAAAAAAAK4pIGmWxQaqw") == 2


def test_a_file_without_a_header_is_no_history(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text('{"kind":"check"}\n')

    with pytest.raises(ValueError, match="'check'"):
        HistoryFile(path)
