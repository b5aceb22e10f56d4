"""A gateway before a service with rules, as tests play it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.issuing import issue_key
from tests.leaks import keep_secret
from tests.running import Client, running_service, settings_for

RULES = """\
version: 1
source: x-original
identity:
  header: X-Auth-User
rules:
  - methods: [GET, HEAD]
    path: /documents/{id}
    object: document:{id}
    relation: viewer
  - path: /secrets/{id}
    object: unknown:{id}
    relation: viewer
  - path: /public/{rest...}
    allow: anyone
  - path: /profile
    allow: authenticated
"""
Headers = Sequence[tuple[str, str]]


class Gateway:
    """A gateway with a key of scope `forward`, whose requests are sent as they are."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self.client = httpx.Client(base_url=url, trust_env=False, timeout=30)

    def ask(
        self, path: str, user: str | None = "ann", *further: tuple[str, str], key: str | None = "", method: str = "GET"
    ) -> httpx.Response:
        headers = [("X-Original-Method", method), ("X-Original-Host", "docs.example"), ("X-Original-URI", path)]
        headers += [] if key is None else [("X-Magistrate-Key", key or self.key)]
        headers += [] if user is None else [("X-Auth-User", user)]
        return self.send("GET", "/authz", [*headers, *further])

    def send(self, method: str, path: str, headers: Headers) -> httpx.Response:
        raw = [(name.encode(), value.encode()) for name, value in headers]
        return self.client.request(method, path, headers=raw)

    def statuses(self, *paths: str, user: str | None = "ann") -> list[int]:
        return [self.ask(path, user).status_code for path in paths]


@contextmanager
def serving(folder: Path, text: str, **settings: str | int) -> Iterator[tuple[Client, Gateway]]:
    """A service with these rules, in which ann is viewer of `document:plan`."""
    rules = folder / "rules.yaml"
    rules.write_text(text)
    database_url = str(settings.pop("database_url", f"sqlite:///{folder}/m.db"))
    configured = settings_for(database_url, forward_rules=str(rules), **settings)
    with running_service(configured) as url, Client(url) as client:
        client.define({"document": {"viewer": {}}, "user": {}})
        client.grant("document:plan#viewer@user:ann", "document:café#viewer@user:zoë")
        key = issue_key(client, "gateway", "forward")
        keep_secret([key])
        gateway = Gateway(url, key)
        with gateway.client:
            yield client, gateway
