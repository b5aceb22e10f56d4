"""The keys that session tokens are signed with can be encrypted in the store."""

import os
from base64 import b64encode
from pathlib import Path

import pytest

from magistrate.config.database_url import SqliteUrl
from magistrate.config.settings_table import Settings
from magistrate.errors import InvalidSetting, SigningKeysLocked
from magistrate.store.contract.keys import SessionKey
from magistrate.store.contract.stores import NewStore, StoreLimits
from magistrate.store.contract.webhooks import NewWebhook, WebhookFilter
from magistrate.store.scripts.key_encryption import SEALED_PREFIX, read_sealing
from magistrate.wiring.contexts import open_context, open_contexts
from magistrate.wiring.maintenance import prepare_store, revoke_sessions
from magistrate.wiring.stores import migrate_store
from tests.databases import dump, run_sql
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client, running_service, settings_for

pytestmark = pytest.mark.anyio

FIRST, SECOND = (b64encode(bytes([number]) * 32).decode() for number in (1, 2))
PLAIN = SessionKey("0" * 16, "5ec7e7" * 10 + "5ec7", 1)


def key_file(folder: Path, *lines: str, mode: int = 0o600) -> Path:
    file = folder / "secret-key"
    file.write_text("".join(f"{line}\n" for line in lines))
    file.chmod(mode)
    return file


def with_keys(url: str, folder: Path, *lines: str) -> Settings:
    return settings_for(url, secret_key_file=str(key_file(folder, *lines)))


async def keep(settings: Settings, key: SessionKey = PLAIN) -> None:
    migrate_store(settings)
    async with open_context(settings) as context:
        await context.store.keep_session_key(key, key.created_at - 1, 0)


async def read(settings: Settings) -> list[SessionKey]:
    async with open_context(settings) as context:
        return list((await context.store.session_keys()).value)


def secrets_in(url: str) -> list[str]:
    return [str(row[1]) for row in dump(url)["session_key"]]


async def test_without_a_secret_key_they_are_kept_as_they_are(database_url: str) -> None:
    await keep(settings_for(database_url))

    assert secrets_in(database_url) == [PLAIN.secret]


async def test_with_a_secret_key_the_store_holds_no_signing_key(database_url: str, tmp_path: Path) -> None:
    settings = with_keys(database_url, tmp_path, FIRST)
    other = SessionKey("1" * 16, "a" * 64, 2)

    await keep(settings)
    await keep(settings, other)

    assert all(secret.startswith(SEALED_PREFIX) for secret in secrets_in(database_url))
    assert PLAIN.secret not in repr(dump(database_url))
    assert await read(settings) == [other, PLAIN]


async def test_keys_that_were_plain_are_encrypted_at_the_start_and_leave_no_trace_in_the_file(
    database_url: str, tmp_path: Path
) -> None:
    keys = [SessionKey(f"{number:016x}", f"{number:064x}", number) for number in range(30, 0, -1)]
    for key in reversed(keys):
        await keep(settings_for(database_url), key)
    settings = with_keys(database_url, tmp_path, FIRST)

    await prepare_store(settings)

    assert not any(key.secret in repr(dump(database_url)) for key in keys)
    assert await read(settings) == keys
    if isinstance(settings.database, SqliteUrl):
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.name.startswith("magistrate.db"))
        assert [key.id for key in keys if key.secret.encode() in content] == []


async def test_without_the_secret_key_it_does_not_start_and_says_what_to_do(database_url: str, tmp_path: Path) -> None:
    await keep(with_keys(database_url, tmp_path, FIRST))

    with pytest.raises(SigningKeysLocked, match="give its file with --secret-key-file") as caught:
        await prepare_store(settings_for(database_url))
    with pytest.raises(SigningKeysLocked, match="with another secret key than those of the file"):
        await prepare_store(with_keys(database_url, tmp_path, SECOND))

    assert "magistrate sessions revoke" in caught.value.message


async def test_the_secret_key_is_changed_by_putting_a_new_one_first(database_url: str, tmp_path: Path) -> None:
    await keep(with_keys(database_url, tmp_path, FIRST))

    await prepare_store(with_keys(database_url, tmp_path, SECOND, FIRST))

    assert await read(with_keys(database_url, tmp_path, SECOND)) == [PLAIN]
    with pytest.raises(SigningKeysLocked):
        await read(with_keys(database_url, tmp_path, FIRST))


async def test_secrets_of_webhooks_of_all_stores_are_encrypted_with_them(database_url: str, tmp_path: Path) -> None:
    plain, secrets = settings_for(database_url), [f"whsec_{letter * 32}" for letter in "abc"]
    migrate_store(plain)
    async with open_contexts(plain) as contexts:
        other = await contexts.stores.create(NewStore("other", "", StoreLimits(), "ann", 1))
        for store, secret in zip((contexts.default.store, contexts.stores.open_store(other)), secrets, strict=False):
            await store.create_webhook(
                NewWebhook("h", "https://a.example/", WebhookFilter(), "", secret, True, 1, "a"), 9
            )
        await contexts.default.store.rotate_webhook_secret("h", secrets[2], 10)
    assert all(secret in repr(dump(database_url)) for secret in secrets)

    await prepare_store(with_keys(database_url, tmp_path, FIRST))

    assert not any(secret in repr(dump(database_url)) for secret in secrets)
    async with open_context(with_keys(database_url, tmp_path, FIRST)) as context:
        assert (await context.store.read_webhook_secrets("h", 5)).secrets == [secrets[2], secrets[0]]
    async with open_context(settings_for(database_url)) as context:
        assert (await context.store.find_webhook("h")).value.has_secret
        with pytest.raises(SigningKeysLocked):
            await context.store.read_webhook_secrets("h", 5)


