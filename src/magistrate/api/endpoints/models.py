"""Defines the bodies and handlers of /v2/model: whole models, as text or JSON (docs/models.md), and
their tests (docs/model-testing.md#over-http)."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.explain import ExplainAnswer, render_explained
from magistrate.api.endpoints.object_types import keeps_orphaned, render_warnings
from magistrate.api.endpoints.warrants import WarrantAnswer, render_warrant
from magistrate.api.http.json_values import decode_json, render_json
from magistrate.api.http.request_values import WrittenBody, read_boolean
from magistrate.api.route import FALSE_BY_DEFAULT, Parameter
from magistrate.engine.importers.conversion import ConvertedModel
from magistrate.engine.importers.names import NOT_EXPRESSIBLE, Faults, ForeignRefusal
from magistrate.engine.importers.texts import PRODUCTS, Product, convert_text, guess_product
from magistrate.engine.importers.whole_files import convert_whole_file, guess_whole_file
from magistrate.engine.names import Revision
from magistrate.engine.testing.suite_run import AssertionOutcome
from magistrate.engine.testing.suites import GivenModel, read_suite
from magistrate.engine.testing.yaml_documents import read_yaml
from magistrate.engine.text.document import NEWEST_VERSION, ModelDocument, exact_document
from magistrate.engine.text.faults import ModelFault, describe_fault
from magistrate.engine.text.json_documents import (
    ModelBody,
    ModelContent,
    build_content,
    read_body,
    read_members,
    render_body,
)
from magistrate.engine.text.positions import position
from magistrate.engine.text.rendering import format_model, render_model
from magistrate.engine.text.reports import ModelReport, find_meaningless, report_text, report_value
from magistrate.errors import InvalidModel, InvalidParameter, InvalidRequest, MissingParameter
from magistrate.operations.checks.explain import ExplainedCheck
from magistrate.operations.consistency import read_revision
from magistrate.operations.models.tests import MAX_ASSERTIONS, MAX_TEST_WARRANTS, run_model_tests
from magistrate.operations.models.whole_models import plan_model, put_whole_model, read_whole_model
from magistrate.operations.scheduling import checkpoint, is_time_up, offload
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import StoredModel

T = TypeVar("T")

TEXT_TYPE = "text/plain"
JSON_TYPE = "application/json"

COST = 4
"""Sets how many times as long a model takes as reading as many bytes of definitions."""

MAX_TEXT_CHARACTERS = 1_048_576
"""Limits the text of a model in a request (1 Mi). What is read of a larger one is freed at once, in tens of
milliseconds in which no other thread runs."""

MAX_FILE_VALUES = 50_000
"""Limits the values in a file of another product; all are freed at once, in tens of milliseconds."""
TEXT_ORIGIN, JSON_ORIGIN = "text", "json"
MAX_NOTES = 20
"""Limits the names and parts of another product's model that an answer has warnings about."""
MAX_NOTE_CHARACTERS = 200

_POSITION = re.compile(r"\(at position (\d+)\)")


class ModelFaultAnswer(msgspec.Struct, omit_defaults=True):
    """Represents an error or a warning; `line` and `column` count from 1, and `suggestion` is what to write instead."""

    line: int
    column: int
    code: str
    message: str
    suggestion: str = ""


class ModelValidationAnswer(msgspec.Struct):
    """Represents what is wrong with a model: `valid` if there are no errors. At most 100 of either are listed."""

    valid: bool
    errors: list[ModelFaultAnswer]
    warnings: list[ModelFaultAnswer]


class NameChangesAnswer(msgspec.Struct):
    """Represents what would be created, changed and deleted, by name."""

    created: list[str]
    changed: list[str]
    deleted: list[str]


class ModelPlanAnswer(msgspec.Struct, rename="camel"):
    """Represents what writing a model would change. `stranded` has the first stored warrants that would not be allowed
    any more, and `more` says whether there are others."""

    object_types: NameChangesAnswer
    policies: NameChangesAnswer
    stranded: list[WarrantAnswer]
    more: bool


