"""Shows that every sentence of an explained denial is true."""

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from magistrate.api.endpoints.explain import render_explained
from magistrate.cli.checks.reasons import describe_denial
from magistrate.engine.explanation.explanation import Explanation
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.notation import read_written
from magistrate.engine.warrants.warrant import Warrant, WarrantNames
from magistrate.operations.checks.explain import ExplainedCheck
from tests.properties.explanations import nodes_of

CLAIM = re.compile(r" *(\S+) +is (not )?(\S+) of +([^\s,;:]+:[^\s,;:.]+)(.*)")
RULE = re.compile(r"the rule '([^']+)' (holds|does not hold)")
END = re.compile(r"(any one of these|this) would allow it:|the search was ended")
Decide = Callable[[WarrantNames], bool]


def sentences_of(explanation: Explanation) -> Iterator[str]:
    answer = msgspec.to_builtins(render_explained(ExplainedCheck(explanation, ())))
    for line in describe_denial(answer):
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
        subject, negated, relation, object_name, rest = claim.groups()
        names = read_written(f"{object_name}#{relation}@{subject}").names
        if negated:
            assert not decide(names), line
        elif not line.startswith(" "):
            assert decide(names), line
        elif not rest.strip():
            assert any(one.names == names and not one.policy and one.is_in_force(now) for one in stored), line
        else:
            assert names in written, line
