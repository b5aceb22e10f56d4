"""Writes the authorization models of OpenFGA's API, as scripts."""

from magistrate.engine.names import Revision
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewModel, Stamp, ValidateTypes
from magistrate.store.contract.stores import generate_ulid_after
from magistrate.store.database import NOTHING, Execute, Script, Select
from magistrate.store.scripts.models import put_all_policies, put_all_types
from magistrate.store.scripts.versions import VersionedWrite, WriteOutcome, write
from magistrate.store.sql.head import MOVE_MODEL
from magistrate.store.sql.openfga import INSERT_OPENFGA_MODEL, LAST_OPENFGA_MODEL, REPLACE_OPENFGA_ASSERTIONS

NO_ASSERTIONS = "[]"


def put_openfga_model(
    head: Revision, document: str, model: NewModel, validate: ValidateTypes, stamp: Stamp
) -> VersionedWrite[tuple[str, ...]]:
    def work(revision: Revision) -> Script[WriteOutcome[str]]:
        [[(last,)]] = yield Select(LAST_OPENFGA_MODEL, [()])
        model_id = generate_ulid_after(stamp.at, last)
        yield Execute(INSERT_OPENFGA_MODEL, [(model_id, document, NO_ASSERTIONS, stamp.at, revision)], NOTHING)
        types = yield from put_all_types(model.types, validate, stamp, revision, is_whole_model=True)
        policies = yield from put_all_policies(model.policies, stamp, revision, is_whole_set=True)
        yield Execute(MOVE_MODEL, [(revision,)], NOTHING)
        return WriteOutcome((model_id,), [*types.effects, *policies.effects])

    return write(head, stamp, tuple[str, ...], work(Revision(head + 1)))


def put_openfga_assertions(head: Revision, model_id: str, assertions: str) -> Script[Snapshot[bool]]:
    [replaced] = yield Select(REPLACE_OPENFGA_ASSERTIONS, [(assertions, model_id)])
    return Snapshot(head, bool(replaced))