async def get(call: Call[None]) -> Answer[object]:
    """Answers with all object types and policies, by name, in JSON or as text if `Accept` names it."""
    stored = await read_whole_model(call.context, call.freshness, call.as_of)
    is_text = _read_accept(call.accept) == TEXT_TYPE
    return Answer(
        await render_stored_model(stored.value, is_text), stored.revision, {"Vary": "Accept"}, is_text=is_text
    )


async def put(call: Call[WrittenBody]) -> Answer[object]:
    """Makes the model in the body that of the store, and answers with it like `get`."""
    expected = _read_expected(call)
    types, policies = await _offload(call.body, read_content)
    stamp, keeps = call.stamp(), keeps_orphaned(call)
    written = await put_whole_model(call.context, types, policies, stamp, expected=expected, keeps_orphaned=keeps)
    is_text = _read_accept(call.accept) == TEXT_TYPE
    headers = {"Vary": "Accept", **render_warnings(written.value.warnings)}
    return Answer(await render_stored_model(written.value.stored, is_text), written.revision, headers, is_text=is_text)


def _read_expected(call: Call[WrittenBody]) -> RevisionId | None:
    """Returns the revision whose model must still be that of the store: of the token in If-Match, or of the parameter.
    Raises InvalidParameter, or InvalidRequest if they differ."""
    tokens = {
        name: token.removeprefix("W/").strip('"')
        for name, token in (("If-Match", call.if_match), ("expectedRevision", call.parameters.get("expectedRevision")))
        if token is not None and token != "*"
    }
    if len({*tokens.values()}) > 1:
        raise InvalidRequest("If-Match and expectedRevision must be the same if both are given")
    identity = call.context.store.identity
    return next((read_revision(identity, name, token) for name, token in tokens.items()), None)


async def render_stored_model(model: StoredModel, is_text: bool) -> object:
    """Returns a stored model as a body, in text or JSON."""
    size = sum(map(len, (*model.definitions.values(), *model.policies.values())))
    return await offload(partial(_render_model, model, is_text), size * COST)


def _render_model(model: StoredModel, is_text: bool) -> object:
    types = [{"type": name, **decode_json(model.definitions[name])} for name in sorted(model.definitions)]
    policies = [{"name": name, **decode_json(model.policies[name])} for name in sorted(model.policies)]
    members = read_members({"objectTypes": types, "policies": policies})
    if is_text:
        document, faults = read_body(members, lambda path: (0, 0))
        if faults:  # it would lack what they are about, and written again delete it
            raise ExceptionGroup("the stored model cannot be written as text", faults)
        return render_model(document)
    return encode_model(ModelBody([body for _, body in members.types], [body for _, body in members.policies]))


async def plan(call: Call[WrittenBody]) -> Answer[ModelPlanAnswer]:
    """Answers what `put` would change, apart from access; nothing is written."""
    types, policies = await _offload(call.body, read_content)
    planned = await plan_model(call.context, types, policies, call.freshness)
    changes = planned.value
    answer = ModelPlanAnswer(
        NameChangesAnswer(*map(list, changes.object_types)),
        NameChangesAnswer(*map(list, changes.policies)),
        [render_warrant(warrant) for warrant in changes.orphaned],
        changes.has_more,
    )
    return Answer(answer, planned.revision, render_warnings(changes.warnings))


async def validate(call: Call[WrittenBody]) -> Answer[ModelValidationAnswer]:
    """Answers what is wrong with a model; nothing is written, and no stored model is read."""
    faults = await _offload(call.body, lambda body: report_body(body).list_faults())
    errors = [_render_fault(fault) for fault in faults if fault.is_error]
    warnings = [_render_fault(fault) for fault in faults if not fault.is_error]
    return Answer(ModelValidationAnswer(not errors, errors, warnings), await call.context.store.check())


ORIGIN = Parameter(
    "origin",
    "whose the model is; by default it is guessed from the text",
    {"enum": [TEXT_ORIGIN, JSON_ORIGIN, *PRODUCTS]},
)
LEAVE_OUT = Parameter(
    "leaveOut",
    "whether the model is converted without what cannot be expressed here; otherwise that is an error",
    FALSE_BY_DEFAULT,
)


