"""Implements `magistrate import --from-warrant URL`, which copies everything from a running Warrant server and verifies
the copy."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from magistrate.cli.output import NowAndThen, echo, print_json, print_table
from magistrate.cli.service import CommandFailed
from magistrate.config.settings import ImportTarget, read_warrant_api_key
from magistrate.errors import InvalidRequest, RequestRefused, ServiceUnreachable
from magistrate.temporary_files import find_temporary_folder
from magistrate.terminal import printable

if TYPE_CHECKING:
    from magistrate.wiring.warrant_migration import Comparison, Kind, Origin, Reached, Refused

SHOWN_ROW_BYTES = 500
"""Limits the bytes shown of a refused row."""
SAMPLE_SIZE = 300
_PLURALS: "Mapping[Kind, str]" = {
    "named policy": "named policies",
    "object type": "object types",
    "object": "objects",
    "warrant": "warrants",
}
NAMED_ROWS = 20
"""Limits the rows that are named of each kind and category."""


@dataclass(frozen=True, slots=True)
class Move:
    """Holds the options of the command, by their names."""

    target: ImportTarget
    origin_url: str
    warrant_api_key: str | None
    skip_refused: bool
    verify_only: bool
    sample: int | None
    differences: int | None
    json: bool


def move(options: Move) -> None:
    """Copies all rows and verifies them. Raises CommandFailed unless everything was copied and all checks agree."""
    # importing the server takes a moment, which `--help` need not wait for
    from magistrate.wiring import warrant_migration

    # Rows are compared in a temporary file of SQLite, which should not fail when everything was copied.
    os.environ.setdefault("SQLITE_TMPDIR", find_temporary_folder("the comparison needs"))
    origin = warrant_migration.Origin(options.origin_url, read_warrant_api_key(options.warrant_api_key, os.environ))
    with _report_failures(origin):
        if not options.verify_only:
            _import(options, origin)
        comparison = warrant_migration.compare_with_server(
            options.target,
            origin,
            SAMPLE_SIZE if options.sample is None else options.sample,
            NAMED_ROWS if options.differences is None else options.differences,
            report_progress=_report_rows("read", origin),
        )
    if options.json:
        print_json(_build_json(comparison, origin))
    else:
        _print_comparison(comparison, origin)
    if not comparison.agree:
        raise CommandFailed(_describe_disagreement(comparison, origin))


@contextmanager
def _report_failures(origin: "Origin") -> Iterator[None]:
    try:
        yield
    except ServiceUnreachable as error:
        message = origin.without_key(error.message.removesuffix("."))
        raise CommandFailed(f"{error.url}: {printable(message)}; run the same command again to resume") from error
    except RequestRefused as error:
        raise CommandFailed(_describe_refusal(error, origin)) from error
    except InvalidRequest as error:
        message = origin.without_key(error.message.removesuffix("."))
        raise CommandFailed(f"{printable(message)}; run the same command again to resume at its chunk") from error


def _describe_refusal(error: RequestRefused, origin: "Origin") -> str:
    if error.status == 401:
        fault = "does not know this API key" if origin.key else "requires an API key"
        return f"{origin.url} {fault}; give one that it knows with --warrant-api-key KEY or MAGISTRATE_WARRANT_API_KEY"
    parameter = f"{error.parameter}: " if error.parameter else ""
    message = printable(origin.without_key(parameter + error.message.removesuffix(".")))
    return f"{origin.url} answered {error.status}: {message}; run the same command again to resume"


def _import(options: Move, origin: "Origin") -> None:
    from magistrate.wiring import warrant_migration

    refusals = _Refusals(origin)
    started = time.monotonic()
    report_rows = _report_rows("stored", origin)

    def print_progress(reached: "Reached") -> None:
        if reached.lines != reached.first - 1:
            report_rows(reached.lines)
        elif reached.lines:
            echo(f"Resuming behind {reached.lines:,} rows, which are stored", err=True)

    reached = warrant_migration.import_server(
        options.target,
        origin,
        report_progress=print_progress,
        refused=refusals.report,
        skips_refused=options.skip_refused,
    )
    echo(_summary(reached, time.monotonic() - started))
    refusals.print_summary()
    if reached.refused and not options.skip_refused:
        raise CommandFailed(
            f"{reached.refused:,} rows are refused, and nothing is stored from the chunk of the first of them on; fix "
            "them there, or leave them out with --skip-refused, and run the same command again"
        )


@dataclass(slots=True)
class _Refusals:
    """Reports each refused row on stderr at once, and then the number of refused rows by kind and reason."""

    origin: "Origin"
    counted: Counter[tuple[str, str]] = field(default_factory=Counter)

    def report(self, kind: "Kind", refused: "Refused") -> None:
        row = self.origin.without_key(refused.text.decode(errors="backslashreplace"))
        reason_text = self.origin.without_key(refused.reason)
        shown = row if len(row) <= SHOWN_ROW_BYTES else row[:SHOWN_ROW_BYTES] + "..."
        verb = "refused" if refused.can_be_fixed else "left out"
        echo(f"{verb} {kind}  {printable(reason_text)}  {printable(shown)}", err=True)
        # Messages about a policy quote it, so that no two are alike.
        reason = "policy: is not understood" if reason_text.startswith("policy: ") else reason_text
        self.counted[kind, reason] += 1

    def print_summary(self) -> None:
        if self.counted:
            rows = ([f"{count:,}", kind, reason] for (kind, reason), count in self.counted.most_common())
            print_table([["REFUSED", "KIND", "REASON"], *rows])


def _report_rows(done: str, origin: "Origin") -> Callable[[int], None]:
    """Returns a callback that reports periodically how many rows were processed."""
    now_and_then = NowAndThen()

    def report_rows(rows: int) -> None:
        if now_and_then.is_due():
            echo(f"{rows:,} rows of {origin.url} are {done}", err=True)

    return report_rows


def _summary(reached: "Reached", seconds: float) -> str:
    rows = reached.lines - reached.first + 1
    return f"{rows:,} rows in {seconds:.1f} s; new or changed: {describe_imported(reached)}"


def describe_imported(reached: "Reached") -> str:
    """Returns how many rows of each kind were created or replaced."""
    imported = reached.imported
    policies = f", {imported.policies:,} policies" if imported.policies else ""
    return f"{imported.types:,} object types, {imported.objects:,} objects, {imported.warrants:,} warrants{policies}"


def _print_comparison(comparison: "Comparison", origin: "Origin") -> None:
    rows = [
        [
            _PLURALS[counts.kind],
            *(f"{number:,}" for number in (counts.source, counts.refused, counts.store)),
            "" if counts.agree else "DIFFERS",
        ]
        for counts in comparison.counts
    ]
    print_table([["", "THERE", "REFUSED", "HERE", ""], *rows])
    if comparison.types:
        types = ([origin.without_key(name), difference] for name, difference in comparison.types.items())
        print_table([["OBJECT TYPE", "DIFFERENCE"], *types])
    _print_differing_rows(comparison, origin)
    echo(_describe_checks(comparison))
    if comparison.differences:
        shown = (
            [
                *map(origin.without_key, (difference.check, difference.source)),
                difference.store,
                difference.reason or "UNEXPLAINED",
            ]
            for difference in comparison.differences
        )
        print_table([["CHECK", "THERE", "HERE", "WHY"], *shown])


def _print_differing_rows(comparison: "Comparison", origin: "Origin") -> None:
    from magistrate.wiring.warrant_migration import describe_category

    differing = [(counts.kind, rows) for counts in comparison.counts for rows in counts.differing]
    if not differing:
        return
    totals = ([f"{rows.total:,}", kind, describe_category(kind, rows.category)] for kind, rows in differing)
    print_table([["ROWS", "KIND", "DIFFERENCE"], *totals])
    named = [
        [kind, origin.without_key(written), describe_category(kind, rows.category)]
        for kind, rows in differing
        for written in rows.written
    ]
    if named:
        print_table([["KIND", "ROW", "DIFFERENCE"], *named])


def _build_json(comparison: "Comparison", origin: "Origin") -> dict[str, object]:
    return {
        "agree": comparison.agree,
        "counts": [
            {"kind": counts.kind, "source": counts.source, "refused": counts.refused, "here": counts.store}
            for counts in comparison.counts
        ],
        "objectTypes": [
            {"type": origin.without_key(name), "difference": difference}
            for name, difference in comparison.types.items()
        ],
        "rows": [
            {
                "kind": counts.kind,
                "category": rows.category,
                "total": rows.total,
                "rows": [*map(origin.without_key, rows.written)],
            }
            for counts in comparison.counts
            for rows in counts.differing
        ],
        "checks": {
            "compared": comparison.checks,
            "answered": comparison.answered,
            "differences": [
                {
                    "check": origin.without_key(difference.check),
                    "source": origin.without_key(difference.source),
                    "here": difference.store,
                    "reason": difference.reason,
                }
                for difference in comparison.differences
            ],
        },
    }


def _describe_checks(comparison: "Comparison") -> str:
    if not comparison.checks:
        return "no check was made"
    text = f"{comparison.checks:,} checks made on both sides"
    if not comparison.answered:
        return f"{text}, none of them answered there"
    if comparison.answered < comparison.checks:
        text += f", {comparison.answered:,} of them answered there"
    differing = len(comparison.differences)
    if not differing:
        return f"{text}: all agree"
    return f"{text}: {differing:,} differ, {differing - comparison.unknown_differences:,} for a known reason"


def _describe_disagreement(comparison: "Comparison", origin: "Origin") -> str:
    if comparison.may_agree:
        missing = f"{comparison.unknown_differences:,} of {comparison.checks:,} checks"
        return f"{origin.url} did not answer {missing} for no known reason, so that these are not verified; see above"
    return f"what is here is not what {origin.url} has; see above"
