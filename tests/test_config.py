"""Settings: flags, environment variables and defaults; what is not understood is an error."""

import os
import pickle
from pathlib import Path
from typing import get_args

import pytest

from magistrate.cli.commands import main
from magistrate.config.api_keys import read_api_key_file
from magistrate.config.database_url import PARSERS, DatabaseUrl, PostgresUrl, SqliteUrl, read_database_url
from magistrate.config.settings import adopt_client_key, read_client_settings, read_settings
from magistrate.config.settings_table import SETTINGS, Setting, Settings
from magistrate.errors import InvalidSetting
from magistrate.wiring import server
from tests.cli.runner import CommandRunner


def test_the_defaults_are_those_of_the_table() -> None:
    settings = read_settings({}, {})

    assert (settings.host, settings.port, settings.workers) == ("127.0.0.1", 8000, 0)
    assert settings.database == SqliteUrl("magistrate.db")
    assert settings.api_keys == ()


GOOD_KEYS = ("first-key-of-a-file", "second-key-of-a-file")


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_key_of_clients_is_no_key_of_the_service(text: str) -> None:
    environment = {"MAGISTRATE_API_KEY": text}
    settings = read_settings({}, environment)

    assert adopt_client_key(settings, environment) == settings
    assert not settings.configures_api_keys


def test_a_key_file_has_a_key_in_each_line(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# ours\n\n  {GOOD_KEYS[0]}\r\n\t\n#{GOOD_KEYS[0]}x\n{GOOD_KEYS[1]}")
    file.chmod(0o600)

    read = read_api_key_file(str(file))

    assert (read.keys, read.exposed_mode) == (GOOD_KEYS, None)
    assert GOOD_KEYS[0] not in repr(read)


@pytest.mark.parametrize("mode", [0o644, 0o606, 0o620, 0o601])
def test_a_key_file_that_others_can_use_is_exposed(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "keys"
    file.write_text(GOOD_KEYS[0])
    file.chmod(mode)

    assert read_api_key_file(str(file)).exposed_mode == mode


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must hold a key"),
        ("# none\n\n", "must hold a key"),
        (f"{GOOD_KEYS[0]}\n\nk5k5k5k5k5k5k5k\n", r"the key in line 3 of \S+keys has 15 characters; it must have 16"),
        (f"# x\n{GOOD_KEYS[0]} k5k5\n", r"line 2 of \S+keys must be one word of printable ASCII"),
        (f"{GOOD_KEYS[0]}k5é\n", "line 1 of"),
        (f"{GOOD_KEYS[0]}k5\0\n", "line 1 of"),
        (f"{GOOD_KEYS[0]}k5\x0cx\n", "line 1 of"),
        ("k5" * 32_768 + "\n", "is larger than 65536 bytes"),
    ],
)
def test_a_key_file_that_cannot_stand_is_refused_by_its_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "keys").write_text(content)

    with pytest.raises(InvalidSetting, match=message) as caught:
        read_api_key_file(str(tmp_path / "keys"))

    assert "k5" not in caught.value.message
    assert GOOD_KEYS[0] not in caught.value.message


def test_a_key_file_is_a_regular_file_that_can_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, message in {
        f"{tmp_path}/none": "No such file",
        f"{tmp_path}/pipe": "must be a regular file",
        str(tmp_path): "Is a directory",
    }.items():
        with pytest.raises(InvalidSetting, match=f"^api_key_file: .*{message}"):
            read_api_key_file(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", ("*",)),
        ("https://app.example", ("https://app.example",)),
        ("HTTPS://App.Example:443, http://localhost:3000", ("https://app.example", "http://localhost:3000")),
        ("http://[::1]:8080,capacitor://localhost", ("http://[::1]:8080", "capacitor://localhost")),
    ],
)
def test_origins_are_read_as_browsers_write_them(text: str, expected: tuple[str, ...]) -> None:
    assert read_settings({}, {"MAGISTRATE_CORS_ORIGIN": text}).cors_origins == expected


