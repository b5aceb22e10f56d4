"""What the writes of scenarios do, by the book: to warrants and objects in a dict."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from magistrate.engine.warrants.warrant import Warrant
from tests.scenario_files import (
    AtomicWrite,
    CreateAgain,
    DeleteByFilter,
    Limits,
    Outcome,
    Scenario,
    WriteStep,
    stored_warrant,
    warrant_body,
)

NO_LIMITS = Limits()


class State:
    """What is there: warrants in written form with their limits, in order, and objects such as `document:plan`. It
    begins with what there is after the changes of the scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.warrants = {
            one.render(): scenario.limits.get(one.render(), NO_LIMITS) for one in scenario.final_warrants()
        }
        self.objects = {f"{ref.type}:{ref.id}" for ref in scenario.final_objects()}
        self._types = scenario.final_types()
        self._was_written = False

    def stored(self, created_at: int) -> list[Warrant]:
        """The warrants as the engine has them."""
        return [
            msgspec.structs.replace(stored_warrant(text, number, created_at), **limits.as_times())
            for number, (text, limits) in enumerate(self.warrants.items(), start=1)
        ]

    def carry_out(self, step: WriteStep) -> object:
        """Does what the step says. Returns what comes of it, in the form in which the step says it."""
        if isinstance(step, AtomicWrite):
            return self._write(step)
        if isinstance(step, DeleteByFilter):
            return self._delete_by_filter(step)
        return self._create_again(step)

    def _write(self, step: AtomicWrite) -> Outcome:
        for place, one in enumerate(step.preconditions):
            if not self._holds(one.exists, one.absent, one.revision):
                return Outcome(failed=place)
        warrants, objects = dict(self.warrants), set(self.objects)
        for text in step.delete.warrants:
            if warrants.pop(text, None) is None:
                return Outcome(missing=text)
        for ref in step.delete.objects:
            if ref not in objects:
                return Outcome(missing=ref)
            objects.remove(ref)
            warrants = {text: limits for text, limits in warrants.items() if ref not in ends_of(text)}
        if (refused := self._find_refused(step.create.warrants)) is not None:
            return Outcome(refused=refused)
        created = len({*step.create.objects} - objects)
        objects |= {*step.create.objects}
        new = {text: step.create.limits.get(text, NO_LIMITS) for text in step.create.warrants}
        created += sum(warrants.get(text) != limits for text, limits in new.items())
        self.warrants, self.objects = warrants | new, objects | objects_of(new)
        deleted = len(step.delete.warrants) + len(step.delete.objects)
        unchanged = len(step.create.warrants) + len(step.create.objects) - created
        return Outcome(created, deleted, unchanged)

    def _holds(self, exists: str | None, absent: str | None, revision: str | None) -> bool:
        if revision is not None:
            return revision == "newest"
        there = {*self.warrants, *self.objects}
        return exists in there if exists is not None else absent not in there

    def _find_refused(self, new: Sequence[str]) -> str | None:
        """The parameter of the first warrant that the object types do not allow."""
        for place, body in enumerate(map(warrant_body, new)):
            relations = self._types.get(body["objectType"])
            if relations is None or body["relation"] not in relations:
                return f"create.warrants[{place}].{'objectType' if relations is None else 'relation'}"
        return None

    def _delete_by_filter(self, step: DeleteByFilter) -> int:
        matching = {text for text in self.warrants if matches(warrant_body(text), step.where)}
        if not step.dry_run:
            self.warrants = {text: limits for text, limits in self.warrants.items() if text not in matching}
        return len(matching)

    def _create_again(self, step: CreateAgain) -> tuple[str, ...]:
        outcomes = []
        for text in step.warrants:
            limits, former = step.limits.get(text, NO_LIMITS), self.warrants.get(text)
            outcomes.append("created" if former is None else "unchanged" if former == limits else "updated")
            self.warrants[text] = limits
        self.objects |= objects_of(step.warrants)
        return tuple(outcomes)


def expected(step: WriteStep) -> object:
    """What the step says comes of it."""
    if isinstance(step, AtomicWrite):
        return step.outcome
    return step.deleted if isinstance(step, DeleteByFilter) else step.outcomes


def matches(body: Mapping[str, Any], where: Mapping[str, str]) -> bool:
    subject = body["subject"]
    values = {
        "objectType": body["objectType"],
        "objectId": body["objectId"],
        "relation": body["relation"],
        "subjectType": subject["objectType"],
        "subjectId": subject["objectId"],
        "subjectRelation": subject.get("relation", ""),
    }
    return all(values[name] == value for name, value in where.items())


def ends_of(written: str) -> set[str]:
    """The two objects that a warrant names."""
    one = stored_warrant(written, 0, 0)
    return {f"{one.object_type}:{one.object_id}", f"{one.subject_type}:{one.subject_id}"}


def objects_of(written: Sequence[str] | Mapping[str, object]) -> set[str]:
    """The objects that exist because of these warrants."""
    return {end for text in written for end in ends_of(text) if not end.endswith(":*")}
