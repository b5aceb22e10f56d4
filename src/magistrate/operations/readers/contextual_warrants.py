"""Makes the warrants that come with a request count for this request alone (docs/api.md#contextual-warrants)."""

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from magistrate.engine.model.model import Model
from magistrate.engine.model.undefined_names import find_names_fault
from magistrate.engine.warrants.overlay import CountsWarrant, Overlay
from magistrate.engine.warrants.plain_warrants import FIRST_NUMBER, PlainWarrants
from magistrate.engine.warrants.warrant import Warrant
from magistrate.store.contract.new_rows import NewWarrant

CONTEXTUAL_WARRANTS = "contextualWarrants"
"""Names the parameter that holds them."""
MAX_CONTEXTUAL_WARRANTS = 100
"""Limits the contextual warrants of one request."""


class ContextualWarrants:
    """Holds the contextual warrants of one request in their order, created at its time `now` (in microseconds since
    1970 UTC), with ascending numbers from FIRST_NUMBER on. `replaces` and `counts_stored` are those of Overlay."""

    def __init__(
        self,
        warrants: Sequence[Warrant] | PlainWarrants,
        now: int,
        replaces: bool = False,
        counts_stored: CountsWarrant | None = None,
    ) -> None:
        self.now = now
        self.overlay = Overlay(warrants, replaces=replaces, counts_stored=counts_stored)

    @property
    def warrants(self) -> Sequence[Warrant]:
        return self.overlay.all_warrants

    def date(self, now: int) -> "ContextualWarrants":
        """Returns these warrants as if they were created at another time."""
        return ContextualWarrants([replace(warrant, created_at=now) for warrant in self.warrants], now)

    def require_defined(self, model: Model) -> None:
        """Raises InvalidParameter for the first warrant that could not be written with this model."""
        patterns = self.overlay.patterns
        named = {pattern.object_type for pattern in patterns}
        defined = {name: model.types[name] for name in named if name in model.types}
        if not any(find_names_fault(pattern, defined) for pattern in patterns):
            return
        for place, warrant in enumerate(self.warrants):
            fault = find_names_fault(warrant.names, defined)
            if fault is not None:
                raise fault.within(f"{CONTEXTUAL_WARRANTS}[{place}].")

    def extend_model(self, model: Model) -> Model:
        """Returns the model to evaluate with. Raises InvalidParameter like `require_defined`."""
        self.require_defined(model)
        return self.overlay.extend_model(model)


def build_contextual_warrants(
    new: Sequence[NewWarrant], now: int, replaces: bool = False, counts_stored: CountsWarrant | None = None
) -> ContextualWarrants:
    """Returns the contextual warrants of a request at this time."""
    warrants = [build_warrant(warrant, now, number) for number, warrant in enumerate(new, FIRST_NUMBER)]
    return ContextualWarrants(warrants, now, replaces, counts_stored)


def digest_warrants(new: Sequence[NewWarrant]) -> str:
    """Returns a digest that is equal for equal warrants in the same order."""
    return hashlib.blake2b(msgspec.json.encode(new), digest_size=16).hexdigest()


def build_warrant(new: NewWarrant, now: int, number: int) -> Warrant:
    """Returns the warrant as it would be if it were created now, with this number."""
    # Not `new.names`: a request may have a hundred of them, each in half the time.
    on_object, subject = new.object, new.subject
    names = (on_object.type, on_object.id, new.relation, subject.type, subject.id, subject.relation)
    return Warrant(*names, new.policy, now, number, new.starts_at, new.expires_at)