@pytest.mark.parametrize(
    "text",
    [
        "app.example",
        "https://",
        "https://app.example/",
        "https://app.example/path",
        "https://app.example?q",
        "https://user@app.example",
        "https://app.example:0",
        "https://app.example:65536",
        "https://app.example:",
        "https://*.example",
        "https://münchen.example",
        "https://a.example https://b.example",
        "https://a.example,",
        "*,https://a.example",
        "null",
    ],
)
def test_other_texts_are_no_origins(text: str) -> None:
    with pytest.raises(InvalidSetting, match="cors_origin: "):
        read_settings({"cors_origin": text}, {})


def test_opening_all_routes_needs_an_origin() -> None:
    with pytest.raises(InvalidSetting, match="cors_all_routes has no effect without cors_origin"):
        read_settings({"cors_all_routes": "true"}, {})


def test_the_flag_of_an_origin_may_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Settings] = []
    monkeypatch.setattr(server, "serve", lambda settings, *_: started.append(settings))
    flags = ["--cors-origin", "https://a.example", "--cors-origin", "http://b.example:1"]

    for given, variable in ((flags, "*"), ([], "*")):
        ran = CommandRunner().invoke(main, ["serve", *given], env={"MAGISTRATE_CORS_ORIGIN": variable})
        assert ran.exit_code == 0, ran.output

    assert [settings.cors_origins for settings in started] == [("https://a.example", "http://b.example:1"), ("*",)]


def test_a_flag_wins_over_its_variable() -> None:
    environment = {"MAGISTRATE_PORT": "1", "MAGISTRATE_HOST": "::1", "OTHER": "x"}

    settings = read_settings({"port": "2", "host": None}, environment)

    assert (settings.port, settings.host) == (2, "::1")


@pytest.mark.parametrize("setting", [setting for setting in SETTINGS if type(setting.default) is int])
def test_a_number_lies_within_its_bounds(setting: Setting) -> None:
    assert isinstance(setting.default, int)
    assert setting.minimum <= setting.default <= setting.maximum
    for good in (setting.minimum, setting.maximum):
        assert setting.read(str(good), "x") == good
    for bad in (setting.minimum - 1, setting.maximum + 1):
        with pytest.raises(InvalidSetting):
            read_settings({}, {setting.variable: str(bad)})


@pytest.mark.parametrize(
    ("text", "expected"),
    [(text, True) for text in ("1", "true", "True", "YES", "on", " on ")]
    + [(text, False) for text in ("0", "false", "FALSE", "No", "off")],
)
def test_a_boolean_is_read_in_any_usual_form(text: str, expected: bool) -> None:
    assert read_settings({"access_log": text}, {}).access_log is expected
    assert read_settings({}, {"MAGISTRATE_ACCESS_LOG": text}).access_log is expected


@pytest.mark.parametrize("text", ["", " ", "2", "01", "t", "enabled", "true false"])
def test_other_texts_are_no_booleans(text: str) -> None:
    with pytest.raises(InvalidSetting, match="--access-log"):
        read_settings({"access_log": text}, {})
    with pytest.raises(InvalidSetting, match="MAGISTRATE_ACCESS_LOG"):
        read_settings({}, {"MAGISTRATE_ACCESS_LOG": text})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (True, False)),
        (["--access-log", "--fast-path", "off"], (False, True)),
        (["--fast-path", "0", "--access-log", "1"], (False, True)),
        (["--access-log=no", "--fast-path"], (True, False)),
    ],
)
def test_a_boolean_flag_may_stand_alone(
    arguments: list[str], expected: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Settings] = []
    monkeypatch.setattr(server, "serve", lambda settings, *_: started.append(settings))

    ran = CommandRunner().invoke(main, ["serve", *arguments], env={"MAGISTRATE_API_KEYS": "k" * 16})

    assert ran.exit_code == 0, ran.output
    assert [(settings.fast_path, settings.access_log) for settings in started] == [expected]


@pytest.mark.parametrize("text", ["", " ", "x", "1.5", "1e3", "٣", "0x10", "9" * 5_000, "1_000"])
def test_what_is_no_number_is_refused_and_named(text: str) -> None:
    with pytest.raises(InvalidSetting, match="MAGISTRATE_PORT"):
        read_settings({}, {"MAGISTRATE_PORT": text})
    with pytest.raises(InvalidSetting, match="--port"):
        read_settings({"port": text}, {})