async def test_encrypting_again_changes_nothing(database_url: str, tmp_path: Path) -> None:
    settings = with_keys(database_url, tmp_path, FIRST)
    await keep(settings)
    before = secrets_in(database_url)

    async with open_context(settings) as context:
        assert await context.store.seal_session_keys() == 0

    assert secrets_in(database_url) == before


async def test_a_row_that_was_exchanged_or_changed_is_not_taken(database_url: str, tmp_path: Path) -> None:
    sealing = read_sealing(str(key_file(tmp_path, FIRST)))
    sealed = sealing.seal("secret", "id 1")
    changed = sealed[:-6] + ("A" if sealed[-6] != "A" else "B") + sealed[-5:]

    assert sealing.unseal(sealed, "id 1") == "secret"
    for kept, bound_to in [(sealed, "id 2"), (changed, "id 1"), (SEALED_PREFIX, "id 1"), (f"{SEALED_PREFIX}ä", "id 1")]:
        with pytest.raises(SigningKeysLocked):
            sealing.unseal(kept, bound_to)


async def test_a_key_is_not_taken_under_the_name_of_another(database_url: str, tmp_path: Path) -> None:
    settings = with_keys(database_url, tmp_path, FIRST)
    await keep(settings)

    run_sql(database_url, f"UPDATE session_key SET id = '{'1' * 16}'")

    with pytest.raises(SigningKeysLocked):
        await read(settings)


def test_sessions_can_be_revoked_when_the_secret_key_is_lost(database_url: str, tmp_path: Path) -> None:
    settings = with_keys(database_url, tmp_path, FIRST)
    with running_service(settings) as url, Client(url) as client:
        client.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).raise_for_status()
    (tmp_path / "secret-key").unlink()

    assert revoke_sessions(settings, "") == 1
    assert secrets_in(database_url) == []


def test_tokens_stay_good_when_the_keys_are_encrypted(database_url: str, tmp_path: Path) -> None:
    body = {"warrants": [{"objectType": "role", "objectId": "x", "relation": "member"}]}

    def ask(settings: Settings, token: str | None = None) -> str:
        with running_service(settings) as url, Client(url) as client:
            if token is None:
                token = str(client.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).json()["token"])
            answer = client.post("/v2/check", json=body, headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code == 200, answer.text
            return token

    token = ask(settings_for(database_url))
    ask(with_keys(database_url, tmp_path, FIRST), token)

    assert secrets_in(database_url)[0].startswith(SEALED_PREFIX)


@pytest.mark.parametrize(
    "lines",
    [[FIRST], [FIRST, SECOND], [(b"\x01" * 32).hex()], [(b"\x01" * 32).hex().upper()], ["", "# ours", f"  {FIRST} "]],
)
def test_a_file_has_a_key_in_each_line(tmp_path: Path, lines: list[str]) -> None:
    assert read_sealing(str(key_file(tmp_path, *lines))).keys[0] == b"\x01" * 32


@pytest.mark.parametrize("lines", [[], ["# nothing"], ["too short"], [FIRST, "x" * 44], [FIRST[:-4]], [FIRST + "AAAA"]])
def test_a_file_without_a_key_is_refused_and_not_quoted(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(InvalidSetting, match="secret_key_file") as caught:
        read_sealing(str(key_file(tmp_path, *lines)))

    assert "openssl rand -base64 32" in caught.value.message
    assert not any(line in caught.value.message for line in lines if line)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"secret_key_file: .*No such file"):
        read_sealing(str(tmp_path / "none"))


def test_what_can_be_read_only_once_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="must be a regular file"):
        read_sealing("/dev/null")


def test_the_service_refuses_a_named_pipe_and_waits_for_no_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    service = ServiceProcess(tmp_path, api_key=KEY, secret_key_file="pipe")
    try:
        assert service.process.wait(timeout=20) == 1
    finally:
        service.process.kill()

    assert "secret_key_file: pipe must be a regular file" in service.errors()


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o620, 0o666])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    file = key_file(tmp_path, FIRST, mode=mode)

    with pytest.raises(InvalidSetting, match=rf"mode {mode:04o}.*chmod 600"):
        read_sealing(str(file))


def test_a_group_may_read_a_file_of_root_only(tmp_path: Path) -> None:
    file = key_file(tmp_path, FIRST, mode=0o640)
    if file.stat().st_uid == 0:
        assert read_sealing(str(file)).keys
        os.chown(file, 65_534, -1)

    with pytest.raises(InvalidSetting, match="mode 0640"):
        read_sealing(str(file))


def test_the_keys_are_not_in_the_representation(tmp_path: Path) -> None:
    assert "x01" not in repr(read_sealing(str(key_file(tmp_path, FIRST))))


def test_the_command_does_not_start_without_the_key_and_works_with_it(tmp_path: Path) -> None:
    file = key_file(tmp_path, FIRST)
    for workers in ("1", "2"):
        given = {"api_key": KEY, "secret_key_file": str(file)}
        with ServiceProcess(tmp_path, "--workers", workers, **given) as service, service.client() as client:
            assert client.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).status_code == 200
    without = ServiceProcess(tmp_path, api_key=KEY)

    assert without.process.wait(timeout=60) == 1
    assert "give its file with --secret-key-file" in without.errors()
