"""Every hostile request there is, by kind: one file for each."""

from collections.abc import Mapping

from benchmarks.fairness.hostile.bodies import BODIES
from benchmarks.fairness.hostile.checks import CHECKS
from benchmarks.fairness.hostile.clients import CLIENTS
from benchmarks.fairness.hostile.lists import LISTS
from benchmarks.fairness.hostile.models import MODELS
from benchmarks.fairness.hostile.policies import POLICIES
from benchmarks.fairness.hostile.writes import WRITES
from benchmarks.fairness.stage import Attack

ATTACKS: Mapping[str, Attack] = CHECKS | MODELS | POLICIES | BODIES | LISTS | WRITES | CLIENTS
