"""How much an evaluation may do: altogether, and before others get a turn."""

from magistrate.errors import BudgetSpent

WORK_IN_A_TURN = 2_000
"""Nodes and warrants, or as much work of other kinds: some ten milliseconds."""


class Work:
    """`budget` is the number of nodes and warrants that may be looked at; what else is done is charged in these."""

    __slots__ = ("_budget", "_left_in_turn", "left")

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._left_in_turn = WORK_IN_A_TURN
        self.left = budget

    def spend(self, amount: int) -> None:
        """Raises BudgetSpent if there is not so much left."""
        self.left -= amount
        self._left_in_turn -= amount
        if self.left < 0:
            raise BudgetSpent(self._budget)

    def shorten_turn(self, amount: int) -> None:
        """Counts towards the turn alone, so that others get theirs sooner: for what was charged already, and for what
        may take longer than is charged for it."""
        self._left_in_turn -= amount

    @property
    def cost(self) -> int:
        return self._budget - self.left

    @property
    def turn_is_over(self) -> bool:
        return self._left_in_turn <= 0

    def begin_turn(self) -> None:
        self._left_in_turn = WORK_IN_A_TURN