@pytest.mark.parametrize("url", ["mysql://[", "p@ss://x", "[://word]"])
def test_a_database_url_that_is_none_is_refused_without_what_may_be_a_password(url: str) -> None:
    with pytest.raises(InvalidSetting, match=r"unknown scheme in '(mysql://)?\.\.\.'"):
        read_settings({"database_url": url}, {})


def test_commands_find_the_service_by_the_variable_of_client_libraries() -> None:
    both = {"MAGISTRATE_URL": "http://one", "MAGISTRATE_SERVER": "http://two"}

    assert read_client_settings({}, {"MAGISTRATE_URL": "http://one"}).server == "http://one"
    assert read_client_settings({}, both).server == "http://two"
    assert read_client_settings({"server": "http://three"}, both).server == "http://three"
    with pytest.raises(InvalidSetting, match="MAGISTRATE_URL is empty"):
        read_client_settings({}, {"MAGISTRATE_URL": " "})


def test_a_service_starts_in_the_environment_of_its_clients() -> None:
    assert read_settings({}, {"MAGISTRATE_URL": "http://one"}) == read_settings({}, {})


def test_an_unknown_variable_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="MAGISTRATE_DATABASEURL is not a setting"):
        read_settings({}, {"MAGISTRATE_DATABASEURL": "sqlite:///x.db"})


PROVIDER = {"jwt_keys": "https://login.example/keys", "jwt_issuer": "https://login.example/", "jwt_audience": "us"}


def test_a_provider_has_keys_an_issuer_and_an_audience() -> None:
    settings = read_settings(PROVIDER, {})

    assert settings.jwt_keys_have_url
    assert not read_settings(PROVIDER | {"jwt_keys": "folder/key.pem"}, {}).jwt_keys_have_url
    assert (settings.jwt_user_claim, settings.jwt_tenant_claim) == ("sub", "")


@pytest.mark.parametrize("missing", PROVIDER)
def test_half_a_provider_is_refused(missing: str) -> None:
    with pytest.raises(InvalidSetting, match=r"jwt_\w+ (needs|has no effect without) jwt_\w+"):
        read_settings({name: text for name, text in PROVIDER.items() if name != missing}, {})


def test_a_tenant_claim_needs_a_provider() -> None:
    with pytest.raises(InvalidSetting, match="jwt_tenant_claim has no effect without jwt_keys"):
        read_settings({"jwt_tenant_claim": "tenant"}, {})


@pytest.mark.parametrize(
    "url", ["ftp://h/k", "https://", "http:///keys", "https://h:port/k", "http://[h/k", "file:///k"]
)
def test_keys_are_fetched_from_the_web_only(url: str) -> None:
    with pytest.raises(InvalidSetting, match="jwt_keys"):
        read_settings(PROVIDER | {"jwt_keys": url}, {})


