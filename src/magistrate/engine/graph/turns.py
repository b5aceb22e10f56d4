"""How a graph says that others want to be served."""


class TurnIsOver(Exception):
    """The same question has to be asked again in the next turn; what was worked out for it is not lost."""
