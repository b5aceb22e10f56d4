"""Defines names as they were written in a file of another product, and what is wrong there."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from magistrate.engine.names import suggest_name
from magistrate.engine.policy.named_policies import can_be_parameter
from magistrate.engine.terms import KEYWORDS, MAX_NAME_LENGTH
from magistrate.engine.text.faults import MAX_FAULTS

NOT_EXPRESSIBLE = "not_expressible"
"""Marks what has no meaning here, and may be left out; all other faults are mistakes."""


class ForeignName(NamedTuple):
    """Holds a name and where it was written: a file, and the line and the column from 1."""

    text: str
    file: str = ""
    line: int = 0
    column: int = 0


class ForeignRefusal(Exception):
    """Reports what is wrong, or cannot be expressed, at a place in a file."""

    def __init__(self, at: ForeignName, code: str, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.code = code
        self.message = message

    def describe(self) -> str:
        """Returns `model.fga:3:5: unknown_type: …` in one line."""
        place = f"{self.at.line}:{self.at.column}:" if self.at.line else ""
        text = f"{self.code}: {self.message}"
        text = f"{self.at.file}:{place} {text}" if self.at.file else text
        return "".join(sign if sign.isprintable() else " " for sign in text)


class Faults:
    """Collects faults. `kept` has all that cannot be expressed, and the first MAX_FAULTS mistakes; the counts have
    all."""

    def __init__(self) -> None:
        self.kept: list[ForeignRefusal] = []
        self.errors = 0
        self.not_expressible = 0

    @property
    def total(self) -> int:
        return self.errors + self.not_expressible

    def report(self, at: ForeignName, code: str, message: str) -> None:
        """Adds a fault at a place."""
        if code == NOT_EXPRESSIBLE or self.errors < MAX_FAULTS:
            self.kept.append(ForeignRefusal(at, code, message))
        if code == NOT_EXPRESSIBLE:
            self.not_expressible += 1
        else:
            self.errors += 1

    def report_unknown(self, kind: str, name: ForeignName, names: Iterable[str]) -> None:
        """Adds that something is not defined, with the most similar of the names. A fault that is not kept has none:
        finding it takes milliseconds."""
        hint = suggest_name(name.text[:64], names) if self.errors < MAX_FAULTS else ""
        self.report(name, f"unknown_{kind}", f"{kind} {show_name(name.text)} is not defined{hint}")


_REPLACEMENTS = {"/": "--", ".": "__"}
_OTHER_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_LENGTH = 8


def convert_type(name: str) -> str:
    """Returns what a type is called here, where types have lower-case names: `acme/Team` becomes `acme--team`."""
    return convert_name(name.lower())


def convert_name(name: str) -> str:
    """Returns what a relation, or a condition, is called here: `role.approver` becomes `role__approver`, and other
    characters that no name has here become their number, as in `-u00e9-`. A name that is then too long ends with a
    digest of the original."""
    here = _OTHER_CHARACTER.sub(_replace_character, name)
    here = f"relation_{here}" if here in KEYWORDS else here
    if len(here) <= MAX_NAME_LENGTH:
        return here
    digest = sha256(name.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{here[: MAX_NAME_LENGTH - _DIGEST_LENGTH - 1]}-{digest}"


def convert_parameter(name: str) -> str:
    """Returns what a parameter of a condition is called here if policies cannot have its name: `now` becomes `now_`."""
    here = re.sub(r"\W", "_", name)
    return f"{here}_" if here[:1].isalpha() else f"_{here}_"


def _replace_character(character: re.Match[str]) -> str:
    return _REPLACEMENTS.get(character[0]) or f"-u{ord(character[0]):04x}-"


class Naming(NamedTuple):
    """Says what types, relations and conditions are called here. If `name_direct` is given, it returns the relation in
    which the relationships of a relation are stored, which then never is the relation itself; otherwise that depends on
    its rule. If `name_parameter` is given, it says what parameters of conditions are called, whatever others there
    are, and the expressions of conditions read them as their types."""

    name_type: Callable[[str], str] = convert_type
    name_relation: Callable[[str], str] = convert_name
    name_direct: Callable[[str], str] | None = None
    name_condition: Callable[[str], str] = convert_name
    name_parameter: Callable[[str], str] | None = None

    def name_link(self, relation: str) -> str:
        """Returns what a relation that has no rule is called where it links objects."""
        return (self.name_direct or self.name_relation)(relation)


READABLE = Naming()


DIRECT = "direct_"
"""Begins the relation in which the relationships of another one are stored, and with stable names no other."""
_STABLE_DIGEST_LENGTH = 12
_STABLE_TYPE = re.compile(r"[a-z0-9_-]{1,64}")
_STABLE_CONDITION = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME_LENGTH}}}")
_STABLE_RELATION = re.compile(rf"(?!{DIRECT})[A-Za-z0-9_-]{{1,{MAX_NAME_LENGTH - len(DIRECT)}}}")


@lru_cache(maxsize=1_024)  # a write names few types many times
def name_stable_type(name: str) -> str:
    """Returns what a type is called here, whatever other types there are: `Team` becomes `team-` with a digest."""
    if _STABLE_TYPE.fullmatch(name):
        return name
    return _add_digest(_OTHER_CHARACTER.sub(_replace_character, name.lower()), name, MAX_NAME_LENGTH)


@lru_cache(maxsize=1_024)
def name_stable_relation(name: str) -> str:
    """Returns what a relation is called here, whatever other relations there are: `a.b` becomes `relation_a__b-` with a
    digest."""
    if _STABLE_RELATION.fullmatch(name) and name not in KEYWORDS:
        return name
    readable = f"relation_{_OTHER_CHARACTER.sub(_replace_character, name)}"
    return _add_digest(readable, name, MAX_NAME_LENGTH - len(DIRECT))


@lru_cache(maxsize=1_024)
def name_stable_direct(name: str) -> str:
    """Returns the relation that has the relationships of one."""
    return f"{DIRECT}{name_stable_relation(name)}"


def name_stable_condition(name: str) -> str:
    """Returns what a condition is called here, whatever other conditions there are."""
    if _STABLE_CONDITION.fullmatch(name):
        return name
    return _add_digest(_OTHER_CHARACTER.sub(_replace_character, name), name, MAX_NAME_LENGTH)


def name_stable_parameter(name: str) -> str:
    """Returns what a parameter of a condition is called here: `now` becomes `now_`, and `now_` becomes `now__`."""
    return name if can_be_parameter(name.rstrip("_") or name) else f"{name}_"


def restore_parameter(here: str) -> str:
    """Returns the parameter that has this name here."""
    return here if can_be_parameter(here.rstrip("_") or here) else here.removesuffix("_")


def _add_digest(readable: str, name: str, length: int) -> str:
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_STABLE_DIGEST_LENGTH]
    return f"{readable[: length - _STABLE_DIGEST_LENGTH - 1]}-{digest}"


STABLE = Naming(
    name_stable_type, name_stable_relation, name_stable_direct, name_stable_condition, name_stable_parameter
)
"""Gives each name the same name here in all versions of a model. Of different names, none is like another but by a
collision of 48 bits, which conversion reports."""


def show_name(text: str) -> str:
    """Returns a name as messages show it."""
    return text if len(text) <= 100 else f"{text[:100]}…"
