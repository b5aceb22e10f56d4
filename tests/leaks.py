"""Looks for the keys and passwords of the tests in what services and commands write: lines of the log, errors, metrics
and what `doctor` finds. A test that causes a leak fails."""

import re
from collections.abc import Generator, Iterable

import pytest

KEY = "the-key-of-all-tests"
MIN_CHARACTERS = 8
"""Shorter ones would be found in ordinary words."""
LOOKS_SECRET = re.compile(r"\bmagistrate_[A-Za-z0-9_-]{43}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{10,}")
"""Matches generated keys, and tokens."""

_secrets = {KEY}


def keep_secret(secrets: Iterable[str]) -> None:
    """Has the tests look for these as well from now on."""
    _secrets.update(secret for secret in secrets if len(secret) >= MIN_CHARACTERS)


def find_leaks(text: str) -> list[str]:
    """The secrets that a text has."""
    return [secret for secret in _secrets if secret in text] + LOOKS_SECRET.findall(text)


def require_no_leak(text: str, place: str, known: str = "") -> None:
    """Fails if a text has a secret that is not in what its reader knows already, such as the path of a request."""
    found = [secret for secret in find_leaks(text) if secret not in known]
    assert not found, f"{place} has {found}: {text[:2_000]}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fails a test if services that run in the process of the tests have written a secret to the log meanwhile."""
    report = yield
    if report.outcome != "failed" and (found := find_leaks(report.capstderr)):
        report.outcome = "failed"
        report.longrepr = f"the log has {found}: {report.capstderr[:2_000]}"
    return report
