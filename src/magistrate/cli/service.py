"""Provides the common parts of all commands that call a service: options, the client, error messages and exit codes."""

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.output import discard_output, echo, print_json
from magistrate.config.settings import ClientSettings, read_client_settings
from magistrate.config.settings_table import CLIENT_SETTINGS, STORE_SETTING, Setting
from magistrate.errors import InvalidParameter, MagistrateError, RequestRefused, ServiceUnreachable
from magistrate.terminal import printable, printable_lines

if TYPE_CHECKING:
    from magistrate.client import Client

Command = Callable[..., None]

FAILED = 2
"""Sets the exit code of every failure; 1 means that a check is denied."""
INTERRUPTED = 130
"""Sets the exit code after SIGINT, which is 128 + SIGINT, as in shells."""

HINTS = (
    ("the object type does not exist", "`magistrate types list` shows those that do"),
    ("the relation does not exist", "`magistrate types show TYPE` shows those that do"),
    ("an array must have", "give at most 100 at a time: all of them are written, or none"),
    ("ObjectType ", "`magistrate types list` shows those that are defined"),
    ("object type ", "`magistrate types list` shows those that are defined"),
    ("Store ", "`magistrate stores list` shows those there are"),
    ("Warrant ", "`magistrate warrants list` shows those that are there; the policy must be the same, too"),
)
"""Maps the beginning of a service's message to a hint for the user."""
HINTS_BY_CODE = {
    "internal_error": "see the log of the service",
    "unavailable": "try again in a moment",
    "forbidden": "`magistrate keys list` shows what each key may do",
    "budget_spent": "`magistrate serve --max-check-work`, for queries `--max-query-work`, sets how much it may look at",
}

_ELEMENT = re.compile(r"(?:objectTypes|policies)?\[(\d+)\]\.?")
_CONTEXTUAL = re.compile(r"contextualWarrants\[(\d+)\]\.")


