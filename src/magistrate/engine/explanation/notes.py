"""Says in words what else to know of a suggestion."""

from collections.abc import Iterator, Sequence

from magistrate.engine.evaluation import Check
from magistrate.engine.explanation.changes import Change, ChangeKind, ChangeOrder
from magistrate.engine.names import WarrantNames
from magistrate.engine.terms import WILDCARD
from magistrate.engine.warrants import Warrant


def describe_changes(check: Check, changes: Sequence[Change], order: ChangeOrder, now: int) -> str:
    """Returns what the changes do besides, the empty text if there is nothing to say."""
    sentences = [sentence for change in changes for sentence in _describe(check, change, order, now)]
    return "; ".join(dict.fromkeys(sentence for sentence in sentences if sentence))


def _describe(check: Check, change: Change, order: ChangeOrder, now: int) -> Iterator[str]:
    kind = order.kind(change)
    if change.warrant is not None:
        yield _describe_link_end(change.warrant) if kind is ChangeKind.DELETE_LINK else ""
        yield _describe_deletion(check, change.warrant)
    if change in order.renewed:
        yield _describe_renewal(order.renewed[change], now)
    yield _describe_creation(check, change, kind)


def _describe_renewal(warrant: Warrant, now: int) -> str:
    if warrant.has_expired(now):
        return "renews a warrant that has expired"
    return "removes a start in the future"


def _describe_creation(check: Check, change: Change, kind: ChangeKind) -> str:
    names = change.names
    if names is None or kind is ChangeKind.RENEW:
        return ""
    if kind is ChangeKind.CREATE_LINK:
        return f"this is a link: rules follow it from {_render_object(names)} to {_render_subject(names)}"
    if kind is ChangeKind.ADD_TO_USERSET:
        userset = f"{names.object_type}:{names.object_id}#{names.relation}"
        return f"with all else that {userset} has"
    if kind is ChangeKind.OVERRIDE:
        return f"this counts whatever the rule of {names.relation} says"
    if (names.object_type, names.object_id) != _object(check):
        return f"also for all that inherits {names.relation} from {names.object_type}:{names.object_id}"
    return ""


def _describe_link_end(warrant: Warrant) -> str:
    names = warrant.names
    return f"this is a link: no rule leads from {_render_object(names)} to {_render_subject(names)} by it any more"


def _render_object(names: WarrantNames) -> str:
    return f"{names.object_type}:{names.object_id}"


def _render_subject(names: WarrantNames) -> str:
    return f"{names.subject_type}:{names.subject_id}"


def _object(check: Check) -> tuple[str, str]:
    return check.object.type, check.object.id


def _describe_deletion(check: Check, warrant: Warrant) -> str:
    subject = check.subject
    own = (warrant.subject_type, warrant.subject_id, warrant.subject_relation)
    if own == (subject.type, subject.id, subject.relation or "") and warrant.object_id != WILDCARD:
        return ""
    if warrant.object_id == WILDCARD:
        return f"this warrant is on every {warrant.object_type}"
    if warrant.subject_relation:
        userset = f"{warrant.subject_type}:{warrant.subject_id}#{warrant.subject_relation}"
        return f"this warrant is to all of {userset}"
    if warrant.subject_id == WILDCARD:
        return f"this warrant is to every {warrant.subject_type}"
    return ""
