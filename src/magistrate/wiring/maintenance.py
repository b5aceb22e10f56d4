"""Does what a store needs before it is served, and the work of commands that use a store without a service."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import BufferedReader

from magistrate.api.endpoints.warrant_lines import read_line
from magistrate.config.settings import ImportTarget
from magistrate.config.settings_table import Settings
from magistrate.errors import StoreDeleted
from magistrate.operations.importing.importer import LineFile, import_lines
from magistrate.operations.importing.importer import Reached as Reached
from magistrate.operations.keys.caller_keys import generate_key, key_digest
from magistrate.operations.models.examples import Example, load_example
from magistrate.operations.models.object_types import begin_model
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.wiring.contexts import open_context, open_contexts, open_import_context
from magistrate.wiring.garbage_collection import SURVIVORS
from magistrate.wiring.stores import migrate_store

ANY_RECEIVER = "https://receiver.invalid"
"""Is a URL like those of webhooks."""


async def prepare_store(settings: Settings, example: Example | None = None) -> str | None:
    """Encrypts the session keys if that is configured, seeds a new store and loads the example.

    If no API key is configured and none was generated before, generates one and returns it: nobody else ever sees it
    again."""
    async with open_contexts(settings) as contexts:
        context = contexts.default
        await context.store.seal_session_keys()
        await _prepare_webhooks(contexts)
        await begin_model(context)
        if example is not None:
            await load_example(context, example)
        if settings.configures_api_keys:
            return None
        key = generate_key()
        return key if await context.store.keep_key_digest(key_digest(key), context.now()) else None


async def _prepare_webhooks(contexts: StoreContexts) -> None:
    """Encrypts the secrets of the webhooks of all stores, if that is configured. Raises InvalidSetting if there are
    some, and the variables for proxies and authorities cannot be used: nothing could be sent."""
    numbers = await contexts.stores.list_stores_with_webhooks()
    if not numbers:
        return
    from magistrate.outgoing_requests import choose_http_options  # an HTTP client takes memory

    choose_http_options(ANY_RECEIVER)
    await contexts.follow()
    for number in numbers:
        with suppress(StoreDeleted):
            await contexts.open_context(number).store.seal_webhook_secrets()


def reset_key(settings: Settings) -> str:
    """Generates a key in place of the one that was generated in the store before, and returns it: nobody else ever sees
    it again. Raises StoreUnavailable or SchemaMismatch."""

    async def replace_digest() -> str:
        key = generate_key()
        async with open_context(replace(settings, secret_key_file="")) as context:  # keys of sessions are not read
            await context.store.replace_key_digests(key_digest(key), context.now())
        return key

    return asyncio.run(replace_digest())


def import_file(
    target: ImportTarget, file: BufferedReader, source: str | None, report: Callable[[Reached], None]
) -> Reached:
    """Imports a file into a database, which is created and brought up to date first, as
    operations/importing/importer.py describes.

    Raises NotFound if the store does not exist, InvalidRequest, StoreUnavailable, SchemaMismatch or InvalidSetting."""
    settings = target.settings
    migrate_store(settings)
    SURVIVORS.install()
    lines = LineFile(file, source, target.chunk_lines, settings.max_body_bytes)

    async def run_import() -> Reached:
        async with open_import_context(settings, target.store) as context:
            await begin_model(context)
            return await import_lines(context, lines, partial(read_line, context, settings.max_json_depth), report)

    return asyncio.run(run_import())


def revoke_sessions(settings: Settings, store: str) -> int:
    """Ends all sessions of the store with this name or id, `default` if it is empty, and returns how many keys had
    signed them. Raises NotFound, StoreUnavailable or SchemaMismatch."""

    async def revoke_all() -> int:
        async with open_context(_without_secret_key(settings), store) as context:
            return await context.store.delete_session_keys()

    return asyncio.run(revoke_all())


def revoke_all_sessions(settings: Settings) -> int:
    """Ends all sessions of all stores, like `revoke_sessions`."""

    async def revoke_all() -> int:
        ended = 0
        async with open_contexts(_without_secret_key(settings)) as contexts:
            for moved in await contexts.follow():
                with suppress(StoreDeleted):
                    ended += await contexts.stores.open_store(moved.stored).delete_session_keys()
        return ended

    return asyncio.run(revoke_all())


def _without_secret_key(settings: Settings) -> Settings:
    """Returns the settings for ending sessions, which is the only way out when the secret key is lost."""
    return replace(settings, secret_key_file="")
