"""What hostile requests are sent to, and how they are written down."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.fairness.asking import Answer, Caller

Act = Callable[[], Sequence[Answer]]

Attack = Callable[["Stage"], Iterator[tuple[str, Act]]]
"""Its acts with what to call each: one after the other, each measured by itself. Between two of them the service may
have been started anew, on the same database."""


@dataclass(slots=True)
class Stage:
    """`caller`: with an API key, of the service that runs now. `folder`: for files."""

    caller: Caller
    database_url: str
    worker_pids: Sequence[int]

    def ask(self, method: str, path: str, body: Any = None, *headers: str, times: int = 1) -> list[Answer]:
        return [self.caller.ask(method, path, body, *headers) for _ in range(times)]

    def check(self, claims: Sequence[object], **members: object) -> list[Answer]:
        """A batch, or a single check."""
        return [ask_check(self.caller, claims, **members)]

    def check_as(self, user_id: str, claims: Sequence[object]) -> list[Answer]:
        """The same with a session token of this user."""
        made = self.caller.ask("POST", "/v2/sessions", {"type": "sess", "userId": user_id})
        if made.status != "200":
            return [made]
        return [ask_check(self.caller.holding(f"Bearer {made.json()['token']}"), claims)]


def ask_check(caller: Caller, claims: Sequence[object], **members: object) -> Answer:
    op = {"op": "batch"} if len(claims) > 1 else {}
    return caller.ask("POST", "/v2/check", {"warrants": list(claims), **op, **members})


def claim(object_type: str, object_id: str, relation: str, user_id: str) -> dict[str, object]:
    subject = {"objectType": "user", "objectId": user_id}
    return {"objectType": object_type, "objectId": object_id, "relation": relation, "subject": subject}
