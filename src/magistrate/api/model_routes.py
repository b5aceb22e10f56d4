"""Lists the routes of /v2/model, which serve whole models."""

from magistrate.api.endpoints import model_tests, models
from magistrate.api.endpoints.model_tests import ModelTestAnswer, ModelTestBody
from magistrate.api.endpoints.models import ModelPlanAnswer, ModelValidationAnswer
from magistrate.api.route import EXPECTED_REVISION, ONE_ROW, Parameter, Route
from magistrate.api.used_types import list_all, list_none
from magistrate.engine.model_text.json_bodies import ModelBody, TypeBody
from magistrate.operations.callers import Scope

KEEP_EXISTING = Parameter(
    "keepExisting",
    "whether stored warrants that `allowedTypes` forbids are kept, without effect; otherwise they are an error",
    {"type": "boolean", "default": False},
)

MODEL_ROUTES: tuple[Route, ...] = (
    Route(
        "GET", "/v2/model", models.get, "Get the whole model, in JSON or as text",
        answer=ModelBody, parameters=ONE_ROW, answers_text=True,
        scope=Scope.READ, list_types=list_all,
    ),
    Route(
        "PUT", "/v2/model", models.put, "Replace the whole model, given in text or JSON",
        answer=ModelBody, body=ModelBody | list[TypeBody], writes=True, takes_text=True, answers_text=True,
        parameters=(KEEP_EXISTING, EXPECTED_REVISION),
        scope=Scope.MODEL, list_types=list_all,
    ),
    Route(
        "POST", "/v2/model/plan", models.plan, "Find what writing a model would change",
        answer=ModelPlanAnswer, body=ModelBody | list[TypeBody], takes_text=True,
        scope=Scope.READ, list_types=list_all,
    ),
    Route(
        "POST", "/v2/model/validate", models.validate, "Find what is wrong with a model in text or JSON",
        answer=ModelValidationAnswer, body=ModelBody | list[TypeBody], takes_text=True,
        scope=Scope.READ, list_types=list_none,
    ),
    Route(
        "POST", "/v2/model/convert", models.convert, "Convert a model from text to JSON, or back",
        answer=ModelBody, body=ModelBody | list[TypeBody], takes_text=True, answers_text=True,
        scope=Scope.READ, list_types=list_none,
    ),
    Route(
        "POST", "/v2/model/test", model_tests.run, "Run the tests of a model, given in YAML or JSON",
        answer=ModelTestAnswer, body=ModelTestBody, takes_text=True,
        scope=Scope.READ, list_types=list_all,
    ),
)  # fmt: skip
