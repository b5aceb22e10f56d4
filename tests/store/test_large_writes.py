"""What large writes take besides their statements, and that their shorter ways lead to the same."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.callers import count_steps
from benchmarks.writes import ELEMENTS, build_warrants
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import warrant_names, warrant_pattern
from magistrate.store.contract.new_rows import NewWarrant, Stamp
from magistrate.store.contract.store import AtomicWrite
from magistrate.store.database import Execute, FindTogether, Script
from magistrate.store.scripts.batches import write_atomically
from magistrate.store.scripts.versions import EFFECTS_AT_ONCE, Effect, Key, write_effects
from magistrate.store.scripts.warrants import _plan_writes, objects_of, patterns_of, warrant_key
from magistrate.store.sql.changes import INSERT_CHANGE

AT, REVISION = 1_763_683_200_000_000, Revision(7)
MAX_OF_A_WARRANT = 270
"""Instructions of the interpreter for each new warrant; there were 400 before their rows were made together. Counting
them for the limits of a store takes 15."""

types, ids = st.sampled_from(["document", "user"]), st.sampled_from(["a", "b", "c", WILDCARD])
keys = st.tuples(
    types, ids, st.sampled_from(["viewer", "editor"]), types, ids, st.sampled_from(["", "member"]), st.just("")
)


def to_warrant(key: Key) -> NewWarrant:
    of_type, object_id, relation, subject_type, subject_id, group, _ = key
    subject = Subject(TypeName(subject_type), ObjectId(subject_id), group)
    return NewWarrant(ObjectRef(TypeName(of_type), ObjectId(object_id)), RelationName(relation), subject)


def test_writing_new_warrants_takes_few_instructions_for_each() -> None:
    wanted = AtomicWrite(warrants=build_warrants(1))

    def write_all() -> object:
        script = write_atomically(REVISION, wanted, lambda model: None, Stamp("ann", AT))
        step = next(script)
        try:
            while True:
                step = script.send([[] for _ in step.finds] if isinstance(step, FindTogether) else [])
        except StopIteration as finished:
            return finished.value

    assert count_steps(write_all) <= MAX_OF_A_WARRANT * ELEMENTS


def test_the_change_log_of_a_large_write_is_built_in_steps_and_numbered_throughout() -> None:
    count = 2 * EFFECTS_AT_ONCE + 1
    effects = [Effect("deleted", "object", ("d", str(number))) for number in range(count)]

    def work() -> Script[list[Effect]]:
        yield from ()
        return effects

    steps = [*write_effects(REVISION, Stamp("ann", AT), work())]

    logged = [step.values for step in steps if isinstance(step, Execute) and step.sql == INSERT_CHANGE]
    assert [len(rows) for rows in logged] == [EFFECTS_AT_ONCE, EFFECTS_AT_ONCE, 1]
    assert [(row[1], row[4]) for rows in logged for row in rows] == [(n, f'["d","{n}"]') for n in range(count)]


@given(st.lists(keys, unique=True, max_size=20))
def test_new_plain_warrants_are_written_as_among_others(written: Sequence[Key]) -> None:
    plain = {key: to_warrant(key) for key in written}
    limited = NewWarrant(
        ObjectRef(TypeName("folder"), ObjectId("a")),
        RelationName("viewer"),
        Subject(TypeName("user"), ObjectId("a")),
        expires_at=AT + 1,
    )

    alone = _plan_writes(plain, {}, AT, REVISION)
    among = _plan_writes({**plain, warrant_key(limited): limited}, {}, AT, REVISION)

    assert list(alone.inserted.items()) == list(among.inserted.items())[:-1]
    assert alone.rows == among.rows[:-1]
    assert alone.effects == among.effects[:-1]
    assert [*alone.replaced, *alone.expired] == []


@given(st.lists(keys, max_size=20))
def test_patterns_and_objects_are_each_named_once_in_order(written: Sequence[Key]) -> None:
    objects = [end for key in written for end in (key[:2], key[3:5]) if end[1] != WILDCARD]

    assert patterns_of(written) == list(dict.fromkeys(warrant_pattern(warrant_names(*key[:6])) for key in written))
    assert objects_of(written) == list(dict.fromkeys(objects))
