"""Translates calls of `/fga/v1` to v2, and the names in errors back (docs/fga-v1.md#names)."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from magistrate import errors
from magistrate.api.calls import Answer, Call, Handler, answer_call

B = TypeVar("B")

FGA_NAMES = {
    "objectType": "resource_type",
    "objectId": "resource_id",
    "subjectType": "subject_type",
    "subjectId": "subject_id",
    "subjectRelation": "subject_relation",
    "objectTypes": "resource_types",
    "warrants": "checks",
    "inheritIf": "inherit_if",
    "ofType": "of_type",
    "withRelation": "with_relation",
    "forAll": "for_all",
    "allowedTypes": "allowed_types",
    "sortOrder": "order",
    "nextCursor": "after",
    "prevCursor": "before",
}
"""Lists the members and parameters that have another name; all others have the same."""

_NAME = re.compile("[A-Za-z]+")


def translate_call(
    call: Call[Any], body: B, path: Mapping[str, str] | None = None, parameters: Mapping[str, str] | None = None
) -> Call[B]:
    """Returns a call of v2 with this body. Its path is the same unless given, and it has no other parameters."""
    translated: Call[B] = replace(call, body=body, path=path or call.path, parameters=parameters or {})
    return translated


def rename_parameter(parameter: str) -> str:
    """Returns the name of a parameter of v2, such as `[3].objectId`, in `/fga/v1`."""
    return _NAME.sub(lambda name: FGA_NAMES.get(name[0], name[0]), parameter).lstrip(".")


def rename_in_error(error: errors.InvalidParameter) -> errors.InvalidParameter:
    """Returns the error with the name that its parameter has here."""
    parameter = rename_parameter(error.parameter)
    if isinstance(error, errors.MissingParameter):
        error.message = error.message.replace(error.parameter.rpartition(".")[2], parameter.rpartition(".")[2])
    error.parameter = parameter
    return error


def translate_errors(handler: Handler) -> Handler:
    """Returns the handler such that its errors name parameters as they are called here. The names in the errors of
    decoding are those of the caller, and stay."""

    async def answer(call: Call[Any]) -> Answer:
        try:
            return await answer_call(handler, call)
        except errors.InvalidParameter as error:
            raise rename_in_error(error) from None

    return answer
