"""`{}`: only warrants give the relation; the rule itself never holds."""

from collections.abc import Iterator
from dataclasses import dataclass

from magistrate.engine.rules.rule import Alternatives, Dependency, RuleForm


@dataclass(frozen=True, slots=True)
class Direct:
    """The empty rule. Inside `rules` it counts as false, hence inside noneOf as true."""

    def form(self) -> RuleForm:
        return RuleForm()

    def dependencies(self) -> Iterator[Dependency]:
        return iter(())

    def join(self, alternatives: Alternatives) -> None:
        """Nothing: it never holds."""