@pytest.mark.parametrize(("text", "named"), [("k" * 15, "the API key has 15"), (f"{'k' * 16},short", "2 of 2 has 5")])
def test_keys_shorter_than_16_characters_are_refused(text: str, named: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{named} characters; it must have 16 or more") as caught:
        read_settings({}, {"MAGISTRATE_API_KEYS": text})

    assert "kkk" not in caught.value.message
    assert "short" not in caught.value.message


def test_a_key_of_16_characters_is_taken() -> None:
    assert read_settings({"api_key": "k" * 16}, {}).api_keys == ("k" * 16,)


def test_what_a_client_shows_to_another_service_may_be_short() -> None:
    assert read_client_settings({"api_key": "short"}, {}).api_key == "short"


@pytest.mark.parametrize("text", ["a,,b", ",", "a b", "a\tb", "ä", "a,b,"])
def test_keys_are_words_of_ascii(text: str) -> None:
    with pytest.raises(InvalidSetting, match="API key"):
        read_settings({"api_key": text}, {})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///magistrate.db", SqliteUrl("magistrate.db")),
        ("sqlite:///folder/m.db", SqliteUrl("folder/m.db")),
        ("sqlite:////var/lib/m.db", SqliteUrl("/var/lib/m.db")),
        ("sqlite:///with%20blank.db", SqliteUrl("with blank.db")),
        ("postgresql://u:p@h:5/d?sslmode=require", PostgresUrl("postgresql://u:p@h:5/d?sslmode=require")),
        ("postgres://h1,h2/d", PostgresUrl("postgres://h1,h2/d")),
        ("postgresql:///d?host=/run/postgresql", PostgresUrl("postgresql:///d?host=/run/postgresql")),
        ("postgresql://", PostgresUrl("postgresql://")),
    ],
)
def test_database_urls(url: str, expected: SqliteUrl | PostgresUrl) -> None:
    assert read_database_url(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "magistrate.db",
        "mysql://u:secret@h/d",
        "SQLITE:///x.db",
        "sqlite://x.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:////",
        "sqlite:///folder/",
        "sqlite:///:memory:",
        "sqlite:///x.db?mode=ro",
        "sqlite:///x.db#y",
        "sqlite:///x%00.db",
        "postgresql:x",
    ],
)
def test_other_database_urls_are_refused_without_showing_a_secret(url: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        read_database_url(url)

    assert "secret" not in caught.value.message


def test_every_url_that_is_parsed_can_be_opened() -> None:
    """mypy requires of wiring/stores.py that it opens each of these types."""
    assert {type(parse(f"{scheme}:///x")) for scheme, parse in PARSERS.items()} == set(get_args(DatabaseUrl))


def test_secrets_are_not_in_the_representation() -> None:
    settings = read_settings({"api_key": "sesame" * 3, "database_url": "postgresql://u:sesame@h/d"}, {})

    assert "sesame" not in repr(settings)


def test_settings_can_be_sent_to_worker_processes() -> None:
    settings = read_settings({"api_key": "a" * 16 + "," + "b" * 16}, {})

    assert pickle.loads(pickle.dumps(settings)) == settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tls_cert": "c"}, "tls_cert and tls_key must be given together"),
        ({"tls_key": "k"}, "tls_cert and tls_key must be given together"),
        ({"tls_client_ca": "a"}, "tls_client_ca has no effect without tls_cert"),
        ({"read_database_url": "postgresql://r/x"}, "read_database_url has no effect without a postgresql://"),
        (
            {"database_url": "postgresql://db/x", "read_database_url": "sqlite:///x.db"},
            "read_database_url: a replica has a postgresql:// URL",
        ),
        ({"primary_url": "https://authz.example"}, "primary_url has no effect without read_only"),
        ({"primary_url": "authz.example"}, "primary_url: 'authz.example' is no URL"),
        ({"read_only": "true"}, "read_only needs a postgresql:// database URL"),
        (
            {"read_only": "true", "database_url": "postgresql://db/x", "decision_log": "9"},
            "decision_log writes to the database, which read_only excludes",
        ),
        ({"public_url": "authz.example"}, "public_url: 'authz.example' is no URL"),
        ({"public_url": "ftp://authz.example"}, "public_url: "),
        ({"public_url": "https://authz.example?x=1"}, "public_url: "),
        ({"public_url": "https://me@authz.example"}, "public_url: "),
    ],
)
def test_settings_of_connections_that_do_not_fit_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        read_settings(given, {})


def test_a_public_url_has_no_slash_at_its_end() -> None:
    assert read_settings({"public_url": "https://authz.example/base/"}, {}).public_url == "https://authz.example/base"


def test_replicas_are_separated_by_commas_and_may_have_several_hosts_each() -> None:
    given = {"database_url": "postgresql://db/x", "read_database_url": "postgresql://a,b/x,postgres://me:secret@c/x"}

    settings = read_settings(given, {})

    assert [url.conninfo for url in settings.read_databases] == ["postgresql://a,b/x", "postgres://me:secret@c/x"]
    assert "secret" in settings.secrets
    assert "secret@" not in repr(settings)
