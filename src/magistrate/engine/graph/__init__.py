"""Checks decided in memory: the warrants that earlier ones needed, and a walk over them.

A Graph keeps them, a Walk decides from them or says what is Missing, a Fetch names the reads for that and keeps what
they find. All three know one revision at a time; who drives them (operations/graph.py) sees to it that it is the one
that is wanted. What a walk cannot tell, an Evaluation can.
"""

from magistrate.engine.graph.fetching import Fetch
from magistrate.engine.graph.graph import Graph
from magistrate.engine.graph.reaching import group_names
from magistrate.engine.graph.touch import Touch
from magistrate.engine.graph.turns import TurnIsOver
from magistrate.engine.graph.walk import GivenUp, Missing, Walk

__all__ = ["Fetch", "GivenUp", "Graph", "Missing", "Touch", "TurnIsOver", "Walk", "group_names"]