async def convert(call: Call[WrittenBody]) -> Answer[object]:
    """Answers with the model in the form that `Accept` names, by default the other one than that of the body. A text of
    the newest version that is to be text gets the usual layout, and keeps its comments. The model of another product is
    converted to ours, by default to text, and its file with relationships and tests to a test file."""
    product = _read_product(call)
    if product is not None:
        return await _convert_foreign(call, product)
    media_type = _read_accept(call.accept) or (TEXT_TYPE if call.body.is_json else JSON_TYPE)
    is_text = media_type == TEXT_TYPE
    converted = await _offload(call.body, partial(_convert, is_text=is_text))
    return Answer(converted, await call.context.store.check(), {"Vary": "Accept"}, is_text=is_text)


def _convert(body: WrittenBody, is_text: bool) -> object:
    report = report_body(body)
    _require_none(body, report.errors, "cannot be read")
    document = report.document
    if is_text and report.parsed is not None and document.version == NEWEST_VERSION:
        return format_model(report.parsed)
    return render_model(exact_document(document)) if is_text else encode_model(render_body(document))


def _read_product(call: Call[WrittenBody]) -> Product | None:
    """Returns the product that the parameter names, or that the text is of. Raises InvalidParameter."""
    origin = call.parameters.get(ORIGIN.name)
    if origin is None:
        return guess_product(call.body.text) or guess_whole_file(call.body.text)
    if origin in (TEXT_ORIGIN, JSON_ORIGIN):
        return None
    product = next((product for product in PRODUCTS if product == origin), None)
    if product is None:
        raise InvalidParameter(ORIGIN.name, f"must be {', '.join([TEXT_ORIGIN, JSON_ORIGIN, *PRODUCTS])}")
    return product


async def _convert_foreign(call: Call[WrittenBody], product: Product) -> Answer[object]:
    """Answers with the model of another product in our form. Each name that is another here, and what is left out, is a
    warning."""
    leaves_out = read_boolean(call.parameters, LEAVE_OUT.name)
    is_text = _read_accept(call.accept) != JSON_TYPE
    is_whole = guess_whole_file(call.body.text) == product
    convert_given = partial(_convert_whole_file, now=call.context.now()) if is_whole else _convert_product
    convert_body = partial(convert_given, product=product, is_text=is_text, leaves_out=leaves_out)
    converted, warnings = await _offload(call.body, convert_body)
    headers = {"Vary": "Accept", **render_warnings(warnings)}
    return Answer(converted, await call.context.store.check(), headers, is_text=is_text)


def _convert_product(
    body: WrittenBody, product: Product, is_text: bool, leaves_out: bool
) -> tuple[object, Sequence[str]]:
    if body.fault is not None:
        raise body.fault
    if len(body.text) > MAX_TEXT_CHARACTERS:
        raise InvalidRequest(f"the model has more than {MAX_TEXT_CHARACTERS} characters")
    faults = Faults()
    converted = convert_text(product, body.text, body.value, faults)
    _demand_expressible(body, faults, leaves_out)
    document = converted.document
    return (
        render_model(exact_document(document)) if is_text else encode_model(render_body(document)),
        _list_notes(faults, converted),
    )


def _convert_whole_file(
    body: WrittenBody, product: Product, is_text: bool, leaves_out: bool, now: int
) -> tuple[object, Sequence[str]]:
    """Returns the test file that another product's file with a model, relationships and tests is here, and notes."""
    if len(body.text) > MAX_TEXT_CHARACTERS:
        raise InvalidRequest(f"the file has more than {MAX_TEXT_CHARACTERS} characters; use `magistrate import`")
    faults = Faults()
    try:
        whole = convert_whole_file(product, body.text, MAX_FILE_VALUES, now, faults)
    except ForeignRefusal as refusal:
        faults.report(refusal.at, refusal.code, refusal.message)
        whole = None
    _demand_expressible(body, faults, leaves_out and whole is not None)
    if whole is None:
        raise InvalidModel("the model cannot be read", [])
    return whole.text if is_text else read_yaml(whole.text, "the file"), _list_notes(faults, whole.converted)


def _demand_expressible(body: WrittenBody, faults: Faults, leaves_out: bool) -> None:
    """Raises InvalidModel for mistakes, and for what cannot be expressed unless it may be left out."""
    kept = [fault for fault in faults.kept if not (leaves_out and fault.code == NOT_EXPRESSIBLE)]
    places = [ModelFault(fault.code, fault.message, fault.at.line, fault.at.column) for fault in kept]
    _require_none(body, places, "cannot be read")


