"""Defines the exception by which the graph cache yields to other requests."""


class CheckpointNeeded(Exception):
    """Signals that the caller must yield and then make the same check again; work done so far is kept."""
