"""The scenarios of tests/scenarios as values, and as the bodies of requests: those of check-*.yaml, query-*.yaml,
explain-*.yaml and write-*.yaml.

`python -m tests.scenario_files` writes the schema that editors check the files against.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import yaml

from magistrate.engine.names import ObjectId, PolicyName, RelationName, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy, read_named_policy
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import (
    ObjectRef,
    object_id_or_wildcard,
    object_ref,
    relation_name,
    type_name,
    userset_relation,
)
from magistrate.engine.warrants.plain_warrants import FIRST_NUMBER
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.history.times import read_time

FOLDER = Path(__file__).parent / "scenarios"
SCHEMA = FOLDER / "schema.json"
FIRST_LINE = "# yaml-language-server: $schema=schema.json"

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Reads YAML, ten times as fast where PyYAML has its part in C."""

SHORT_QUESTION = {
    "description": "`document:plan#viewer@user:ann: true`",
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": {"type": "boolean"},
}

_WRITTEN = re.compile(
    r"(?P<type>[^:#]+):(?P<id>[^#]+)#(?P<relation>[^@]+)"
    r"@(?P<subject_type>[^:#]+):(?P<subject_id>[^#\[]+)(?:#(?P<subject_relation>[^\[]+))?"
    r"(?:\[(?P<policy>.+)\])?",
    re.DOTALL,
)


class Claim(NamedTuple):
    """What a warrant says, or a check is of: the subject has the relation on the object."""

    object_type: TypeName
    object_id: ObjectId
    relation: RelationName
    subject: Subject


# The schema contains the docstrings of the Structs. One line each: the indent of others depends on the Python version.