def _list_notes(faults: Faults, converted: ConvertedModel) -> Sequence[str]:
    """Returns what is left out, and what has another name, as texts of warnings."""
    notes = [fault.describe() for fault in faults.kept] + [renaming.describe() for renaming in converted.renamings]
    return [_render_note(note) for note in notes[:MAX_NOTES]]


def _render_note(note: str) -> str:
    """Returns a note as the text of a warning, which is part of a header."""
    shown = note if len(note) <= MAX_NOTE_CHARACTERS else f"{note[:MAX_NOTE_CHARACTERS]}..."
    return shown.encode("ascii", "backslashreplace").decode().replace('"', "'").replace("\\", "/")


def read_document(body: WrittenBody) -> ModelDocument:
    """Returns the model in a body. Raises InvalidModel with all that is wrong with it."""
    report = report_body(body)
    _require_none(body, report.errors, "cannot be read")
    return report.document


def read_content(body: WrittenBody) -> ModelContent:
    """Returns the object types and policies in a body. Raises InvalidModel with all that is wrong with the model, and
    InvalidParameter for a part that could not be written, or if JSON has no object types: `{}` would delete all."""
    if isinstance(body.value, dict) and "objectTypes" not in body.value:
        raise MissingParameter("objectTypes")
    document = read_document(body)
    _require_none(body, find_meaningless(document), "cannot be written")
    return build_content(document)


def _require_none(body: WrittenBody, faults: Sequence[ModelFault], consequence: str) -> None:
    """Raises InvalidModel if there are faults."""
    if faults:
        shown = describe_fault(body.text.removeprefix("\ufeff"), faults[0])
        more = f"\nand {len(faults) - 1} more" if len(faults) > 1 else ""
        raise InvalidModel(f"the model {consequence}: {shown}{more}", [fault.render() for fault in faults])


def report_body(body: WrittenBody) -> ModelReport:
    """Returns the model in a body, with all that is wrong with it."""
    if not body.is_json:
        return report_text(body.text, MAX_TEXT_CHARACTERS)
    if body.fault is None:
        return report_value(body.value, body.text)
    return ModelReport(ModelDocument(), [_render_json_fault(body.text, body.fault)])


def _render_json_fault(text: str, fault: InvalidRequest) -> ModelFault:
    """Returns what is wrong with JSON as a fault with a line, if it is known where."""
    named = _POSITION.search(fault.message)
    if named is None:
        return ModelFault("invalid_json", fault.message, 1, 1)
    offset = len(text.encode()[: int(named[1]) - 1].decode(errors="ignore"))
    at = position(text, offset)
    return ModelFault("invalid_json", fault.message, at.line, at.column)


def _render_fault(fault: ModelFault) -> ModelFaultAnswer:
    return ModelFaultAnswer(fault.line, fault.column, fault.code, fault.message, suggestion=fault.suggestion)


def encode_model(body: ModelBody) -> msgspec.Raw:
    """Returns the JSON of a model, encoded one type at a time: other threads run in between."""
    types = b",".join(map(msgspec.json.encode, body.object_types))
    policies = b",".join(map(msgspec.json.encode, body.policies))
    return msgspec.Raw(b'{"objectTypes":[' + types + b'],"policies":[' + policies + b"]}")


def _read_accept(accept: str) -> str:
    """Returns the media type that the header names, or nothing if it names both or none."""
    named = [media_type for media_type in (TEXT_TYPE, JSON_TYPE) if media_type in accept]
    return named[0] if len(named) == 1 else ""


async def _offload(body: WrittenBody, work: Callable[[WrittenBody], T]) -> T:
    return await offload(partial(work, body), len(body.text) * COST)


MAX_TEST_CHARACTERS = 262_144
"""Limits the text of a test file in a request (256 Ki)."""
MAX_TEST_VALUES = 20_000
"""Limits the values in a test file. All are freed at once, in some milliseconds in which no other thread runs."""
COST_OF_YAML = 16
"""Sets how many times as long YAML takes as reading as many bytes of definitions."""
NAME_OF_STORED = "the model of the service"

_MODELS = ("model", "model_file")


