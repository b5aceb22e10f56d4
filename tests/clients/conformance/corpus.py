"""The scenarios of clients/conformance/*.yaml as values."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

FOLDER = Path(__file__).parents[3] / "clients" / "conformance"
CALLS = frozenset(
    {"check", "check_many", "require", "explain", "objects", "subjects", "write", "warrants"}
    | {"model", "write_model", "difference", "watch", "access"}
)
RUN_MEMBERS = frozenset({"token", "at", "save"})
"""What a runner is given of a step, beside its call."""

FaultName = Literal["reset", "drop", "half", "slow", "status", "page", "restart"]


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is done with the requests of a step, one after the other."""

    fault: FaultName | None = None
    slow: float | None = None
    status: int | None = None
    page: int | None = None
    code: str | None = None
    retry_after: int | None = None
    times: int = 1

    @property
    def kind(self) -> str:
        named = [name for name in ("fault", "slow", "status", "page") if getattr(self, name) is not None]
        assert len(named) == 1, self
        return self.fault or named[0]


class ClientOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the client of a scenario is made."""

    timeout: float | None = None
    retries: int | None = None
    consistency: Literal["session", "latest", "none"] | None = None
    operator: bool = False
    key: str | None = None
    scopes: tuple[str, ...] = ("admin",)


class ExpectedError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a call fails; what is unset is not compared."""

    kind: str
    code: str | msgspec.UnsetType | None = msgspec.UNSET
    status: int | msgspec.UnsetType | None = msgspec.UNSET
    reason: str | msgspec.UnsetType | None = msgspec.UNSET


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a step of a scenario has beside its call."""

    answer: Any = msgspec.UNSET
    error: ExpectedError | None = None
    requests: int | None = None
    writes: int | None = None
    sends: str | None = None
    within: float | None = None
    faults: tuple[Fault | FaultName, ...] = ()
    token: str | None = None
    at: str | None = None
    save: str | None = None

    def faults_in_order(self) -> list[Fault]:
        """One for each request."""
        named = [Fault(fault=fault) if isinstance(fault, str) else fault for fault in self.faults]
        return [fault for fault in named for _ in range(fault.times)]


class Step(msgspec.Struct, frozen=True):
    """A call with what a runner is given, and what is expected of it."""

    call: str
    arguments: Mapping[str, Any]
    expected: Expected

    def for_runner(self) -> dict[str, Any]:
        named = {name: getattr(self.expected, name) for name in RUN_MEMBERS}
        return {self.call: self.arguments, **{name: value for name, value in named.items() if value is not None}}


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a store has, and the steps of a client with it."""

    name: str
    steps: list[dict[str, Any]]
    model: str = ""
    warrants: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    client: ClientOptions = ClientOptions()
    limits: Mapping[str, int] = {}

    def read_steps(self) -> list[Step]:
        return [_read_step(step) for step in self.steps]

    @property
    def has_faults(self) -> bool:
        return any("faults" in step for step in self.steps)


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file: its scenarios, and what each begins with unless it says so itself."""

    scenarios: list[dict[str, Any]]
    model: str = ""
    warrants: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


def _read_step(step: Mapping[str, Any]) -> Step:
    [call] = CALLS & step.keys()
    others = {name: value for name, value in step.items() if name != call}
    return Step(call, step[call], msgspec.convert(others, Expected))


@cache
def read_corpus() -> tuple[Scenario, ...]:
    """All scenarios, in the order of the files."""
    scenarios = []
    for path in sorted(FOLDER.glob("*.yaml")):
        file = msgspec.convert(yaml.safe_load(path.read_text()), File)
        shared = {"model": file.model, "warrants": file.warrants, "objects": file.objects}
        scenarios += [msgspec.convert(shared | scenario, Scenario) for scenario in file.scenarios]
    return tuple(scenarios)