class WrittenRule(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A relation rule as a request has it, but with no member that means nothing to the server."""

    inherit_if: str | None = None
    of_type: str | None = None
    with_relation: str | None = None
    rules: "list[WrittenRule | None] | None" = None
    for_all: str | None = None
    policy: str | None = None


class WrittenPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named policy: the types of its parameters, and its expression."""

    expression: str
    parameters: dict[str, str] = {}


WrittenTypes = dict[str, dict[str, WrittenRule | None]]
WrittenAllowed = dict[str, dict[str, tuple[str, ...]]]
WrittenWarrant = Annotated[str, msgspec.Meta(description="type:id#relation@type:id#relation[policy]")]
WrittenContextual = Annotated[
    tuple[WrittenWarrant, ...], msgspec.Meta(description="contextual warrants, which count as if they were written")
]
WrittenRow = Annotated[
    str,
    msgspec.Meta(
        description="type:id#relation, E for explicit or I for implicit, and the warrant of the row or - for none",
        pattern=r"^[^ #]+:[^ #]+(#[^ #]+){1,2} [EI] \S",
    ),
]


class Changes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is done after the warrants are written, in the order of these members."""

    drop_types: tuple[str, ...] = ()
    define_types: WrittenTypes = {}
    allow: Annotated[
        WrittenAllowed, msgspec.Meta(description="allowed types by relation; what they forbid is kept without effect")
    ] = {}
    delete_warrants: tuple[WrittenWarrant, ...] = ()
    delete_objects: tuple[str, ...] = ()


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A check, what it answers, and where the warrants leave no choice how it comes to the answer."""

    ask: Annotated[str, msgspec.Meta(description="type:id#relation@type:id#relation")]
    answer: bool | Literal["missing"]
    context: dict[str, Any] = {}
    contextual: WrittenContextual = ()
    missing: Annotated[str | None, msgspec.Meta(description="the type that the 404 names")] = None
    implicit: bool | None = None
    path: Annotated[
        tuple[WrittenWarrant, ...] | None, msgspec.Meta(description="the warrants, from the subject to the object")
    ] = None

    def __post_init__(self) -> None:
        if (self.answer == "missing") != (self.missing is not None):
            raise ValueError("`missing` goes with `answer: missing`, and only with it")
        if self.answer is not True and (self.implicit is not None or self.path is not None):
            raise ValueError("`implicit` and `path` go with `answer: true` only")

    def claim(self) -> Claim:
        return claim(self.ask)

    def body(self) -> dict[str, Any]:
        """The element of `warrants` in the body of a check."""
        return {**warrant_body(self.ask), **({"context": self.context} if self.context else {})}


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A query and its rows by type, id and relation. Where parents run in a circle a row may have another warrant."""

    q: str
    context: dict[str, Any] = {}
    contextual: WrittenContextual = ()
    rows: tuple[WrittenRow, ...] | None = None
    missing: Annotated[str | None, msgspec.Meta(description="the type that the 404 names")] = None

    def __post_init__(self) -> None:
        if (self.rows is None) == (self.missing is None):
            raise ValueError("a query has either `rows` or `missing`")


Step = Literal["warrants", "drop_types", "define_types", "allow", "delete_warrants", "delete_objects"]
STEPS: tuple[Step, ...] = ("warrants", "drop_types", "define_types", "allow", "delete_warrants", "delete_objects")
"""What a scenario does, in this order: it writes the warrants, then it makes the changes."""


class Past(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is answered, when all is done, as of a step: as of the moment when the warrants were written, or after."""

    after: Step
    checks: tuple[Check, ...] = ()
    queries: tuple[Query, ...] = ()


class Limits(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The time limits of a warrant in RFC 3339, far from the time at which the scenario is run."""

    starts_at: str | None = None
    expires_at: str | None = None

    def as_times(self) -> dict[str, int | None]:
        """The limits in microseconds since 1970, by the names that values have."""
        texts = {"starts_at": self.starts_at, "expires_at": self.expires_at}
        return {name: None if at is None else read_time(at, name) for name, at in texts.items()}


WrittenWarrants = tuple[WrittenWarrant, ...]
WarrantLimits = dict[WrittenWarrant, Limits]


class Precondition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Exactly one: a warrant, an object such as `document:plan`, or the revision before this write or the last one."""

    exists: str | None = None
    absent: str | None = None
    revision: Literal["newest", "older"] | None = None

    def __post_init__(self) -> None:
        if [self.exists, self.absent, self.revision].count(None) != 2:
            raise ValueError("a precondition has exactly one of `exists`, `absent` and `revision`")


class Deletions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an atomic write deletes."""

    warrants: WrittenWarrants = ()
    objects: tuple[str, ...] = ()


class Creations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an atomic write creates; `limits` are of those of `warrants` that have any."""

    warrants: WrittenWarrants = ()
    objects: tuple[str, ...] = ()
    limits: WarrantLimits = {}


class Outcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The counts of an atomic write; or the precondition that does not hold, what is missing, or the parameter."""

    created: int = 0
    deleted: int = 0
    unchanged: int = 0
    failed: int | None = None
    missing: str | None = None
    refused: str | None = None


class AtomicWrite(msgspec.Struct, tag_field="do", tag="write", frozen=True, forbid_unknown_fields=True):
    """One change of everything, what comes of it, and the checks after it."""

    outcome: Outcome
    preconditions: tuple[Precondition, ...] = ()
    delete: Deletions = Deletions()
    create: Creations = Creations()
    checks: tuple[Check, ...] = ()


class DeleteByFilter(msgspec.Struct, tag_field="do", tag="delete-by-filter", frozen=True, forbid_unknown_fields=True):
    """Warrants deleted by a filter, how many there were, and the checks after it; a dry run leaves them as they are."""

    where: dict[str, str]
    deleted: int
    dry_run: bool = False
    checks: tuple[Check, ...] = ()


class CreateAgain(msgspec.Struct, tag_field="do", tag="create", frozen=True, forbid_unknown_fields=True):
    """Warrants created in one request, what was done to each of them, and the checks after it."""

    warrants: WrittenWarrants
    outcomes: tuple[Literal["created", "updated", "unchanged"], ...]
    limits: WarrantLimits = {}
    checks: tuple[Check, ...] = ()


WriteStep = AtomicWrite | DeleteByFilter | CreateAgain


class Explain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An explanation. What is absent is not compared."""

    ask: Annotated[str, msgspec.Meta(description="type:id#relation@type:id#relation")]
    answer: bool
    context: dict[str, Any] = {}
    because: Annotated[
        tuple[str, ...] | None,
        msgspec.Meta(description="the tree: yes, no or ?, a check, by a warrant"),
    ] = None
    path: tuple[WrittenWarrant, ...] | None = None
    would_allow: Annotated[
        tuple[str, ...] | None, msgspec.Meta(description="delete WARRANT, create WARRANT, send JSON, joined by ` + `")
    ] = None
    unknown: tuple[str, ...] = ()

    def claim(self) -> Claim:
        return claim(self.ask)

    def body(self) -> dict[str, Any]:
        """The body of the request."""
        return {**warrant_body(self.ask), "context": self.context}


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The access that was gained and lost since a step until all is done, or that a proposal would change then."""

    rows: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="gained or lost, type:id#relation@type:id, and `in a context` if it depends on one"),
    ]
    since: Step | None = None
    create: tuple[WrittenWarrant, ...] = ()
    delete: tuple[WrittenWarrant, ...] = ()
    define_types: WrittenTypes = {}
    of: str | None = None

    def __post_init__(self) -> None:
        if (self.since is None) == (not self.create and not self.delete and not self.define_types):
            raise ValueError("a difference has either `since` or a proposal")


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Types and warrants in written form, and the checks and queries of them. Besides `types` nothing is defined."""

    name: str
    types: WrittenTypes
    checks: tuple[Check, ...] = ()
    policies: Annotated[dict[str, WrittenPolicy], msgspec.Meta(description="defined from the beginning on")] = {}
    warrants: tuple[WrittenWarrant, ...] = ()
    limits: Annotated[
        dict[WrittenWarrant, Limits], msgspec.Meta(description="of those of `warrants` that have any")
    ] = {}
    then: Changes = Changes()
    levels: Annotated[
        tuple[int, ...], msgspec.Meta(description="how many batched reads each check makes, in order")
    ] = ()
    queries: tuple[Query, ...] = ()
    query_levels: Annotated[tuple[int, ...], msgspec.Meta(description="likewise of each query")] = ()
    as_of: tuple[Past, ...] = ()
    explain: tuple[Explain, ...] = ()
    writes: Annotated[
        tuple[WriteStep, ...], msgspec.Meta(description="what is written when all else is done, in order")
    ] = ()
    difference: tuple[Difference, ...] = ()

    def __post_init__(self) -> None:
        if len(self.levels) != len(self.checks) or len(self.query_levels) != len(self.queries):
            raise ValueError("`levels` has one number for each check, `query_levels` for each query")
        if set(self.limits) - set(self.warrants):
            raise ValueError("`limits` are of `warrants`")
        if self.policies and self.difference:
            raise ValueError("a scenario with `policies` has no `difference`: the oracle of access knows none")
        if not (self.checks or self.queries or self.explain or self.writes or self.difference):
            raise ValueError("a scenario has `checks`, `queries`, `explain`, `writes` or `difference`")

    def until(self, step: Step) -> "Scenario":
        """The scenario with nothing done after this step."""
        done = STEPS[1 : STEPS.index(step) + 1]
        changes = {name: getattr(self.then, name) for name in done}
        return msgspec.structs.replace(self, then=Changes(**changes))

    def named_policies(self) -> dict[str, NamedPolicy]:
        """The named policies by name."""
        return {name: read_named_policy(name, one.parameters, one.expression) for name, one in self.policies.items()}

    def policy_bodies(self) -> list[dict[str, Any]]:
        """The bodies that write the named policies."""
        return [{"name": name, **msgspec.to_builtins(one)} for name, one in self.policies.items()]

    def policies_in(self, context: Mapping[str, Any], at: int) -> Callable[[Warrant], bool | None]:
        """What the oracle needs: whether the policy of a warrant, or a named one, holds in the context at a time."""
        named = self.named_policies()

        def holds(warrant: Warrant) -> bool | None:
            reference = None if warrant.policy.startswith("@") else read_policy(warrant.policy).reference
            if reference is not None and reference.name not in named:
                return False
            if not warrant.policy.startswith("@") and reference is None:
                return read_policy(warrant.policy).outcome(context, warrant, at).value
            policy = named.get(PolicyName(warrant.policy[1:]) if reference is None else reference.name)
            values = None if policy is None else policy.select({**context, **(reference.values if reference else {})})
            return (
                None
                if policy is None or values is None
                else read_policy(policy.expression).outcome(values, warrant, at).value
            )

        return holds

    def first_types(self) -> dict[str, dict[str, Any]]:
        """Relations by type, rules as JSON: what is defined before the warrants are written."""
        return _as_json(self.types)

    def final_types(self) -> dict[str, dict[str, Any]]:
        """Relations by type, rules as JSON, after the changes."""
        kept = {name: relations for name, relations in self.types.items() if name not in self.then.drop_types}
        return _as_json(kept | self.then.define_types)

    def final_warrants(self, created_at: int = 0) -> list[Warrant]:
        """The warrants after the changes, in order of creation.

        Raises ValueError if a warrant is deleted that is not there."""
        written = list(dict.fromkeys(self.warrants))
        stored = {
            text: msgspec.structs.replace(stored_warrant(text, number, created_at), **self.limits_of(text))
            for number, text in enumerate(written, start=1)
        }
        for text in self.then.delete_warrants:
            if stored.pop(text, None) is None:
                raise ValueError(f"{self.name}: {text} is not there to be deleted")
        left = [warrant for warrant in stored.values() if not _ends_of(warrant) & set(self.then.delete_objects)]
        return counting(left, self.then.allow)

    def limits_of(self, text: str) -> dict[str, int | None]:
        """The time limits of a warrant, in microseconds since 1970, by the names that values have."""
        return self.limits.get(text, Limits()).as_times()

    def bodies(self) -> list[dict[str, Any]]:
        """The bodies that write the warrants."""
        return warrant_bodies(self.warrants, self.limits)

    def written_warrants(self) -> list[Warrant]:
        """All that were ever there."""
        return [stored_warrant(text, 0, 0) for text in self.warrants]

    def warrants_with(self, contextual: Sequence[str], created_at: int = 0) -> list[Warrant]:
        """The warrants after the changes, and contextual ones that are not among them."""
        stored = self.final_warrants(created_at)
        there = {warrant.render() for warrant in stored}
        return [*stored, *(one for one in added_warrants(contextual, created_at) if one.render() not in there)]

    def final_objects(self, contextual: Sequence[str] = ()) -> list[ObjectRef]:
        """What exists after the changes: whatever a warrant ever named, unless it was deleted itself, and what
        contextual warrants name."""
        named = {end for text in self.warrants for end in _ends_of(stored_warrant(text, 0, 0))}
        left = named - {*self.then.delete_objects} | {
            end for one in added_warrants(contextual, 0) for end in _ends_of(one)
        }
        return sorted(object_ref(*text.split(":", 1)) for text in left if not text.endswith(":*"))


def counting(warrants: Sequence[Warrant], allowed: Mapping[str, Mapping[str, Sequence[str]]]) -> list[Warrant]:
    """Those that the allowed types do not forbid."""
    return [
        warrant
        for warrant in warrants
        if subject_text(warrant) in allowed.get(warrant.object_type, {}).get(warrant.relation, [subject_text(warrant)])
    ]


def subject_text(warrant: Warrant) -> str:
    """The subject without its id, unless that is `*`."""
    wildcard = ":*" if warrant.subject_id == "*" else ""
    group = f"#{warrant.subject_relation}" if warrant.subject_relation else ""
    return f"{warrant.subject_type}{wildcard}{group}"


def scenarios() -> Sequence[Scenario]:
    """Those with checks, in the order of file names."""
    return [scenario for scenario in every_scenario() if scenario.checks]


def query_scenarios() -> Sequence[Scenario]:
    """Those with queries, in the order of file names."""
    return [scenario for scenario in every_scenario() if scenario.queries]


def scenarios_of_the_past() -> Sequence[Scenario]:
    """Those that check as of a step, in the order of file names."""
    return [scenario for scenario in every_scenario() if scenario.as_of]


def explain_scenarios() -> Sequence[Scenario]:
    """Those with explanations, in the order of file names."""
    return [scenario for scenario in every_scenario() if scenario.explain]


def write_scenarios() -> Sequence[Scenario]:
    """Those that write, in the order of file names."""
    return [scenario for scenario in every_scenario() if scenario.writes]


def difference_scenarios() -> Sequence[Scenario]:
    """Those with differences, in the order of file names."""
    return [scenario for scenario in every_scenario() if scenario.difference]


@cache
def every_scenario() -> Sequence[Scenario]:
    """Those of all files, in the order of file names. Raises ValueError if two of them have one name."""
    found = [scenario for path in scenario_paths() for scenario in read_scenarios(path)]
    names = [scenario.name for scenario in found]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"more than one scenario is called {sorted(repeated)}")
    return found


def scenario_paths() -> list[Path]:
    kinds = ("check", "query", "explain", "write", "difference")
    return sorted(path for kind in kinds for path in FOLDER.glob(f"{kind}-*.yaml"))


def read_scenarios(path: Path) -> list[Scenario]:
    """Raises msgspec.ValidationError with the place of the first fault."""
    written = yaml.load(path.read_text(), LOADER)
    for scenario in written:
        for asked in (scenario, *scenario.get("as_of", []), *scenario.get("writes", [])):
            asked["checks"] = [_in_full(question) for question in asked.get("checks", [])]
    return msgspec.convert(written, list[Scenario])


def warrant_body(written: str) -> dict[str, Any]:
    """The body that writes or deletes the warrant; without a policy it is also the body of the check."""
    parts = _parts(written)
    subject = {"objectType": parts["subject_type"], "objectId": parts["subject_id"]}
    if parts["subject_relation"]:
        subject["relation"] = parts["subject_relation"]
    body = {"objectType": parts["type"], "objectId": parts["id"], "relation": parts["relation"], "subject": subject}
    return body | ({"policy": parts["policy"]} if parts["policy"] else {})


def warrant_bodies(written: Sequence[str], limits: WarrantLimits) -> list[dict[str, Any]]:
    """The bodies that write these warrants with their limits."""
    return [warrant_body(text) | msgspec.to_builtins(limits.get(text, Limits())) for text in written]


def claim(written: str) -> Claim:
    """What the written form says, its policy apart.

    Raises InvalidParameter for a name or an id that no request could hold."""
    parts = _parts(written)
    group = parts["subject_relation"]
    subject = Subject(
        type_name(parts["subject_type"], "objectType"),
        object_id_or_wildcard(parts["subject_id"], "objectId"),
        userset_relation(group, "relation"),
    )
    return Claim(
        type_name(parts["type"], "objectType"),
        object_id_or_wildcard(parts["id"], "objectId"),
        relation_name(parts["relation"], "relation"),
        subject,
    )


def stored_warrant(written: str, number: int, created_at: int) -> Warrant:
    said = claim(written)
    subject = (said.subject.type, said.subject.id, said.subject.relation)
    return Warrant(*said[:3], *subject, _parts(written)["policy"], created_at, number)


def added_warrants(contextual: Sequence[str], created_at: int) -> list[Warrant]:
    """Contextual warrants as the engine has them."""
    return [stored_warrant(text, FIRST_NUMBER + place, created_at) for place, text in enumerate(contextual)]


def contextual_body(contextual: Sequence[str]) -> dict[str, Any]:
    """The member of the body of a check or a query; nothing if there are none."""
    return {"contextualWarrants": [warrant_body(text) for text in contextual]} if contextual else {}


def contextual_options(contextual: Sequence[str]) -> list[str]:
    """The options of a command."""
    return [word for text in contextual for word in ("--with", text)]


def schema() -> bytes:
    """The JSON schema of a scenario file."""
    made = msgspec.json.schema(list[Scenario])
    for name in ("Scenario", "Past", "AtomicWrite", "DeleteByFilter", "CreateAgain"):
        checks = made["$defs"][name]["properties"]["checks"]
        checks["items"] = {"anyOf": [checks["items"], SHORT_QUESTION]}
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return msgspec.json.format(msgspec.json.encode(dialect | made), indent=2) + b"\n"


def _parts(written: str) -> dict[str, str]:
    matched = _WRITTEN.fullmatch(written)
    if matched is None:
        raise ValueError(f"{written} is not of the form type:id#relation@type:id#relation[policy]")
    return matched.groupdict(default="")


def _in_full(question: dict[str, Any]) -> dict[str, Any]:
    """A check in the long form; `{check: answer}` is the short one."""
    if "ask" in question or len(question) != 1:
        return question
    [(ask, answer)] = question.items()
    return {"ask": ask, "answer": answer}


def _as_json(types: WrittenTypes) -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = msgspec.to_builtins(types)
    return made


def _ends_of(warrant: Warrant) -> set[str]:
    """The two objects that a warrant names, as `team:eng`."""
    return {f"{warrant.object_type}:{warrant.object_id}", f"{warrant.subject_type}:{warrant.subject_id}"}


if __name__ == "__main__":
    SCHEMA.write_bytes(schema())


CREATED_AT = 1_790_000_000_000_000


ASKED_AT = CREATED_AT + 1_000_000
"""Microseconds since 1970: every scenario is run a second after its warrants are written."""
