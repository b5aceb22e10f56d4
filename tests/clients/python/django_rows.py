"""The rows of an application that uses Django."""

from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

import django
from asgiref.sync import sync_to_async
from django.conf import settings

from magistrate_client import AsyncClient, Client
from tests.clients.python.access_cases import Case
from tests.clients.python.row_values import list_documents, list_notes

if not settings.configured:
    settings.configure(DATABASES={})
    django.setup()

from django.db import connections, models  # Django reads settings before
from django.db.models.functions import Concat

from magistrate_client.django import IsOneOf, allowed, allowed_async, mirrored

_numbers = count(1)


def define_models(kind: str) -> tuple[Any, Any]:
    """A model of documents and one of notes, whose tables are in any database."""
    keys: dict[str, dict[str, Any]] = {
        "text": {"key": models.TextField(primary_key=True)},
        "integer": {"key": models.BigIntegerField(primary_key=True)},
        "uuid": {"key": models.UUIDField(primary_key=True)},
        "composite": {
            "pk": models.CompositePrimaryKey("tenant", "number"),
            "tenant": models.CharField(max_length=50),
            "number": models.CharField(max_length=50),
        },
    }
    document = _define(f"{kind.title()}Document", "documents", {**keys[kind], "updated": models.IntegerField()})
    about: dict[str, Any] = {
        name: models.CharField(max_length=50, null=True) for name in ("tenant", "number") if kind == "composite"
    }
    if kind != "composite":
        about = {"document": models.ForeignKey(document, models.CASCADE, null=True, db_constraint=False)}
    return document, _define(f"{kind.title()}Note", "notes", {"id": models.IntegerField(primary_key=True), **about})


def _define(name: str, table: str, fields: dict[str, Any]) -> Any:
    meta = type("Meta", (), {"app_label": "rows", "db_table": table})
    return type(name, (models.Model,), {"__module__": __name__, "Meta": meta, **fields})


MODELS = {kind: define_models(kind) for kind in ("text", "integer", "uuid", "composite")}


def connect(url: str) -> str:
    """The alias of a database."""
    alias = f"rows{next(_numbers)}"
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        database = {"ENGINE": "django.db.backends.sqlite3", "NAME": url.removeprefix("sqlite:///")}
    else:
        host = parse_qs(parts.query)["host"][0]
        name = parts.path.removeprefix("/")
        database = {"ENGINE": "django.db.backends.postgresql", "NAME": name, "USER": "postgres", "HOST": host}
    configured: Any = connections
    configured.settings[alias] = configured.configure_settings({"default": {}, alias: database})[alias]
    return alias


class DjangoRows:
    """Implements Rows."""

    def __init__(self, url: str, case: Case) -> None:
        self._alias = connect(url)
        self._document, self._note = MODELS[case.kind]
        self._field: Any = "pk"
        self._about: Any = "document"
        if case.kind == "composite":
            self._field = self._about = Concat("tenant", models.Value("."), "number")
        with connections[self._alias].schema_editor() as editor:
            for model in (self._document, self._note):
                editor.create_model(model)
        column = "document" if case.kind == "composite" else "document_id"
        documents, notes = list_documents(case.kind, case.keys), list_notes(case.kind, case.keys, column)
        self._document.objects.using(self._alias).bulk_create([self._document(**row) for row in documents])
        self._note.objects.using(self._alias).bulk_create([self._note(**row) for row in notes])

    def close(self) -> None:
        connections[self._alias].close()

    def documents(self) -> Any:
        return self._document.objects.using(self._alias)

    def _allowed(self, client: Client, case: Case) -> Any:
        return allowed(self.documents(), client, field=self._field, **case.question)

    def _keys(self, queryset: Any) -> list[str]:
        return [_render(row.pk) for row in queryset]

    def list_allowed(self, client: Client, case: Case) -> list[str]:
        return self._keys(self._allowed(client, case).order_by("updated"))

    def list_others(self, client: Client, case: Case) -> list[str]:
        condition = IsOneOf(
            self._field, client.object_set(case.subject, case.relation, case.type, context=case.context)
        )
        return self._keys(self.documents().exclude(condition).order_by("updated"))

    def list_pages(self, client: Client, case: Case, size: int) -> list[str]:
        ordered = self._allowed(client, case).order_by("-updated")
        keys: list[str] = []
        while page := self._keys(ordered[len(keys) : len(keys) + size]):
            keys += page
        return keys

    def list_allowed_or(self, client: Client, case: Case, key: str) -> list[str]:
        own = self.documents().filter(updated=list_documents(case.kind, [key])[0]["updated"])
        return self._keys((own | self._allowed(client, case)).order_by("updated"))

    def list_notes(self, client: Client, case: Case, is_allowed: bool) -> list[int]:
        notes = self._note.objects.using(self._alias)
        field = self._about if case.kind == "composite" else "document__pk"
        found = allowed(notes, client, field=field, **case.question)
        if not is_allowed:
            found = notes.exclude(pk__in=found.values("pk"))
        return [note.pk for note in found.order_by("pk")]

    def list_noted(self, client: Client, case: Case) -> list[str]:
        notes = allowed(self._note.objects.using(self._alias), client, field=self._about, **case.question)
        if case.kind == "composite":
            keys = notes.annotate(text=self._about).values("text")
            return self._keys(self.documents().annotate(text=self._field).filter(text__in=keys).order_by("updated"))
        return self._keys(self.documents().filter(pk__in=notes.values("document_id")).order_by("updated"))

    def list_mirrored(self, case: Case) -> list[str]:
        return self._keys(mirrored(self.documents(), field=self._field, **case.mirrored_question).order_by("updated"))

    async def list_asynchronously(self, client: AsyncClient, case: Case) -> list[str]:
        found = await allowed_async(self.documents(), client, field=self._field, **case.question)
        keys = [_render(row.pk) async for row in found.order_by("updated")]
        await sync_to_async(self.close)()  # the connection of the thread that ran the statement
        return keys


def _render(key: Any) -> str:
    return ".".join(key) if isinstance(key, tuple) else str(key)
