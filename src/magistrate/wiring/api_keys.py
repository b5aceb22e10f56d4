"""Keeps the API keys of a running service up to date: the stored keys, and those of --api-key and of the key file or,
if neither is configured, the one that was generated in the store."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import structlog

from magistrate.api.auth.callers import KeyRing, KnownSecret, KnownSecrets, list_secrets
from magistrate.config.api_keys import FileState, find_file_state, read_api_key_file
from magistrate.config.settings_table import Settings
from magistrate.errors import InvalidSetting, StoreDeleted, StoreUnavailable
from magistrate.log import end_outage
from magistrate.operations.keys.caller_keys import key_digest
from magistrate.operations.scheduling import attempt_work
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.store.contract.stores import DEFAULT_STORE, MovedStore
from magistrate.wiring.shared_files import SharedFile

PAUSE_SECONDS = 0.05
"""Sets the time between the beginnings of two rounds: 20 lookups a second in each worker."""
MAX_WAITING = 1_000
"""Limits the requests that wait for a round; others are refused at once."""


class UnknownKeys:
    """Looks up unknown keys by `take_over`, which takes over all changes of the stored keys, within a bounded time, and
    raises nothing."""

    def __init__(self, take_over: Callable[[], Awaitable[None]], now: Callable[[], float] = time.monotonic) -> None:
        self._take_over = take_over
        self._now = now
        self._running = asyncio.Lock()
        self._next_round: asyncio.Task[None] | None = None
        self._next_at = now()
        self._waiting = 0

    async def look_up(self) -> None:
        """Returns when all keys are known that were stored before the call, or when that takes too long."""
        if self._waiting >= MAX_WAITING:
            return
        if self._next_round is None:
            self._next_round = asyncio.create_task(self._run_round())
        self._waiting += 1
        try:
            await asyncio.shield(self._next_round)  # the others wait on if one of them is cancelled
        finally:
            self._waiting -= 1

    async def _run_round(self) -> None:
        async with self._running:
            await asyncio.sleep(max(0.0, self._next_at - self._now()))
            self._next_round = None  # whoever comes from now on needs another one
            self._next_at = self._now() + PAUSE_SECONDS
            await self._take_over()


log = structlog.get_logger()

CLIENT_KEY_REMEDY = (
    "give the keys of the service with MAGISTRATE_API_KEYS, --api-key or --api-key-file; the next release ignores "
    "MAGISTRATE_API_KEY, which is the key that clients send"
)

LOOK_EVERY_SECONDS = 1.0
FOLLOW_EVERY_SECONDS = 0.25
"""Sets how often the version of the stored keys is read, so that a change is in force within a second."""
UNFOLLOWED_SECONDS = 0.5
"""Limits the age of what another process of this machine has followed, which is relied on then."""
TAKE_OVER_SECONDS = 0.5
"""Limits how long a request waits for a change of the stored keys to be in force in its worker."""
KEYS_AT_ONCE = 100
"""Limits the stored keys that are prepared before others may run; some milliseconds, if each has many object types."""
STORES_AT_ONCE = 1_000
"""Limits the stores whose keys are put into the ring before others may run, which takes a millisecond."""
NOTE_EVERY_SECONDS = 60.0
"""Sets how often the uses of stored keys are written."""
UNSTABLE_NS = 500_000_000
"""Sets the age from which the time of a change differs from that of any later one. File systems on Linux round times
to 10 ms at most."""
SHARED_NAME = "api-key.digests"
"""Names the file in which workers share the digests of the key file."""


class ReloadSignal:
    """Remembers that SIGHUP was received, until the keys have been read again."""

    def __init__(self) -> None:
        self._is_received = False

    def receive(self, *_: object) -> None:
        """Handles the signal."""
        self._is_received = True

    def take(self) -> bool:
        """Returns whether the signal was received since the last call."""
        is_received, self._is_received = self._is_received, False
        return is_received


class ServiceKeys:
    """Reads the keys of a service and fills its ring with them. `reload_signal` is given to a service without a
    supervisor, `shared_folder` to workers of one."""

    def __init__(
        self,
        settings: Settings,
        contexts: StoreContexts,
        reload_signal: ReloadSignal | None = None,
        shared_folder: Path | None = None,
    ) -> None:
        self.ring = KeyRing(contexts.default.now)
        self._settings = settings
        self._contexts = contexts
        self._store = contexts.default.store
        self._reload_signal = reload_signal or ReloadSignal()
        self._shared = None if shared_folder is None else SharedFile(shared_folder, SHARED_NAME)
        self._from_file: tuple[str, ...] = ()
        self._state: FileState | None = None
        """Holds the state of the file when it was last read, None if there was no file."""
        self._is_stable = True
        """Says whether every later change of the file also changes its state."""
        self._versions: dict[int, int] = {}
        self._secrets: dict[int, KnownSecrets] = {}
        """Have the version of the stored keys of each store, and these keys, which are in the ring together."""
        self._unread: dict[int, MovedStore] = {}
        """Has the stores whose keys have changed since then."""
        self._restores = 0
        self._operators: Sequence[str] = ()
        self._noted_at = -math.inf
        self._filling = asyncio.Lock()

    async def open(self) -> KeyRing:
        """Returns the ring, filled. If the key file is invalid and other workers have read one that was valid, takes
        over their digests and logs an error.

        Raises InvalidSetting or StoreUnavailable."""
        if self._settings.api_key_file:
            try:
                await asyncio.to_thread(self._read_file)
            except InvalidSetting as error:
                self._from_file = tuple(self._shared.read().split()) if self._shared is not None else ()
                if not self._from_file:
                    raise
                log.error("the API key file is invalid, the previous keys stay valid", error=error.message)
        await self._read_all()
        self.ring.look_up = UnknownKeys(self.take_over).look_up
        return self.ring

    async def keep_fresh(self) -> None:
        """Reads the keys again when the file changes, and all on SIGHUP. It must run once, as a background task."""
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            by_signal = self._reload_signal.take()
            if by_signal or await self._has_file_changed():
                await self._read_again(by_signal)

    async def follow_changes(self) -> None:
        """Takes over changes of the stored keys. It must run once, as a background task."""
        while True:
            await asyncio.sleep(FOLLOW_EVERY_SECONDS)
            await self._attempt_to_follow(time.monotonic() - UNFOLLOWED_SECONDS)

    async def take_over(self) -> None:
        """Takes over the changes of the stored keys that were made before the call, unless that takes
        TAKE_OVER_SECONDS. Raises nothing."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._attempt_to_follow(), TAKE_OVER_SECONDS)

    async def end_expired(self) -> None:
        """Ends the stored keys that have expired, whatever the store is doing. It must run once, as a background
        task."""
        while True:
            await asyncio.sleep(FOLLOW_EVERY_SECONDS)
            self.ring.end_expired()

    async def note_uses(self) -> None:
        """Writes when stored keys were used. It must run once, as a background task of its own: a write may wait for
        those of other processes, for seconds."""
        while True:
            await asyncio.sleep(FOLLOW_EVERY_SECONDS)
            if time.monotonic() - self._noted_at >= NOTE_EVERY_SECONDS:
                await attempt_work(self._note_uses(), "uses of the stored keys could not be noted")

    async def _attempt_to_follow(self, up_to: float | None = None) -> None:
        await attempt_work(self._follow(up_to), "changes of the stored keys could not be taken over")

    async def _follow(self, up_to: float | None) -> None:
        async with self._filling:
            if await self._note_moved(up_to):
                await self._take_over_all()
                return
            if not self._unread:
                return
            if DEFAULT_STORE in self._unread:
                self._operators = await self._list_operators()
            for store in self._unread.values():
                await self._take_over_store(store)
            await self._fill_ring()
            self._unread.clear()  # only now: what failed or was cancelled before is done again

    async def _note_moved(self, up_to: float | None = None) -> bool:
        """Notes the stores whose keys have to be read, up to a monotonic time or the present one, and returns whether
        these are all, because the database was restored."""
        moved = await self._contexts.follow(up_to)
        end_outage("store")
        is_restored = self._contexts.stores.restores != self._restores
        for store in moved:
            is_deleted = store.stored.deleted_at is not None
            if is_restored or is_deleted or self._versions.get(store.stored.number) != store.keys_version:
                self._unread[store.stored.number] = store
        return is_restored

    async def _take_over_store(self, moved: MovedStore) -> None:
        """Reads the keys of a store that has changed them, or was deleted."""
        number = moved.stored.number
        if moved.stored.deleted_at is not None:
            self._secrets.pop(number, None)
            self._versions.pop(number, None)
            return
        listed = await self._contexts.stores.list_keys(number)
        self._secrets[number] = list_secrets(listed.get(number, ()), number)
        self._versions[number] = moved.keys_version

    async def _note_uses(self) -> None:
        if not (uses := self.ring.take_uses()):
            return
        try:
            for number, of_store in groupby(sorted(uses.items()), key=lambda use: use[0][0]):
                at = {key_id: time for (_, key_id), time in of_store}
                with suppress(StoreDeleted):
                    store = self._contexts.open_context(number).store
                    await store.note_key_uses(at, round(NOTE_EVERY_SECONDS * 1_000_000))
        except BaseException:
            self.ring.return_uses(uses)
            raise
        self._noted_at = time.monotonic()

    async def _has_file_changed(self) -> bool:
        path = self._settings.api_key_file
        return bool(path) and (not self._is_stable or await asyncio.to_thread(find_file_state, path) != self._state)

    async def _read_again(self, by_signal: bool) -> None:
        """Reads the keys again; any failure is logged, and leaves the keys as they are."""
        before = self._from_file
        try:
            if self._settings.api_key_file:
                await asyncio.to_thread(self._read_file)
            await self._read_all()
        except InvalidSetting as error:
            log.error("the API key file is invalid, the previous keys stay valid", error=error.message)
        except StoreUnavailable as error:
            log.error("the API keys could not be read again, the previous keys stay valid", error=error.message)
        else:
            if by_signal or self._from_file != before:
                log.info("the API keys were read again", cause="SIGHUP" if by_signal else "the file changed")

    def _read_file(self) -> None:
        path = self._settings.api_key_file
        self._state, self._is_stable = find_file_state(path), True
        read = read_api_key_file(path)
        # Two writes within one tick of the clock of the file system leave the same time.
        self._is_stable = time.time_ns() - read.state.modified_ns > UNSTABLE_NS
        self._from_file, self._state = tuple(map(key_digest, read.keys)), read.state
        if self._shared is not None:
            try:
                self._shared.write("\n".join(self._from_file))
            except OSError as error:
                log.error("the API keys could not be shared with workers that start later", error=repr(error))

    async def _read_all(self) -> None:
        """Reads all keys of all stores."""
        # What was read first must not replace what was read later.
        async with self._filling:
            await self._note_moved()
            await self._take_over_all()

    async def _take_over_all(self) -> None:
        restores = self._contexts.stores.restores
        self._operators = await self._list_operators()
        all_secrets: dict[int, KnownSecrets] = {}
        for number, keys in (await self._contexts.stores.list_keys()).items():
            secrets: dict[str, KnownSecret] = {}
            for start in range(0, len(keys), KEYS_AT_ONCE):
                secrets |= list_secrets(keys[start : start + KEYS_AT_ONCE], number)
                await asyncio.sleep(0)
            all_secrets[number] = secrets
        self._secrets = all_secrets
        await self._fill_ring()
        # Only now: what failed or was cancelled before is done again.
        self._versions |= {number: store.keys_version for number, store in self._unread.items()}
        self._restores = restores
        self._unread.clear()

    async def _list_operators(self) -> Sequence[str]:
        """Returns the digests of the keys of the operator."""
        if self._settings.configures_api_keys:
            return [*map(key_digest, self._settings.api_keys), *self._from_file]
        return [*await self._store.key_digests()]

    async def _fill_ring(self) -> None:
        secrets: dict[str, KnownSecret] = {}
        for place, of_store in enumerate(self._secrets.values(), 1):
            secrets |= of_store
            if not place % STORES_AT_ONCE:
                await asyncio.sleep(0)
        self.ring.replace(self._operators, secrets)


def check_key_file(settings: Settings) -> None:
    """Warns of a key file that other users can read or write. Raises InvalidSetting if it is invalid: workers would
    only log it."""
    if not settings.api_key_file:
        return
    read = read_api_key_file(settings.api_key_file)
    if read.exposed_mode is not None:
        log.warning(
            "other users of this machine can use the file of API keys",
            file=settings.api_key_file,
            mode=f"{read.exposed_mode:04o}",
            remedy=f"run `chmod 600 {settings.api_key_file}` and replace the keys in it",
        )
