"""Makes the warrants that come with a request count for this request alone (docs/api.md#contextual-warrants)."""

import hashlib
from collections.abc import Sequence

import msgspec

from magistrate.engine.overlay import FIRST_NUMBER, Overlay
from magistrate.engine.plans import Model
from magistrate.engine.terms import WILDCARD
from magistrate.engine.warrants import Warrant
from magistrate.operations.warrants import warrant_fault
from magistrate.store.contract import NewWarrant

CONTEXTUAL_WARRANTS = "contextualWarrants"
"""Names the parameter that holds them."""
MAX_CONTEXTUAL_WARRANTS = 100
"""Limits the contextual warrants of one request."""


class ContextualWarrants:
    """Holds the contextual warrants of one request, `new`, created at its time `now` (in microseconds since 1970
    UTC)."""

    def __init__(self, new: Sequence[NewWarrant], now: int) -> None:
        self.new = new
        self.overlay = Overlay(build_warrant(one, now, FIRST_NUMBER + place) for place, one in enumerate(new))

    def require_defined(self, model: Model) -> None:
        """Raises InvalidParameter for the first warrant that could not be written with this model."""
        named = {one.object.type for one in self.new}
        defined = {name: model.types[name] for name in named if name in model.types}
        alike = {
            (one.object.type, one.relation, one.subject.type, one.subject.id == WILDCARD, one.subject.relation): one
            for one in self.new
        }
        if not any(warrant_fault(one, defined) for one in alike.values()):
            return
        for place, one in enumerate(self.new):
            fault = warrant_fault(one, defined)
            if fault is not None:
                raise fault.within(f"{CONTEXTUAL_WARRANTS}[{place}].")

    def extend_model(self, model: Model) -> Model:
        """Returns the model to evaluate with. Raises InvalidParameter like `require_defined`."""
        self.require_defined(model)
        return self.overlay.extend_model(model)


def digest_warrants(new: Sequence[NewWarrant]) -> str:
    """Returns a digest that is equal for equal warrants in the same order."""
    return hashlib.blake2b(msgspec.json.encode(new), digest_size=16).hexdigest()


def build_warrant(new: NewWarrant, now: int, number: int) -> Warrant:
    """Returns the warrant as it would be if it were created now, with this number."""
    object, subject = new.object, new.subject
    names = (object.type, object.id, new.relation, subject.type, subject.id, subject.relation or "")
    return Warrant(*names, new.policy, now, number, new.starts_at, new.expires_at)