class TestSetup(msgspec.Struct):
    """Represents the warrants that all tests of a file begin with."""

    warrants: list[str | dict[str, Any]] = []


class ModelTestBody(msgspec.Struct):
    """Represents a test file. Without `model` it is the stored model that is tested; `now` is the time of the request
    unless it is given."""

    model: Annotated[str | ModelBody | None, msgspec.Meta(description="the model, as text or JSON")] = None
    now: Annotated[str | None, msgspec.Meta(extra_json_schema={"format": "date-time"})] = None
    setup: Annotated[TestSetup | None, msgspec.Meta(description=f"{MAX_TEST_WARRANTS:,} warrants at most")] = None
    tests: Annotated[list[dict[str, Any]], msgspec.Meta(description=f"{MAX_ASSERTIONS:,} at most")] = []


class ModelTestResult(msgspec.Struct, omit_defaults=True):
    """Represents what a test came to. One that did not pass has a `failure`, which says what is the case instead, and
    an `explanation`, if there is a check to explain."""

    name: str
    test: Annotated[int, msgspec.Meta(description="the place of the test in the file, from 0")]
    passed: bool
    failure: str = ""
    explanation: ExplainAnswer | None = None


class ModelTestAnswer(msgspec.Struct):
    """Represents the results of all tests, in the order of the file. A test with `checks` has a result for each."""

    passed: int
    failed: int
    results: list[ModelTestResult]


async def run_tests(call: Call[WrittenBody]) -> Answer[ModelTestAnswer]:
    """Answers with the result of each test; nothing is written, and no stored warrant is read."""
    value = await _read_value(call.body)
    model, revision = await _read_given_model(call, value)
    read = partial(read_suite, value, _refuse_file, call.context.now(), given_model=model)
    size = len(call.body.text) + (0 if model is None else len(model.text))
    outcomes = await run_model_tests(call.context, read, size * COST)
    failed = sum(bool(outcome.failure) for outcome in outcomes)
    results = []
    for outcome, place in zip(outcomes, _list_places(value), strict=True):
        results.append(_render_outcome(outcome, place))
        if is_time_up():
            await checkpoint()
    return Answer(ModelTestAnswer(len(outcomes) - failed, failed, results), revision)


async def _read_value(body: WrittenBody) -> object:
    """Returns the value of a file in YAML or JSON. Raises InvalidRequest with the place of the fault."""
    if len(body.text) > MAX_TEST_CHARACTERS:
        raise InvalidRequest(
            f"the file has more than {MAX_TEST_CHARACTERS} characters; `magistrate model test` runs larger ones"
        )
    if body.fault is not None:
        raise body.fault
    if body.is_json:
        return body.value
    read = partial(read_yaml, body.text, "the file", MAX_TEST_VALUES)
    value: object = await offload(read, len(body.text) * COST_OF_YAML)
    return value


async def _read_given_model(call: Call[WrittenBody], value: object) -> tuple[GivenModel | None, Revision]:
    """Returns the stored model if the file has none, and the revision of the answer."""
    if not isinstance(value, Mapping) or any(name in value for name in _MODELS):
        return None, await call.context.store.check()
    stored = await read_whole_model(call.context, call.freshness)
    rendered = await render_stored_model(stored.value, is_text=False)
    return GivenModel(NAME_OF_STORED, render_json(rendered).decode()), stored.revision


def _refuse_file(name: str) -> str:
    raise InvalidRequest(
        "the service reads no files: write the model into the test file as `model`, or leave out `model_file` to test "
        "the stored model"
    )


def _list_places(value: object) -> Sequence[int]:
    """Returns the place of the test that each assertion of a valid file is of: one with `checks` has several."""
    tests = (value.get("tests") if isinstance(value, Mapping) else None) or ()
    checks = ((place, test.get("checks")) for place, test in enumerate(tests))
    return [place for place, each in checks for _ in range(len(each) if isinstance(each, Mapping) else 1)]


def _render_outcome(outcome: AssertionOutcome, place: int) -> ModelTestResult:
    explained = None if outcome.explanation is None else render_explained(ExplainedCheck(outcome.explanation, ()))
    return ModelTestResult(outcome.assertion.name, place, not outcome.failure, outcome.failure, explained)
