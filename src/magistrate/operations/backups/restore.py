"""Restores stores from a backup. The whole file is read and verified before anything is written; what is written is one
transaction; and what is stored then is compared with the file."""

import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import NamedTuple

from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.undefined_names import find_names_fault
from magistrate.engine.names import WILDCARD, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import DamagedBackup
from magistrate.operations.backups.backup import list_pages
from magistrate.operations.backups.backup_file import BackupHeader, BackupReader
from magistrate.operations.backups.lines import read_rows, render_rows
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED, NO_TYPES
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf
from magistrate.operations.models.definitions import read_definition
from magistrate.store.contract.backups import BackedUpWebhook, KeyDigest, RestoredContents, RestoredRow
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.openfga import StoredOpenFgaModel
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.stored_rows import StoredObject, StoredObjectType

ACTOR = "restore"
"""Names the actor of the revision that a restore makes."""
SAMPLE_SIZE = 1_000
CHECKS_AT_ONCE = 50
"""Limits the checks of one evaluation, so that each batch stays within the work that a request may take."""
_OF_KEYS = (StoredKey, KeyDigest)
_UNVERSIONED = (*_OF_KEYS, BackedUpWebhook, SavedQuery, StoredOpenFgaModel)


class VerifiedStore(NamedTuple):
    """Holds what is known of a store in a backup once all of it was read: its header, the SHA-256 in hex of its lines
    without keys, and some of its warrants, evenly distributed."""

    header: BackupHeader
    digest: str
    sample: Sequence[Warrant]


def verify_backup(reader: BackupReader) -> list[VerifiedStore]:
    """Reads a file to its end, and returns its stores. Raises DamagedBackup unless it is as it was written."""
    reader.rewind()
    stores: list[VerifiedStore] = []
    while not stores or len(stores) < stores[0].header.parts:
        header = reader.read_header()
        if stores and header.parts != stores[0].header.parts:
            raise DamagedBackup("the headers do not belong together")
        stores.append(_verify_store(reader, header))
    return stores


def _verify_store(reader: BackupReader, header: BackupHeader) -> VerifiedStore:
    digest, sample = hashlib.sha256(), list[Warrant]()
    step, warrants, objects = max(1, header.counts.warrants // SAMPLE_SIZE), 0, 0
    for lines in reader.read_lines(header):
        end = 0
        for batch in _read_batches(reader, lines):
            start, end = end, end + len(batch)
            if isinstance(batch[0], _UNVERSIONED):
                continue
            if isinstance(batch[0], Warrant):
                sample += [row for row in batch[-warrants % step :: step] if isinstance(row, Warrant)]
                warrants += len(batch)
            objects += len(batch) if isinstance(batch[0], StoredObject) else 0
            digest.update(b"".join(lines[start:end]))
    if (warrants, objects) != (header.counts.warrants, header.counts.objects):
        raise DamagedBackup("the header counts other rows than follow")
    return VerifiedStore(header, digest.hexdigest(), sample[:SAMPLE_SIZE])


def _read_batches(reader: BackupReader, lines: Sequence[bytes], validates: bool = True) -> list[Sequence[RestoredRow]]:
    try:
        return read_rows(lines, validates)
    except DamagedBackup as error:
        last = reader.number
        raise DamagedBackup(f"lines {last - len(lines) + 1} to {last}: {error.message}") from error


def describe_contents(reader: BackupReader, header: BackupHeader, has_keys: bool = True) -> RestoredContents:
    """Returns the contents of a store in a file, perhaps without its keys. Its rows are read when they are needed."""

    def read_all() -> Iterator[Sequence[RestoredRow]]:
        for lines in reader.read_lines(reader.find_header(header.part)):
            for batch in _read_batches(reader, lines, validates=False):
                if has_keys or not isinstance(batch[0], _OF_KEYS):
                    yield batch

    return RestoredContents(read_all, header.counts.warrants, header.counts.objects)


async def find_differences(ctx: Context, backup: VerifiedStore, restored: RevisionId) -> list[str]:
    """Compares a store at the revision that a restore has made with the backup, and returns what differs, none if it
    is the same: the numbers of rows, their digest, and whether the warrants of the sample grant what they say."""
    digest, lines = hashlib.sha256(), 0
    definitions: dict[TypeName, str] = {}
    async for rows in list_pages(ctx.store, restored.revision):
        digest.update(render_rows(rows))
        lines += len(rows)
        definitions.update((row.name, row.definition) for row in rows if isinstance(row, StoredObjectType))
    counts = backup.header.counts
    expected = counts.rows
    differences = [] if lines == expected else [f"the store has {lines} rows, the backup {expected}"]
    if digest.hexdigest() != backup.digest:
        differences.append(f"the rows of the store have the digest {digest.hexdigest()}, the backup {backup.digest}")
    async for check in _find_denied(ctx, _list_checks(backup.sample, definitions), restored):
        differences.append(f"{check.render()} is denied")
    return differences


def _list_checks(sample: Sequence[Warrant], definitions: Mapping[TypeName, str]) -> Sequence[Check]:
    """Returns the checks that are authorized by these warrants, but for those that have a condition, or that the model
    does not allow."""
    defined = {name: read_definition(definition) for name, definition in definitions.items()}
    return [
        Check(
            ObjectRef(row.object_type, row.object_id),
            row.relation,
            Subject(row.subject_type, row.subject_id, row.subject_relation),
        )
        for row in sample
        if not row.is_conditional
        and WILDCARD not in (row.object_id, row.subject_id)
        and find_names_fault(row.names, defined) is None
    ]


async def _find_denied(ctx: Context, checks: Sequence[Check], at: RevisionId) -> AsyncIterator[Check]:
    """Yields those of the checks that are not authorized at a revision."""
    for start in range(0, len(checks), CHECKS_AT_ONCE):
        some = checks[start : start + CHECKS_AT_ONCE]
        pending = PendingChecks(ctx, some, ALL_NEEDED, NO_DEMAND, is_logged=False, visible_types=NO_TYPES)
        decided = await pending.decide_as_of(AsOf(at.revision, bits=at.bits))
        for check, decision in zip(some, decided.value, strict=True):
            if not decision.is_authorized:
                yield check
