"""Warrants in a list, read by the book: the engine without a store. Counts its reads."""

from collections.abc import Sequence

import msgspec

from magistrate.engine.evaluation import Evaluation, Question
from magistrate.engine.model import read_object_type
from magistrate.engine.nodes import Node
from magistrate.engine.plans import Model
from magistrate.engine.rules.rule import RuleForm
from magistrate.engine.terms import WILDCARD, Revision, Subject, TypeName
from magistrate.engine.warrant_source import Read, Shape
from magistrate.engine.warrants import Warrant

Relations = dict[str, dict[str, object]]
"""Rules as JSON, by relation."""

PLENTY = 1_000_000
"""A budget that no test spends by accident."""


def model_of(types: dict[str, Relations], warrants: Sequence[Warrant] = ()) -> Model:
    """One that knows the forms of these warrants."""
    forms = msgspec.convert(types, dict[str, dict[str, RuleForm | None]])
    types_by_name = {TypeName(name): read_object_type(name, None, form) for name, form in forms.items()}
    return Model(types_by_name, Revision(1), {warrant.form() for warrant in warrants})


def rows_of(warrants: Sequence[Warrant], read: Read) -> list[Warrant]:
    return [
        warrant
        for warrant in warrants
        if (read.ids is None or warrant.object_id in read.ids) and _has_shape(warrant, read.shape)
    ]


def _has_shape(warrant: Warrant, shape: Shape) -> bool:
    if warrant.object_type != shape.type or warrant.relation not in shape.relations:
        return False
    wanted = shape.subjects
    if isinstance(wanted, Subject):
        ids = (wanted.id, WILDCARD) if shape.to_all else (wanted.id,)
        same_kind = (warrant.subject_type, warrant.subject_relation) == (wanted.type, wanted.relation or "")
        return same_kind and warrant.subject_id in ids
    if wanted is None:
        return warrant.subject_relation != ""
    return (warrant.subject_type, warrant.subject_relation) == (wanted, "")


def evaluated(
    model: Model, warrants: Sequence[Warrant], questions: Sequence[Question], now: int = 0, budget: int = PLENTY
) -> tuple[list[Node], int]:
    """The decided nodes of the questions, and how many batches were read for them."""
    evaluation = Evaluation(model, now, budget)
    nodes = [evaluation.ask(question) for question in questions]
    levels = 0
    while any(node.value is None for node in nodes):
        if reads := evaluation.advance():
            levels += 1
            evaluation.take(reads, [rows_of(warrants, read) for read in reads])
    return nodes, levels
