"""Names in the code: a class has a name of its own, and a function is named by a verb."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"

IRREGULAR = frozenset(
    {
        "begun",
        "bound",
        "brought",
        "built",
        "caught",
        "chosen",
        "done",
        "driven",
        "drawn",
        "fallen",
        "found",
        "given",
        "gone",
        "heard",
        "held",
        "hidden",
        "kept",
        "laid",
        "led",
        "left",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "said",
        "seen",
        "sent",
        "shown",
        "sold",
        "sought",
        "spent",
        "stolen",
        "taken",
        "thought",
        "told",
        "thrown",
        "understood",
        "won",
        "written",
    }
)
VERBS_IN_ED = {
    "embed": "its present tense ends like that",
    "feed": "its present tense ends like that",
    "need": "its present tense ends like that",
    "seed": "its present tense ends like that",
}
CLAIMS = ("is_", "has_", "was_", "can_", "may_")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def definitions() -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path.relative_to(SRC)}:{node.lineno}", node


def begins_with_participle(name: str) -> bool:
    """Returns whether the first word of a function's name, if it is no claim, is a past participle."""
    bare = name.strip("_")
    if bare.startswith(CLAIMS):
        return False
    word = bare.partition("_")[0]
    return word in IRREGULAR or (word.endswith("ed") and word not in VERBS_IN_ED)


def test_participles_are_distinguished_from_verbs() -> None:
    assert all(map(begins_with_participle, ("decided", "_followed", "told_rule", "written", "laid_over")))
    assert not any(map(begins_with_participle, ("decide", "seed", "need_key", "is_decided", "read", "data_received")))


def test_class_names_are_unique() -> None:
    places = defaultdict(list)
    for place, node in definitions():
        if isinstance(node, ast.ClassDef):
            places[node.name].append(place)

    assert places
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_functions_are_named_by_verbs() -> None:
    functions = [(place, node.name) for place, node in definitions() if isinstance(node, FUNCTIONS)]

    assert functions
    assert not [(place, name) for place, name in functions if begins_with_participle(name)]
