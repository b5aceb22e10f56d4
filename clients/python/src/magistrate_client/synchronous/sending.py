# Generated from ../asynchronous/sending.py by generate_synchronous.py.
"""Sends the request of a call until it is answered, and follows feeds."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Callable, Optional, Protocol

from magistrate_client.answers import Answer, require_ours
from magistrate_client.attempts import UNLIMITED, Attempts, ConnectionFailed, DeadlinePassed, Repeat
from magistrate_client.calls import Call
from magistrate_client.errors import RevisionLost
from magistrate_client.events import FeedReader, build_end
from magistrate_client.http_messages import BrokenAnswer, Request
from magistrate_client.refs import Json
from magistrate_client.settings import Settings
from magistrate_client.tokens import LATEST, Session, SessionHolder, require_sendable

STREAM_SECONDS = 60.0
"""Limits how long a feed may be silent; the service sends something every 15 seconds."""
PATIENCE_SECONDS = 60.0
"""Limits how long a feed that was open is tried again: services are started again within that time."""
TOKEN_HEADER = "Service-Token"


class OpenAnswer(Protocol):
    """Is an answer that is read while it is made."""

    def read_piece(self, seconds: float) -> bytes: ...

    def close(self) -> None: ...


class Transport(Protocol):
    """Exchanges requests and answers with a service. Raises DeadlinePassed or ConnectionFailed."""

    def exchange(self, request: Request, deadline: float) -> Answer: ...

    def open_stream(self, request: Request, deadline: float) -> Answer | OpenAnswer: ...

    def close(self) -> None: ...


FeedCall = Callable[[Optional[str], bool], Call]
"""Builds the request of a feed from a position on, or with a snapshot."""


class Sender:
    """Sends requests for a client, with the token of its session, again if that is safe and helps."""

    def __init__(self, settings: Settings, connections: Transport) -> None:
        self._settings = settings
        self._connections = connections
        self.sessions = SessionHolder()

    def send(self, call: Call, token: str | None = None) -> Answer:
        """Returns the answer to a call. `token` is sent in place of that of the session. Raises what errors.py has."""
        session = self.sessions.current
        sent_token, request = self._add_token(call, session, token)
        attempts = self._begin_attempts(call)
        while True:
            try:
                answer = self._connections.exchange(request, attempts.deadline)
                require_ours(answer, call.media_type)
                wait = attempts.judge_answer(answer)
                if wait is None:
                    session.remember(answer.token)
                    return answer
            except (ConnectionFailed, BrokenAnswer) as failure:
                wait = attempts.judge_failure(_as_failure(failure))
            except DeadlinePassed:
                raise attempts.build_timeout() from None
            except RevisionLost:
                session.forget(sent_token)
                raise
            time.sleep(wait)

    def follow(self, reader: FeedReader, call_at: FeedCall) -> Generator[Json, None, None]:
        """Yields the events of a feed, and goes on behind the last one when the connection ends. Raises what errors.py
        has if the feed cannot be opened, cannot go on, or was not to be had for PATIENCE_SECONDS."""
        attempts = self._begin_attempts(call_at(reader.position, reader.needs_snapshot))
        while True:
            try:
                stream = self._open(call_at(reader.position, reader.needs_snapshot), attempts)
                try:
                    reader.begin()
                    while piece := stream.read_piece(STREAM_SECONDS):
                        for event in reader.read(piece):
                            if event["event"] == "end" and (ended := build_end(event)) is not None:
                                raise ended
                            attempts = self._begin_patience(attempts)
                            yield event
                finally:
                    stream.close()
                raise ConnectionFailed("the feed has ended", was_sent=True)
            except (ConnectionFailed, BrokenAnswer) as failure:
                wait = attempts.judge_failure(_as_failure(failure))
            except _Retry as retry:
                wait = retry.seconds
            except DeadlinePassed:
                if attempts.is_over:
                    raise attempts.build_timeout() from None
                wait = 0.0
            time.sleep(wait)

    def close(self) -> None:
        self._connections.close()

    def _open(self, call: Call, attempts: Attempts) -> OpenAnswer:
        opened = self._connections.open_stream(call.request, attempts.deadline)
        if not isinstance(opened, Answer):
            return opened
        if (wait := attempts.judge_answer(opened)) is not None:
            raise _Retry(wait)
        raise BrokenAnswer("what answers there, with no stream, is no Magistrate")

    def _begin_attempts(self, call: Call) -> Attempts:
        settings = self._settings
        return Attempts(settings.url, settings.timeout, settings.retries, call.repeat, call.idempotency_key)

    def _begin_patience(self, attempts: Attempts) -> Attempts:
        """Returns the attempts to open a feed again that has had an event."""
        if self._settings.retries == 0:
            return attempts
        return Attempts(self._settings.url, PATIENCE_SECONDS, UNLIMITED, Repeat.ALWAYS, None)

    def _add_token(self, call: Call, session: Session, token: str | None) -> tuple[str | None, Request]:
        """Returns the token of the session that is sent, None if there is none, and the request with it."""
        if not call.reads:
            return None, call.request
        own = None
        if token is None:
            if self._settings.consistency == "session":
                own = token = session.token
            elif self._settings.consistency == "latest":
                token = LATEST
        if token is None:
            return None, call.request
        return own, call.request._replace(headers=(*call.request.headers, (TOKEN_HEADER, require_sendable(token))))


class _Retry(Exception):
    """Has a feed opened again after some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


def _as_failure(failure: ConnectionFailed | BrokenAnswer) -> ConnectionFailed:
    return failure if isinstance(failure, ConnectionFailed) else ConnectionFailed(str(failure), was_sent=True)
