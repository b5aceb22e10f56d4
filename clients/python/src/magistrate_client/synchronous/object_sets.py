# Generated from ../asynchronous/object_sets.py by generate_synchronous.py.
"""Reads on which objects of a type a subject has a relation, at one revision.

A list has the objects that exist. All others are alike, because no warrant names them: one that is made up is checked
for all of them, and the subject itself, if it is of the type, because rules can name it."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, NamedTuple, TypeVar

from magistrate_client import calls
from magistrate_client.answers import read_answer
from magistrate_client.calls import PAGE_SIZE, Call, Context
from magistrate_client.object_sets import IdCollection, ObjectSet, choose_samples
from magistrate_client.refs import AnySubject, Json, ObjectRef
from magistrate_client.results import read_id, read_page, read_results
from magistrate_client.settings import Settings
from magistrate_client.synchronous.sending import Sender

_Result = TypeVar("_Result")


class Selection(NamedTuple):
    """Says which objects a set is about."""

    subject: AnySubject
    relation: str
    type: str
    context: Context | None


class ObjectSetReader:
    """Reads one object set."""

    def __init__(self, sender: Sender, settings: Settings, selection: Selection) -> None:
        subject, relation, object_type, context = selection
        self._sender = sender
        self._settings = settings
        self._type = object_type
        self._query = calls.render_objects_query(subject, relation, object_type)
        self._options = calls.render_options(context, (), None, None)
        self._samples = choose_samples(subject, object_type)
        self._checks = [
            calls.render_check(subject, relation, ObjectRef(object_type, sample)) for sample in self._samples
        ]

    def read(self) -> ObjectSet:
        """Returns the set at the revision of the first page.

        If something was written between that page and the checks, both are made again: the page at another revision,
        which was thus written during this call, and the checks as of it. Their clock is then one of this call. That of
        the first revision might be days old, so that warrants that have expired since would count."""
        (rows, cursor), token = self._send(self._build_list(None), None, _read_ids)
        results, checked_token = self._check(self._options, token)
        if checked_token != token:
            (rows, cursor), token = self._send(self._build_list(None), checked_token, _read_ids)
            results, _ = self._check({**self._options, "asOf": token}, None)
        ids = self._collect(rows, cursor, self._build_list)
        if default := results[0]:
            build_page = partial(self._build_existing, token)
            (rows, cursor), _ = self._send(build_page(None), None, _read_ids)
            ids = self._collect(rows, cursor, build_page) - ids
        for sample, result in zip(self._samples[1:], results[1:]):
            (ids.discard if result == default else ids.add)(sample)
        return ObjectSet(default, frozenset(ids), token)

    def _collect(self, rows: list[str], cursor: str | None, build_page: Callable[[str | None], Call]) -> set[str]:
        """Returns the ids of a first page and of all that follow."""
        collection = IdCollection(self._type)
        collection.add(rows)
        while cursor is not None:
            (rows, cursor), _ = self._send(build_page(cursor), None, _read_ids)
            collection.add(rows)
        return collection.ids

    def _build_list(self, cursor: str | None) -> Call:
        return calls.build_query(self._settings.prefix, self._query, self._options, PAGE_SIZE, cursor)

    def _build_existing(self, token: str, cursor: str | None) -> Call:
        return calls.build_objects(self._settings.prefix, self._type, token, PAGE_SIZE, cursor)

    def _check(self, options: Json, token: str | None) -> tuple[list[bool], str]:
        call = calls.build_checks(self._settings.prefix, self._checks, options)
        return self._send(call, token, partial(read_results, len(self._checks)))

    def _send(self, call: Call, token: str | None, read: Callable[[Any], _Result]) -> tuple[_Result, str]:
        """Returns what an answer has, and its token."""
        answer = self._sender.send(call, token)
        return read_answer(answer, read, self._settings.url), answer.token or ""


def _read_ids(page: Any) -> tuple[list[str], str | None]:
    return read_page(read_id, page)