class CommandFailed(click.ClickException):
    """Represents a failure as one sentence for stderr that says what is wrong and what to do. `code` and `parameter`
    are those of the service's answer, if there was one."""

    exit_code = FAILED

    def __init__(self, message: str, code: str = "failed", parameter: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.parameter = parameter


class Interrupted(CommandFailed):
    """Represents the end of a command by SIGINT, or because nobody answered its prompt."""

    exit_code = INTERRUPTED


class JsonFailure(click.ClickException):
    """Represents a failure as JSON on stderr, in the form of the errors of the API."""

    def __init__(self, error: click.ClickException) -> None:
        super().__init__(error.format_message())
        vars(self)["exit_code"] = INTERRUPTED if isinstance(error, Interrupted) else FAILED
        self._body = {"code": getattr(error, "code", "failed"), "message": self.message}
        if parameter := getattr(error, "parameter", None):
            self._body["parameter"] = parameter

    def show(self, file: Any = None) -> None:
        print_json(self._body, err=True)


def with_settings(settings: Sequence[Setting]) -> Callable[[Command], Command]:
    """Adds an option for each setting. Variables are read by config/, not by click, so that an empty one is an
    error."""

    def decorate(command: Command) -> Command:
        for setting in reversed(settings):
            command = _setting_option(setting)(command)
        return command

    return decorate


def _setting_option(setting: Setting) -> Callable[[Command], Command]:
    default = f"; default: {setting.default_text}" if setting.default != "" else ""
    shown = f"{setting.meaning}  [env: {setting.variable}{default}]"
    if setting.is_boolean:
        return _boolean_option(setting, shown)
    if setting.is_repeatable:
        return click.option(
            setting.flag, setting.name, metavar="TEXT", help=shown, multiple=True, callback=_join_by_commas
        )
    flags = (*setting.further_flags, setting.flag)
    return click.option(*flags, setting.name, metavar="TEXT" if setting.default == "" else "", help=shown)


def _join_by_commas(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> str | None:
    return ",".join(values) if values else None


def _boolean_option(setting: Setting, shown: str) -> Callable[[Command], Command]:
    """Returns an option that may stand alone, which means true."""
    return click.option(setting.flag, setting.name, is_flag=False, flag_value="true", metavar="", help=shown)


def calls_service(command: Command) -> Command:
    """Adds the common options to a command, and calls it with `client` and `as_json` before its own arguments."""
    return _call_with_client(command, CLIENT_SETTINGS)


def calls_whole_service(command: Command) -> Command:
    """Decorates like `calls_service` a command that is about all stores, so it has no --store."""
    return _call_with_client(command, [setting for setting in CLIENT_SETTINGS if setting != STORE_SETTING])


def _call_with_client(command: Command, settings: Sequence[Setting]) -> Command:
    @wraps(command)
    def call_service(as_json: bool, **options: Any) -> None:
        flags = {setting.name: options.pop(setting.name) for setting in settings}
        with _render_failures(as_json), report_failures(), connect_client(flags) as client:
            command(client, as_json, **options)

    return with_settings(settings)(
        click.option("--json", "as_json", is_flag=True, help="print the answer of the service as JSON")(call_service)
    )


@contextmanager
def _render_failures(as_json: bool) -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        if not as_json:
            raise
        raise JsonFailure(error) from error


strict_option = click.option(
    "--strict/--no-strict",
    "is_strict",
    default=True,
    help="whether types and relations that do not exist are errors; they are by default",
)

limit_option = click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="the maximum number of rows, however many requests it takes",
)


def page_size(limit: int) -> int:
    """Returns one more than the rows to show, to detect whether there are more, but at most the maximum page size."""
    from magistrate.client import PAGE_SIZE

    return min(limit + 1, PAGE_SIZE)


@contextmanager
def connect_client(flags: dict[str, str | None], timeout_ms: int = 30_000) -> Iterator["Client"]:
    """Yields a client for these flags and the environment. Warnings of the service are printed on stderr.

    Raises InvalidSetting, and the errors of the client as CommandFailed with a hint."""
    from magistrate.client import Client  # importing httpx takes a moment, which `--help` need not wait for
    from magistrate.outgoing_requests import ClientTlsFiles

    settings = read_client_settings(flags, os.environ)
    files = ClientTlsFiles(settings.ca_cert, settings.client_cert, settings.client_key)
    warn = _WarningPrinter().print_once
    with Client(settings.server, settings.api_key, timeout_ms, files, warn, settings.store) as client:
        try:
            yield client
        except ServiceUnreachable as error:
            raise CommandFailed(_describe_unreachable(error), "unreachable") from error
        except RequestRefused as error:
            raise CommandFailed(_describe_refusal(error, settings), error.code, error.parameter) from error


@contextmanager
def elements_named(names: Sequence[str]) -> Iterator[None]:
    """Replaces the index of an element in an error with the name of that element."""
    try:
        yield
    except RequestRefused as error:
        element = _ELEMENT.match(error.parameter or "")
        if not error.parameter or (element is None and len(names) > 1):
            raise
        parameter = error.parameter[element.end() :] if element else error.parameter
        error.parameter = f"{parameter} of {names[int(element[1]) if element else 0]}"
        raise


@contextmanager
def contextual_named(names: Sequence[str]) -> Iterator[None]:
    """Replaces the place of a contextual warrant in an error with the warrant."""
    try:
        yield
    except RequestRefused as error:
        member = _CONTEXTUAL.match(error.parameter or "")
        if member is not None and error.parameter:
            error.parameter = f"{error.parameter[member.end() :]} of --with {names[int(member[1])]}"
        raise


@contextmanager
def report_failures() -> Iterator[None]:
    """Converts every failure to an exit code other than 1, which would mean that a check was denied."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except InvalidParameter as error:
        raise CommandFailed(f"{error.parameter}: {error.message}", parameter=error.parameter) from error
    except MagistrateError as error:
        raise CommandFailed(error.message) from error
    except UnicodeError as error:
        raise CommandFailed("the input is not valid UTF-8") from error
    except OSError as error:
        if error.filename is not None:
            raise CommandFailed(f"{error.filename}: {error.strerror}") from error
        discard_output()
        if isinstance(error, BrokenPipeError):  # the reader has seen enough
            sys.exit(FAILED)
        raise CommandFailed(f"the output cannot be written: {error.strerror or error}") from error
    except Exception:
        echo(traceback.format_exc(), err=True)
        sys.exit(FAILED)


def demand_yes(prompt: str, refusal: str) -> None:
    """Prompts on stderr, with a text of which others may have written parts. Raises CommandFailed unless the answer is
    yes, which is Interrupted if there is none: after SIGINT, or at the end of standard input. Nothing in this package
    prompts in another way."""
    try:
        is_yes = click.confirm(printable_lines(prompt), err=True)
    except RuntimeError:  # click.Abort, and what Python raises if there is no standard input
        echo(err=True)
        raise Interrupted(f"{refusal}: nobody answered; --yes answers beforehand") from None
    if not is_yes:
        raise CommandFailed(refusal)


class _WarningPrinter:
    """Prints each warning once, though a plan of a write and the write have the same."""

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def print_once(self, warning: str) -> None:
        if warning not in self._printed:
            self._printed.add(warning)
            echo(f"Warning: {printable(warning)}", err=True)


def _describe_unreachable(error: ServiceUnreachable) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in error.message:
        return (
            f"{error.url} has a certificate that this machine does not trust ({error.message}); "
            "name the file of its certificate authority with --ca-cert FILE or MAGISTRATE_CA_CERT"
        )
    if "CERTIFICATE_REQUIRED" in error.message or "HANDSHAKE_FAILURE" in error.message:
        return (
            f"{error.url} wants a certificate of this client ({error.message}); give one that it trusts with "
            "--client-cert FILE and --client-key FILE, or MAGISTRATE_CLIENT_CERT and MAGISTRATE_CLIENT_KEY"
        )
    return (
        f"no service at {error.url}: {error.message}; start one with `magistrate serve`, "
        "or name another with --server URL or MAGISTRATE_SERVER"
    )


def _describe_refusal(error: RequestRefused, settings: ClientSettings) -> str:
    if error.status == 401:
        fault = "does not know this API key" if settings.api_key else "requires an API key"
        return f"{settings.server} {fault}; give one that it knows with --api-key KEY or MAGISTRATE_API_KEY"
    message = f"{error.parameter}: {error.message}" if error.parameter else error.message
    if error.status >= 500:
        message = f"{settings.server} answered {error.status} to request {error.request_id}: {message}"
    hints = (hint for start, hint in HINTS if error.message.startswith(start))
    hint = HINTS_BY_CODE.get(error.code) or next(hints, None)
    return f"{message.removesuffix('.')}; {hint}" if hint else message
