"""Defines the client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Optional,
    TypeVar,
)

from magistrate_client import calls
from magistrate_client.answers import Answer, read_answer
from magistrate_client.asynchronous.network import Connections
from magistrate_client.asynchronous.object_sets import AsyncObjectSetReader, Selection
from magistrate_client.asynchronous.sending import AsyncSender
from magistrate_client.calls import PAGE_SIZE, AsOf, Call, Context, Precondition, Triple
from magistrate_client.errors import Denied
from magistrate_client.events import (
    AccessEvent,
    Checkpoint,
    FeedReader,
    WatchEvent,
    read_access_event,
    read_watch_event,
)
from magistrate_client.explanations import Explanation, read_explanation, render_decision
from magistrate_client.object_sets import ObjectSet
from magistrate_client.refs import AnyElement, AnyObject, AnySubject, AnyWarrant, Json, Warrant, read_warrant_row
from magistrate_client.results import (
    AccessChange,
    Written,
    read_access_change,
    read_id,
    read_page,
    read_result,
    read_results,
    read_written,
)
from magistrate_client.settings import Settings, is_proxied, read_settings

if TYPE_CHECKING:
    import httpx

    from magistrate_client.asynchronous.sending import AsyncTransport

_Page = Callable[[Optional[str]], Call]
_Result = TypeVar("_Result")


class AsyncClient:
    """Calls a Magistrate service.

    `url`, `key` and `store` are MAGISTRATE_URL, MAGISTRATE_API_KEY and MAGISTRATE_STORE where they are left out; a key
    of the operator needs `store`, any other has a store of its own. `timeout` limits a call in seconds, with all its
    `retries`. `consistency` is "session", so that this client sees its own writes, "latest" or "none". Requests
    go through `http`, a client of httpx, if there is one.

    One client is for all tasks of a program. Every call raises what magistrate_client.errors defines, and nothing
    else."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        store: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 3,
        consistency: str = "session",
        http: httpx.AsyncClient | None = None,
    ) -> None:
        settings = read_settings(url, key, store, timeout, retries, consistency)
        self._begin(settings, _choose_connections(settings, http))

    def _begin(self, settings: Settings, connections: AsyncTransport) -> None:
        self._settings = settings
        self._prefix = settings.prefix
        self._sender = AsyncSender(settings, connections)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncClient(url={self._settings.url!r})"

    async def aclose(self) -> None:
        """Closes the connections that the client has made."""
        await self._sender.aclose()

    @property
    def token(self) -> str | None:
        """Returns the newest token that the client was given, which names what was written or read last. It may be
        assigned: reads then are at least as fresh as this token."""
        return self._sender.sessions.current.token

    @token.setter
    def token(self, token: str | None) -> None:
        self._sender.sessions.current.token = token

    @contextmanager
    def at(self, token: str) -> Iterator[AsyncClient]:
        """Has the calls of a block read at least what this token names: `with client.at(token): …`. It holds for the
        thread or task that runs the block, and yields the same client."""
        with self._sender.sessions.pin(token):
            yield self

    async def check(
        self,
        subject: AnySubject,
        relation: str,
        object: AnyObject,
        *,
        context: Context | None = None,
        with_: Iterable[AnyWarrant] = (),
        as_of: AsOf | None = None,
        strict: bool | None = None,
        token: str | None = None,
    ) -> bool:
        """Returns whether a subject has a relation on an object.

        `context` has the variables of policies, and `with_` warrants that count as if they were written. `as_of` is a
        token or a time of the past, `strict` refuses names that the model lacks. `token` is read at in place of that of
        the client."""
        check = calls.render_check(subject, relation, object)
        call = calls.build_check(self._prefix, check, calls.render_options(context, with_, as_of, strict))
        return await self._get(call, token, read_result)

    async def check_many(
        self,
        checks: Iterable[Triple],
        *,
        context: Context | None = None,
        with_: Iterable[AnyWarrant] = (),
        as_of: AsOf | None = None,
        strict: bool | None = None,
        token: str | None = None,
    ) -> list[bool]:
        """Returns whether each subject has its relation on its object, in the order of `checks`, which are triples
        `(subject, relation, object)`. 1,000 of them are one request, decided at one revision; more are several."""
        rendered = [calls.render_check(*check) for check in checks]
        options = calls.render_options(context, with_, as_of, strict)
        results: list[bool] = []
        for begin in range(0, len(rendered), calls.CHECKS_IN_REQUEST):
            chunk = rendered[begin : begin + calls.CHECKS_IN_REQUEST]
            call = calls.build_checks(self._prefix, chunk, options)
            results += await self._get(call, token, partial(read_results, len(chunk)))
        return results

    async def require(
        self,
        subject: AnySubject,
        relation: str,
        object: AnyObject,
        *,
        context: Context | None = None,
        with_: Iterable[AnyWarrant] = (),
        as_of: AsOf | None = None,
        strict: bool | None = None,
        token: str | None = None,
        explain: bool = False,
    ) -> None:
        """Raises Denied unless a subject has a relation on an object. With `explain`, its reason says which change
        would allow it, for which the key needs the scope `read`."""
        if explain:
            explanation = await self.explain(
                subject, relation, object, context=context, with_=with_, as_of=as_of, strict=strict, token=token
            )
            if not explanation.allowed:
                raise Denied(explanation.summary, explanation)
            return
        check = calls.render_check(subject, relation, object)
        call = calls.build_check(self._prefix, check, calls.render_options(context, with_, as_of, strict))
        if not await self._get(call, token, read_result):
            raise Denied(render_decision(check, allowed=False))

    async def explain(
        self,
        subject: AnySubject,
        relation: str,
        object: AnyObject,
        *,
        context: Context | None = None,
        with_: Iterable[AnyWarrant] = (),
        as_of: AsOf | None = None,
        strict: bool | None = None,
        token: str | None = None,
    ) -> Explanation:
        """Returns why a check is allowed or denied, and which changes would allow it."""
        check = calls.render_check(subject, relation, object)
        options = calls.render_options(context, with_, as_of, strict)
        call = calls.build_explain(self._prefix, check, options)
        return await self._get(call, token, partial(read_explanation, check))

    def objects(
        self,
        subject: AnySubject,
        relation: str,
        type: str,
        *,
        context: Context | None = None,
        with_: Iterable[AnyWarrant] = (),
        as_of: AsOf | None = None,
        token: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> AsyncGenerator[str, None]:
        """Yields the objects of a type, as `type:id`, on which a subject has a relation: those of all pages, at one
        revision. Pages are requested as they are needed."""
        query = calls.render_objects_query(subject, relation, type)
        options = calls.render_options(context, with_, as_of, None)
        return self._rows(
            lambda cursor: calls.build_query(self._prefix, query, options, page_size, cursor), token, read_id
        )

    async def object_set(
        self, subject: AnySubject, relation: str, type: str, *, context: Context | None = None
    ) -> ObjectSet:
        """Returns for all objects of a type, existing or not, whether a subject has a relation on them, at one
        revision. The key needs the scope `check`, too, and `read` if objects that do not exist are allowed, as by a
        warrant on `type:*`."""
        selection = Selection(subject, relation, type, context)
        return await AsyncObjectSetReader(self._sender, self._settings, selection).read()

    def subjects(
        self,
        object: AnyObject,
        relation: str,
        type: str,
        *,
        context: Context | None = None,
        with_: Iterable[AnyWarrant] = (),
        as_of: AsOf | None = None,
        token: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> AsyncGenerator[str, None]:
        """Yields the subjects of a type, as `type:id`, that have a relation on an object, like `objects`. `type:*`
        stands for all subjects of the type, beside those that exist. The type `team#member` has groups."""
        query = calls.render_subjects_query(object, relation, type)
        options = calls.render_options(context, with_, as_of, None)
        return self._rows(
            lambda cursor: calls.build_query(self._prefix, query, options, page_size, cursor), token, read_id
        )

    async def write(
        self,
        create: Iterable[AnyElement] = (),
        delete: Iterable[AnyElement] = (),
        preconditions: Iterable[Precondition] = (),
        *,
        idempotency_key: str | None = None,
    ) -> Written:
        """Deletes and creates warrants and objects, all or nothing, if the preconditions hold.

        They are texts (`document:plan#viewer@user:ann`, `document:plan`) or values of this package, up to 1,000. A
        precondition is `{"exists": …}`, `{"absent": …}` or `{"revision": token}`. However often the request is sent,
        the write is made once. Raises PreconditionFailed, and NotFound for a deletion of what does not exist."""
        call = calls.build_write(self._prefix, create, delete, preconditions, idempotency_key)
        answer = await self._sender.send(call)
        return self._read(answer, partial(read_written, answer.token or ""))

    def warrants(
        self,
        *,
        object_type: str | None = None,
        object_id: str | None = None,
        relation: str | None = None,
        subject_type: str | None = None,
        subject_id: str | None = None,
        subject_relation: str | None = None,
        as_of: AsOf | None = None,
        token: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> AsyncGenerator[Warrant, None]:
        """Yields the stored warrants that have all the given values, in the order of creation: those of all pages, at
        one revision."""
        filters = {
            "objectType": object_type,
            "objectId": object_id,
            "relation": relation,
            "subjectType": subject_type,
            "subjectId": subject_id,
            "subjectRelation": subject_relation,
        }
        return self._rows(
            lambda cursor: calls.build_warrants(self._prefix, filters, as_of, page_size, cursor),
            token,
            read_warrant_row,
        )

    async def model(self, *, as_of: AsOf | None = None, token: str | None = None) -> str:
        """Returns the model as text."""
        answer = await self._sender.send(calls.build_model(self._prefix, as_of), token)
        return answer.read_text()

    async def write_model(self, text: str, *, expected: str | None = None, keep_existing: bool = False) -> str:
        """Replaces the whole model, and returns the new one as text. Raises PreconditionFailed if it has changed since
        the token `expected`. Stored warrants that it does not allow are an error, or kept without effect."""
        answer = await self._sender.send(calls.build_write_model(self._prefix, text, expected, keep_existing))
        return answer.read_text()

    def difference(
        self,
        from_: AsOf | None = None,
        to: AsOf | None = None,
        *,
        create: Iterable[AnyWarrant] = (),
        delete: Iterable[AnyWarrant] = (),
        of: Iterable[str] = (),
        subject: AnySubject | None = None,
        object: AnyObject | None = None,
        token: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> AsyncGenerator[AccessChange, None]:
        """Yields the access that was gained and lost between two tokens or times, or since one; or that a proposal to
        create and delete warrants would change. `of` has texts such as `document#viewer@user`."""
        parameters = calls.render_difference(from_, to, create, delete, of, subject, object)
        return self._rows(
            lambda cursor: calls.build_difference(self._prefix, parameters, page_size, cursor),
            token,
            read_access_change,
        )

    def watch(
        self,
        since: str | None = None,
        *,
        snapshot: bool = False,
        object_types: Iterable[str] = (),
        relations: Iterable[str] = (),
        subject_types: Iterable[str] = (),
        checkpoints: bool = False,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yields each write, in order, each once, as soon as it is made: from a token on, from now on, or after all
        that is stored (`snapshot`). It goes on by itself when the connection ends. Keep the `token` of the last event
        that you have dealt with, to go on from there in another process.

        A filter leaves out what has none of its values. `checkpoints` has the places told up to which nothing was left
        out, writes or none."""
        named = (("objectType", object_types), ("relation", relations), ("subjectType", subject_types))
        parameters = [(name, value) for name, values in named for value in values]
        return self._follow_watch(partial(self._build_watch, "/v2/watch", parameters), since, snapshot, checkpoints)

    def access(
        self,
        of: Iterable[str],
        since: str | None = None,
        *,
        snapshot: bool = False,
        subject: AnySubject | None = None,
        object: AnyObject | None = None,
        checkpoints: bool = False,
    ) -> AsyncGenerator[AccessEvent, None]:
        """Yields who gains and loses access, whatever causes it, like `watch`. `of` has texts such as
        `document#viewer@user`. Keep the `position` of the last event, to go on from there."""
        parameters = calls.render_access_selection(of, subject, object)
        call_at = partial(self._build_watch, "/v2/watch/access", parameters)
        return self._follow_access(call_at, since, snapshot, checkpoints)

    def _build_watch(self, path: str, parameters: list[tuple[str, str]], position: str | None, snapshot: bool) -> Call:
        return calls.build_watch(self._prefix, path, parameters, position, snapshot)

    async def _follow_watch(
        self, call_at: Callable[[str | None, bool], Call], since: str | None, snapshot: bool, checkpoints: bool
    ) -> AsyncGenerator[WatchEvent, None]:
        reader = FeedReader(since, snapshot)
        async with _closing(self._sender.follow(reader, call_at)) as feed:
            async for line in feed:
                event = read_watch_event(line, reader)
                if event is not None and (checkpoints or not isinstance(event, Checkpoint)):
                    yield event

    async def _follow_access(
        self, call_at: Callable[[str | None, bool], Call], since: str | None, snapshot: bool, checkpoints: bool
    ) -> AsyncGenerator[AccessEvent, None]:
        reader = FeedReader(since, snapshot)
        async with _closing(self._sender.follow(reader, call_at)) as feed:
            async for line in feed:
                event = read_access_event(line, reader)
                if event is not None and (checkpoints or not isinstance(event, Checkpoint)):
                    yield event

    async def _rows(
        self, build_page: _Page, token: str | None, read: Callable[[Json], _Result]
    ) -> AsyncGenerator[_Result, None]:
        """Yields the rows of all pages."""
        cursor: str | None = None
        while True:
            rows, cursor = await self._get(build_page(cursor), token, partial(read_page, read))
            for row in rows:
                yield row
            if cursor is None:
                return

    async def _get(self, call: Call, token: str | None, read: Callable[[Any], _Result]) -> _Result:
        return self._read(await self._sender.send(call, token), read)

    def _read(self, answer: Answer, read: Callable[[Any], _Result]) -> _Result:
        """Returns what a function reads from the JSON of an answer."""
        return read_answer(answer, read, self._settings.url)


@asynccontextmanager
async def _closing(feed: AsyncGenerator[Json, None]) -> AsyncIterator[AsyncGenerator[Json, None]]:
    """Ends a feed with the block, so that its connection is closed at once."""
    try:
        yield feed
    finally:
        await feed.aclose()


def _choose_connections(settings: Settings, http: httpx.AsyncClient | None) -> AsyncTransport:
    """Returns the connections of a client: its own, or those of httpx, which knows proxies."""
    if http is None and not is_proxied(settings.url):
        return Connections(settings)
    from magistrate_client.asynchronous.httpx_network import HttpxConnections  # takes several times the rest to import

    return HttpxConnections(settings, http)
