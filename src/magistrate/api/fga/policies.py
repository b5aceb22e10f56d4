"""Defines the answers and handlers of /fga/v1/policies, which are the named policies of v2
(docs/fga-v1.md#policies)."""

import msgspec

from magistrate.api.calls import Answer, Call, answer_call
from magistrate.api.endpoints import policies
from magistrate.api.endpoints.policies import NamedPolicyAnswer, NamedPolicyBody
from magistrate.api.fga.schemas import LANGUAGE, FgaParameterBody, FgaPolicyBody, read_policy_parameters
from magistrate.api.fga.views import FgaListAnswer, fga_list, translate_call
from magistrate.errors import InvalidParameter


class FgaPolicyAnswer(msgspec.Struct, kw_only=True):
    """Represents a stored named policy."""

    name: str
    description: str
    language: str
    parameters: list[FgaParameterBody]
    expression: str
    created_at: str


async def create(call: Call[FgaPolicyBody]) -> Answer[FgaPolicyAnswer]:
    answer = await policies.create(translate_call(call, _read(call.body)))
    return answer.with_value(_render(answer.value))


async def get(call: Call[None]) -> Answer[FgaPolicyAnswer]:
    answer = await policies.get(translate_call(call, None))
    return answer.with_value(_render(answer.value))


async def update(call: Call[FgaPolicyBody]) -> Answer[FgaPolicyAnswer]:
    answer = await policies.update(translate_call(call, _read(call.body)))
    return answer.with_value(_render(answer.value))


async def delete(call: Call[None]) -> Answer[None]:
    return await policies.delete(call)


async def list_page(call: Call[None]) -> Answer[FgaListAnswer[FgaPolicyAnswer]]:
    if call.parameters.get("search"):
        raise InvalidParameter("search", "is not possible in policies: leave it out")
    return await answer_call(_list_page, call)


def _read(body: FgaPolicyBody) -> NamedPolicyBody:
    if body.language not in (None, LANGUAGE):
        raise InvalidParameter("language", f"can only be {LANGUAGE}")
    parameters = read_policy_parameters(body, "parameters")
    return NamedPolicyBody(body.name, parameters, body.expression, body.description)


def _render(answer: NamedPolicyAnswer) -> FgaPolicyAnswer:
    return FgaPolicyAnswer(
        name=answer.name,
        description=answer.description,
        language=LANGUAGE,
        parameters=[FgaParameterBody(name, of_type) for name, of_type in answer.parameters.items()],
        expression=answer.expression,
        created_at=answer.created_at,
    )


_list_page = fga_list(policies.list_page, {}, "name", _render)
