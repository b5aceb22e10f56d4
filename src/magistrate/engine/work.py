"""Limits the work of an evaluation: in total by a budget, and between two yields to other requests by turns."""

from magistrate.errors import BudgetExceeded

WORK_BETWEEN_CHECKPOINTS = 2_000
"""Limits the nodes and warrants, or equivalent work, in one turn: some ten milliseconds."""


class Work:
    """Counts work against a budget and the current turn, which is the work between two yields.

    `budget` is the number of nodes and warrants that may be examined; other work is charged in the same unit.
    """

    __slots__ = ("_budget", "_left_to_checkpoint", "left")

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._left_to_checkpoint = WORK_BETWEEN_CHECKPOINTS
        self.left = budget

    def spend(self, amount: int) -> None:
        """Charges work to the budget and the turn. Raises BudgetExceeded when less than `amount` is left of the
        budget."""
        self.left -= amount
        self._left_to_checkpoint -= amount
        if self.left < 0:
            raise BudgetExceeded(self._budget)

    def hasten_checkpoint(self, amount: int) -> None:
        """Charges work to the turn alone, so that other requests run sooner.

        It serves for work that is charged to the budget already, and for work that may take longer than is charged.
        """
        self._left_to_checkpoint -= amount

    @property
    def cost(self) -> int:
        return self._budget - self.left

    @property
    def needs_checkpoint(self) -> bool:
        return self._left_to_checkpoint <= 0

    def pass_checkpoint(self) -> None:
        self._left_to_checkpoint = WORK_BETWEEN_CHECKPOINTS
