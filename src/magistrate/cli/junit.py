"""Writes the results of tests as JUnit XML, which continuous integration reads."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement, tostring

from magistrate.terminal import printable


@dataclass(slots=True)
class FileResults:
    """Holds the names of the assertions of a test file, and the lines on each that failed, by its place."""

    file: str
    names: list[str] = field(default_factory=list)
    failures: dict[int, list[str]] = field(default_factory=dict)
    seconds: float = 0.0


def write_junit(files: Iterable[FileResults]) -> bytes:
    """Returns the document: a suite for each file, a case for each assertion."""
    root = Element("testsuites")
    for one in files:
        counts = {"tests": str(len(one.names)), "failures": str(len(one.failures)), "errors": "0"}
        suite = SubElement(root, "testsuite", {"name": one.file, **counts, "time": f"{one.seconds:.3f}"})
        for place, name in enumerate(one.names):
            case = SubElement(suite, "testcase", {"classname": one.file, "name": printable(name)})
            if place in one.failures:
                first, *others = map(printable, one.failures[place])
                SubElement(case, "failure", {"message": first}).text = "\n".join([first, *others])
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document
