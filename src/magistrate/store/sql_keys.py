"""Implements the parts of the store that hold keys, over any Database: the keys of callers, and those that sign session
tokens."""

from collections.abc import Iterable, Mapping

from magistrate.engine.terms import Revision
from magistrate.store import caller_keys, key_digests, signing, sql_credentials
from magistrate.store.database import Database
from magistrate.store.keys import NewSecret, StoredKey, StoredKeys
from magistrate.store.known_revisions import RevisionId
from magistrate.store.sealing import Sealing
from magistrate.store.session_keys import KeptKeys, SessionKey
from magistrate.store.slices import Snapshot
from magistrate.store.sql_revisions import SqlRevisions, build_id


class SqlKeys(SqlRevisions):
    """Implements store/keys.py and store/session_keys.py."""

    def __init__(self, database: Database, sealing: Sealing) -> None:
        self.database = database
        self._sealing = sealing

    async def keys_version(self) -> int:
        since = self.known.newest
        [row] = await self.database.read(sql_credentials.READ_KEYS_VERSION, (since.revision,))
        self.known.link(RevisionId(row[0], row[2]), build_id(row[4:6]), since)
        return int(row[3])

    async def list_keys(self) -> StoredKeys:
        rows = await self.database.read(sql_credentials.LIST_KEYS, (), long=True)
        self.note_newest(rows[0])
        return await caller_keys.build_keys(rows)

    async def create_key(self, new: StoredKey, most: int) -> Revision:
        return await self.database.transact(caller_keys.create_key(new, most), makes_revision=False)

    async def rotate_key(self, id: str, new: NewSecret) -> Snapshot[StoredKey]:
        return await self.database.transact(caller_keys.rotate_key(id, new), makes_revision=False)

    async def delete_key(self, id: str) -> Revision:
        return await self.database.transact(caller_keys.delete_key(id), makes_revision=False)

    async def note_key_uses(self, uses: Mapping[str, int], pause: int) -> None:
        await self.database.transact(caller_keys.note_key_uses(uses, pause), makes_revision=False)

    async def key_digests(self) -> Iterable[str]:
        return [digest for (digest,) in await self.database.read(sql_credentials.LIST_KEY_DIGESTS, ())]

    async def keep_key_digest(self, digest: str, at: int) -> bool:
        return await self.database.transact(key_digests.keep_key_digest(digest, at), makes_revision=False)

    async def replace_key_digests(self, digest: str, at: int) -> int:
        return await self.database.transact(key_digests.replace_key_digests(digest, at), makes_revision=False)

    async def session_keys(self) -> KeptKeys:
        rows = await self.database.read(sql_credentials.LIST_SESSION_KEYS, ())
        self.note_newest(rows[0])
        return signing.open_kept_keys(rows, self._sealing)

    async def keep_session_key(self, new: SessionKey, unless_after: int, delete_by: int) -> KeptKeys:
        script = signing.keep_session_key(new, unless_after, delete_by, self._sealing)
        return await self.database.transact(script, makes_revision=False)

    async def seal_session_keys(self) -> int:
        return await self.database.transact(signing.seal_session_keys(self._sealing), makes_revision=False)

    async def delete_session_keys(self) -> int:
        return await self.database.transact(signing.delete_session_keys, makes_revision=False)
