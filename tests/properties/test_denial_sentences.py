"""Random denials: no sentence about one says that something holds which does not, or the other way round."""

import re
from collections.abc import Callable, Iterator, Sequence

from hypothesis import given
from msgspec.structs import replace

from magistrate.cli.checks.reasons import describe_denial
from magistrate.engine.evaluation.truth import TRUE
from magistrate.engine.explanation.explanation import Explanation
from magistrate.engine.names import RelationName, WarrantNames
from magistrate.engine.terms import ObjectRef, Subject
from magistrate.engine.testing.suite_run import render_explanation
from magistrate.engine.warrants.notation import read_written
from magistrate.engine.warrants.warrant import Warrant
from tests.properties.test_check import oracle_value
from tests.properties.test_explain import NOW, Case, cases, explanation_of, in_force, nodes_of

CLAIM = re.compile(r" *(\S+) +is (not )?(\S+) of +([^\s,;:]+:[^\s,;:.]+)(.*)")
RULE = re.compile(r"the rule '([^']+)' (holds|does not hold)")
END = re.compile(r"(any one of these|this) would allow it:|the search was ended")

Decide = Callable[[WarrantNames], bool]


def sentences_of(explanation: Explanation) -> Iterator[str]:
    for line in describe_denial(render_explanation(explanation)):
        if END.match(line):
            return
        yield line


def require_true(explanation: Explanation, stored: Sequence[Warrant], now: int, decide: Decide) -> None:
    """Every sentence about a denial says what `decide` says, or what is stored and counts."""
    rules = {(node.rule, node.holds is TRUE) for node in nodes_of(explanation.tree) if node.rule}
    written = {warrant.names: warrant for warrant in stored}
    for line in sentences_of(explanation):
        if line.startswith("it is unknown whether"):
            continue
        if rule := RULE.search(line):
            assert (rule[1], rule[2] == "holds") in rules, line
            continue
        claim = CLAIM.fullmatch(line)
        assert claim is not None, line
        subject, negated, relation, object, rest = claim.groups()
        names = read_written(f"{object}#{relation}@{subject}").names
        if negated:
            assert not decide(names), line
        elif not line.startswith(" "):
            assert decide(names), line
        elif not rest.strip():
            assert any(one.names == names and not one.policy and one.is_in_force(now) for one in stored), line
        else:
            assert names in written, line


@given(cases)
def test_no_sentence_of_a_denial_says_what_is_not_so(case: Case) -> None:
    drawn, stored, asked = case
    explanation = explanation_of(drawn, stored, asked)

    def decide(names: WarrantNames) -> bool:
        group = RelationName(names.subject_relation) if names.subject_relation else None
        subject = Subject(names.subject_type, names.subject_id, group)
        object = ObjectRef(names.object_type, names.object_id)
        one = replace(asked, object=object, relation=names.relation, subject=subject)
        return oracle_value(drawn, in_force(stored), one) == TRUE

    if not explanation.is_allowed:
        require_true(explanation, stored, NOW, decide)
