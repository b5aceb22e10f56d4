"""The scenarios of check-*.yaml through every door: the engine alone, each store, HTTP, the command line."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from magistrate import wiring
from magistrate.cli.commands import main
from magistrate.engine import evaluation
from magistrate.engine.nodes import Node
from magistrate.engine.terms import ObjectRef, object_ref, type_name
from magistrate.engine.truth import MISSING, TRUE
from magistrate.errors import NotFound
from magistrate.operations.check import check_all
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.object_types import create_object_types, delete_object_type
from magistrate.operations.objects import delete_objects
from magistrate.operations.warrants import create_warrants, delete_warrants
from magistrate.store.contract import NewWarrant
from tests.conftest import STORES, new_database_url
from tests.counting import CountingDatabase, counting_store
from tests.memory_source import evaluated, model_of
from tests.running import KEY, Client, settings_for
from tests.scenario_files import Question, Scenario, claim, scenarios, stored_warrant, warrant_body

EVERY_SCENARIO = [pytest.param(scenario, id=scenario.name) for scenario in scenarios()]


def asked(question: Question) -> evaluation.Question:
    object_type, object_id, relation, subject = question.claim()
    return evaluation.Question(ObjectRef(object_type, object_id), relation, subject, question.context)


def answer_of(node: Node) -> bool | str:
    return "missing" if node.value == MISSING else node.value == TRUE


@pytest.mark.parametrize("scenario", EVERY_SCENARIO)
def test_a_scenario_through_the_engine(scenario: Scenario) -> None:
    now = time.time_ns() // 1_000
    warrants = scenario.final_warrants(created_at=now)
    model = model_of(scenario.final_types())

    for question, levels in zip(scenario.checks, scenario.levels, strict=True):
        [node], read = evaluated(model, warrants, [asked(question)], now)
        assert (answer_of(node), read) == (question.answer, levels), question.ask
        if question.missing is not None:
            assert node.missing_type() == question.missing
        if question.path is not None:
            assert [warrant.written() for warrant in node.path()] == list(question.path)
