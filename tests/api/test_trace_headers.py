"""What callers say about their traces, and that it does not make their requests slow."""

from pathlib import Path

import pytest

from magistrate.api.http.trace_headers import divide_trace_lines, find_caller_trace, has_trace_lines
from magistrate.tracing import CallerTrace
from tests.running import KEY, Client, running_server, settings_for
from tests.scenario_files import warrant_body

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
CALLER = CallerTrace(int(TRACE, 16), int(SPAN, 16), 1)


def find(*headers: tuple[str, str]) -> CallerTrace | None:
    return find_caller_trace([(name.encode(), value.encode("latin-1")) for name, value in headers])


def test_a_valid_header_names_trace_span_and_flags() -> None:
    assert find(("host", "x"), ("traceparent", PARENT)) == CALLER
    assert find(("traceparent", f" {PARENT}\t")) == CALLER
    assert find(("traceparent", PARENT[:-2] + "00")) == CALLER._replace(flags=0)
    assert find(("traceparent", PARENT[:-2] + "03")) == CALLER._replace(flags=3)
    assert find(("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2")) == CALLER._replace(
        state="a=1,b=2"
    )


def test_later_versions_may_have_more() -> None:
    assert find(("traceparent", f"cc{PARENT[2:]}")) == CALLER
    assert find(("traceparent", f"cc{PARENT[2:]}-what-will-be")) == CALLER


@pytest.mark.parametrize(
    "text",
    [
        "",
        PARENT[:-1],
        f"{PARENT}-more",
        f"{PARENT}0",
        f"cc{PARENT[2:]}.more",
        f"ff{PARENT[2:]}",
        PARENT.upper(),
        PARENT.replace(TRACE, "0" * 32),
        PARENT.replace(SPAN, "0" * 16),
        PARENT.replace("-", "_"),
        PARENT.replace("0a", "0g"),
        PARENT.replace("0a", "\xe90"),
    ],
)
def test_what_is_not_valid_says_nothing(text: str) -> None:
    assert find(("traceparent", text)) is None


def test_two_parents_and_a_state_alone_say_nothing() -> None:
    assert find(("traceparent", PARENT), ("traceparent", PARENT)) is None
    assert find(("tracestate", "a=1")) is None


def test_a_state_that_is_too_long_is_left_out() -> None:
    assert find(("traceparent", PARENT), ("tracestate", "a=" + "1" * 510)) == CALLER._replace(state="a=" + "1" * 510)
    assert find(("traceparent", PARENT), ("tracestate", "a=" + "1" * 511)) == CALLER


HEAD = "POST /v2/check HTTP/1.1\r\nhost: x\r\nauthorization: ApiKey y\r\n\r\n"


@pytest.mark.parametrize("name", ["traceparent", "Traceparent"])
@pytest.mark.parametrize("place", ["host", "authorization", "\r\n"])
def test_a_head_is_divided_wherever_the_lines_are(name: str, place: str) -> None:
    at = HEAD.index(place) if place != "\r\n" else len(HEAD) - 2
    head = f"{HEAD[:at]}{name}: {PARENT}\r\ntracestate: a=1\r\n{HEAD[at:]}"

    divided = divide_trace_lines(head.encode())

    assert divided is not None
    assert tuple(map(bytes.decode, divided)) == (HEAD, PARENT, "a=1")


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "te: trailers\r\n",
        f"x-traceparent: {PARENT}\r\n",
        "tracestate: a=1\r\n",
        f"traceparent:{PARENT}\r\n",
        f"traceparent: {PARENT}\r\ntracestate: a=\x07\r\n",
        f"traceparent: {PARENT}\r\ntracestate: a=\x7f\r\n",
        f"traceparent: {PARENT}x\r\n",
        f"traceparent : {PARENT}\r\n",
        f"traceparent: {PARENT}\r\n content-length: 1\r\n",
        f"traceparent: {PARENT}\n",
        f"traceparent: {PARENT}\x00\r\n",
        f"TRACEPARENT: {PARENT}\r\n",
    ],
)
def test_lines_that_are_not_plain_are_left_to_the_parser(lines: str) -> None:
    head = HEAD.replace("host", f"{lines}host").encode()

    assert divide_trace_lines(head) is None
    assert has_trace_lines(head) == lines.lower().startswith("trace")


def test_a_head_with_two_lines_is_divided_into_one_that_is_not_known() -> None:
    divided = divide_trace_lines(HEAD.replace("host", f"traceparent: {PARENT}\r\n" * 2 + "host").encode())

    assert divided is not None
    assert has_trace_lines(divided.head)


def test_a_request_with_a_trace_of_its_own_has_a_known_head(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/x.db")

    with running_server(settings) as (url, server), Client(url, KEY) as client:
        client.define({"folder": {"viewer": {}}})
        client.grant("folder:a#viewer@user:ann")
        body = {"warrants": [warrant_body("folder:a#viewer@user:ann")]}
        answers = [
            client.post(
                "/v2/check",
                json=body,
                headers={"traceparent": f"00-{number:032x}-{number:016x}-01", "tracestate": "a=1"},
            ).json()["code"]
            for number in range(1, 20)
        ]
        known = server.config.loaded_app.fast_path.known_heads
        answers += [
            client.post("/v2/check", json=body, headers={"traceparent": PARENT, "tracestate": "a" * 900}).json()["code"]
            for _ in range(3)
        ]

    assert answers == [200] * 22
    assert len(known) == 1


def test_a_head_that_is_too_large_is_refused_although_its_other_lines_are_known(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/x.db", max_head_bytes=1_024)

    with running_server(settings) as (url, _), Client(url, KEY) as client:
        client.define({"folder": {"viewer": {}}})
        body = {"warrants": [warrant_body("folder:a#viewer@user:ann")]}
        statuses = [
            client.post("/v2/check", json=body, headers={"traceparent": PARENT, "tracestate": state}).status_code
            for state in ("a=1", "a=2", "a=3", "a" * 1_000)
        ]

    assert statuses == [200, 200, 200, 431]
