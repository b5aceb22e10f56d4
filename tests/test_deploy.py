"""The image, the compose file, the systemd unit, the bill of materials and the workflows, as far as they can be
checked without a container daemon: they are read, and the commands in them are run in an empty directory."""

import configparser
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from magistrate.config.database_url import PostgresUrl
from magistrate.config.settings import read_settings
from magistrate.config.settings_table import SETTINGS
from tests.fuzzing.parsers import PARSERS
from tests.generated_docs import ROOT
from tests.processes.served_processes import free_port
from tests.processes.starting import start_process
from tests.waiting import wait_until
from tests.worker_memory import needed_bytes
from tests.workflows import read_workflow

SERVICE_VARIABLES = {setting.variable for setting in SETTINGS}
MAX_EXPOSURE = "20"
"""Of 100, by `systemd-analyze security`; an ordinary unit has more than 90."""


def instructions() -> list[tuple[str, str]]:
    """Each instruction of the Dockerfile and what follows it, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def last_stage() -> dict[str, list[str]]:
    """The instructions that the image itself is made by."""
    found = instructions()
    start = max(place for place, (name, _) in enumerate(found) if name == "FROM")
    stage: dict[str, list[str]] = {}
    for name, rest in found[start:]:
        stage.setdefault(name, []).append(rest)
    return stage


def image_environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in last_stage()["ENV"] for pair in line.split())


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return document


def unit() -> configparser.RawConfigParser:
    """The values of options that are repeated are joined by line ends."""
    text = (ROOT / "deploy/magistrate.service").read_text()
    for name in ("Environment", "SystemCallFilter"):
        values = re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)
        text = re.sub(rf"^{name}=.*\n", "", text, flags=re.MULTILINE)
        text = text.replace("[Service]\n", f"[Service]\n{name}=" + "\n ".join(values) + "\n")
    parser = configparser.RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # as its documentation says
    parser.read_string(text)
    return parser


def test_the_image_has_two_stages_and_is_run_by_an_ordinary_user() -> None:
    stage = last_stage()

    assert len([name for name, _ in instructions() if name == "FROM"]) == 2
    assert stage["COPY"] == [
        "--from=build /opt/magistrate /opt/magistrate",
        "deploy/probe.sh /usr/local/bin/magistrate-probe",
    ]
    [user] = stage["USER"]
    assert all(int(part) >= 1_000 for part in user.split(":"))
    assert "ADD" not in {name for name, _ in instructions()}


def run_image_script(folder: Path, *arguments: str | Path, digest: str) -> tuple[int, list[str]]:
    """Returns the exit code of deploy/image.sh, and the commands that it gives to `docker`, which says this digest."""
    (folder / "docker").write_text(f"""#!/bin/sh
echo "docker $*" >> {folder}/commands
case "$*" in
    *imagetools*) echo "{digest}" ;;
    *State.Health*) echo healthy ;;
    "run "*) echo container ;;
    *--metadata-file*) echo '{{"containerimage.digest": "{PUSHED}"}}' > {folder}/digest.json ;;
esac
""")
    (folder / "docker").chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "COMMIT": "4b825dc"}
    ran = subprocess.run([ROOT / "deploy/image.sh", *arguments], cwd=folder, env=environment, capture_output=True)
    return ran.returncode, (folder / "commands").read_text().splitlines()


BASE = dict(rest.split("=", 1) for name, rest in instructions() if name == "ARG" and "=" in rest)["BASE"]
FOUND, PUSHED = f"sha256:{'0f' * 32}", f"sha256:{'1e' * 32}"


def test_a_release_is_built_from_a_base_by_its_digest(tmp_path: Path) -> None:
    """The digest is that of the day of the release, so none stands in the repository."""
    code, [asked, built] = run_image_script(tmp_path, "archive", "magistrate:1.2.3", tmp_path / "file", digest=FOUND)

    assert code == 0
    assert re.fullmatch(r"python:3\.\d+-slim-bookworm", BASE)
    assert [rest.split()[0] for name, rest in instructions() if name == "FROM"] == ["${BASE}", "${BASE}"]
    assert asked.endswith(f" {BASE}")
    assert f"--build-arg BASE={BASE}@{FOUND} " in built
    assert "--build-arg COMMIT=4b825dc " in built


def test_no_image_is_built_from_a_base_without_a_digest(tmp_path: Path) -> None:
    code, commands = run_image_script(tmp_path, "archive", "magistrate:1.2.3", tmp_path / "file", digest="<no value>")

    assert code == 1
    assert len(commands) == 1


def test_an_image_of_a_release_is_for_two_architectures_with_its_bill_of_materials(tmp_path: Path) -> None:
    code, [_, built] = run_image_script(tmp_path, "push", "ghcr.io/a/b:1.2.3", tmp_path / "digest", digest=FOUND)

    assert code == 0
    for option in ("--platform linux/amd64,linux/arm64", "--sbom=true", "--provenance=mode=max", "--push"):
        assert f" {option} " in built
    assert (tmp_path / "digest").read_text() == f"{PUSHED}\n"


def test_an_image_is_tried_with_a_root_that_cannot_be_written(tmp_path: Path) -> None:
    code, commands = run_image_script(tmp_path, "try", "magistrate:tried", digest=FOUND)

    assert code == 0
    assert " --load " in commands[1]
    assert commands[2].startswith("docker run --detach --read-only --tmpfs /tmp --cap-drop ALL ")
    assert commands[-1] == "docker rm --force container"


def test_what_the_image_is_built_from_is_there_and_not_ignored() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    copied = [rest.split()[:-1] for name, rest in instructions() if name == "COPY" and not rest.startswith("--from")]

    for source in [source for sources in copied for source in sources]:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in rules, source
    assert rules[0] == "*"
    assert not any(fnmatch("tests", rule.removeprefix("!")) for rule in rules if rule.startswith("!"))


def test_the_image_names_settings_that_exist() -> None:
    given = {name: text for name, text in image_environment().items() if name.startswith("MAGISTRATE_")}

    settings = read_settings({}, given)

    assert settings.host == "0.0.0.0"
    assert str(settings.port) in last_stage()["EXPOSE"]


PROBE = ROOT / "deploy/probe.sh"


def probe(environment: dict[str, str]) -> int:
    return subprocess.run([PROBE], env=environment, capture_output=True, timeout=10).returncode


@pytest.mark.parametrize("host", ["127.0.0.1", "::1,127.0.0.1", "0.0.0.0", "::"])
@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1), (None, 1)])
def test_the_probe_says_whether_the_admin_port_answers_200(host: str, status: int | None, code: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    is_dual = host == "::"
    with socket.create_server((host.split(",")[0], 0), family=family, dualstack_ipv6=is_dual) as listening:
        port = str(listening.getsockname()[1])
        if status is None:
            listening.close()
        thread = threading.Thread(target=answer_once, args=(listening, status))
        thread.start()
        exit_code = probe({"MAGISTRATE_HOST": host, "MAGISTRATE_ADMIN_PORT": port})
        thread.join()

    assert exit_code == code


def answer_once(listening: socket.socket, status: int | None) -> None:
    if status is not None:
        connection, _ = listening.accept()
        with connection:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += connection.recv(1_000)
            assert head.startswith(b"GET /readyz HTTP/1.1\r\nHost: ")
            connection.sendall(b"HTTP/1.1 %d X\r\n\r\n" % status)


def test_the_probe_starts_no_interpreter_and_waits_for_no_answer_for_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began_at = time.monotonic()
        code = probe({"MAGISTRATE_ADMIN_PORT": str(silent.getsockname()[1]), "PATH": "/nowhere"})

    assert code == 1
    assert 2 < time.monotonic() - began_at < 3


def test_the_commands_of_the_image_work_in_an_empty_directory(tmp_path: Path) -> None:
    """With the environment of the image, but free ports, and directories of the test in place of /data and /tmp."""
    stage = last_stage()
    data, scratch = tmp_path / "data", tmp_path / "tmp"
    data.mkdir()
    scratch.mkdir()
    ports = {"8000": str(free_port()), "8001": str(free_port())}
    [health] = re.findall(r"CMD (.*)", stage["HEALTHCHECK"][0])
    assert json.loads(health) == ["magistrate-probe"]
    environment = {
        **{name: text.replace("/data", str(data)) for name, text in image_environment().items()},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(scratch),
        "MAGISTRATE_HOST": "127.0.0.1",
        "MAGISTRATE_PORT": ports["8000"],
        "MAGISTRATE_ADMIN_PORT": ports["8001"],
    }
    before = probe(environment)

    command = [*json.loads(stage["ENTRYPOINT"][0]), *json.loads(stage["CMD"][0]), "--workers", "2"]
    process = start_process(command, folder=data, environment=environment)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Magistrate listens on ")
        wait_until(lambda: probe(environment) == 0)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    assert before != 0
    assert process.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "tmp"]
    assert {path.name for path in data.iterdir()} <= {"magistrate.db", "magistrate.db-wal", "magistrate.db-shm"}
    assert [*scratch.iterdir()] == []


def test_compose_runs_the_service_without_rights_on_a_database_of_its_own() -> None:
    services = compose()["services"]
    service, database = services["magistrate"], services["database"]
    given = {
        name: re.sub(r"\$\{\w+:\?[^}]*\}", "a-word-of-16-letters", text)
        for name, text in service["environment"].items()
    }

    settings = read_settings({}, given)

    assert isinstance(settings.database, PostgresUrl)
    assert "@database:5432/" in settings.database.conninfo
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["tmpfs"] == ["/tmp:mode=1777,size=64m"]
    assert needed_bytes(settings, service["cpus"]) <= int(service["mem_limit"].removesuffix("m")) * 2**20
    assert all(limit in one for one in services.values() for limit in ("cpus", "mem_limit", "pids_limit"))
    assert service["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert service["ports"] == [f"127.0.0.1:8000:{last_stage()['EXPOSE'][0]}"]
    assert float(service["stop_grace_period"].removesuffix("s")) * 1_000 > settings.stop_timeout_ms + 10_000
    assert {volume.split(":")[0] for volume in database["volumes"]} == {*compose()["volumes"]}


def test_the_unit_starts_the_service_with_settings_that_exist() -> None:
    service = unit()["Service"]
    given = dict(line.split("=", 1) for line in service["Environment"].splitlines())

    settings = read_settings({}, given)

    assert service["ExecStart"].split()[1:] == ["serve"]
    assert settings.database.place == f"/var/lib/{service['StateDirectory']}/magistrate.db"
    assert int(service["TimeoutStopSec"]) * 1_000 > settings.stop_timeout_ms + 10_000
    assert int(service["LimitNOFILE"]) * 3 // 4 >= settings.max_connections


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_is_hardened() -> None:
    ran = subprocess.run(
        [
            *("systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={MAX_EXPOSURE}"),
            str(ROOT / "deploy/magistrate.service"),
        ],
        capture_output=True,
        text=True,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Unknown" not in ran.stderr


def bill_of_materials(**environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, "deploy/sbom.py", sysconfig.get_path("purelib")],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


def test_the_bill_of_materials_lists_what_is_installed() -> None:
    document = json.loads(bill_of_materials(SOURCE_DATE_EPOCH="1763683200"))
    versions = {one["name"]: one["version"] for one in document["components"]}
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))

    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["timestamp"] == "2025-11-21T00:00:00Z"
    assert document["metadata"]["component"]["name"] == "magistrate"
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", document["serialNumber"])
    for name in ("apsw", "falcon", "psycopg", "uvicorn", "uvloop"):
        assert versions[name] == pinned[name]
    assert {one["purl"] for one in document["components"]} >= {f"pkg:pypi/falcon@{pinned['falcon']}"}
    references = [one["bom-ref"] for one in document["components"]]
    assert len(references) == len({*references})
    assert {*document["dependencies"][0]["dependsOn"]} == {*references}
    assert next(one for one in document["components"] if one["name"] == "falcon")["licenses"]


def test_the_same_packages_have_the_same_bill_of_materials() -> None:
    assert bill_of_materials() == bill_of_materials()


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"), key=str)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_what_exists(path: Path) -> None:
    workflow = read_workflow(path)
    jobs = workflow["jobs"]
    steps = [step for job in jobs.values() for step in job.get("steps", [])]
    commands = "\n".join(step["run"] for step in steps if "run" in step)

    assert workflow["permissions"] == {"contents": "read"}
    for named in re.findall(r"(?:\./|python )((?:run|deploy)[\w/.-]*)|^ *(deploy/[\w/.-]*)", commands, re.MULTILINE):
        assert (ROOT / "".join(named)).exists(), named
    for called in [job["uses"] for job in jobs.values() if "uses" in job]:
        assert "workflow_call" in read_workflow(ROOT / called)["True"]
    for name, job in jobs.items():
        assert {*([job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", []))} <= {*jobs} - {name}
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]) for step in steps if "uses" in step)


def test_pull_requests_are_tested_on_all_supported_versions() -> None:
    workflow = read_workflow(ROOT / ".github/workflows/ci.yml")
    job = workflow["jobs"]["tests"]
    rows = job["strategy"]["matrix"]["include"]
    commands = [step.get("run") for step in job["steps"]]
    [test] = [step for step in job["steps"] if step.get("run") == "./run test"]
    oldest = re.search(r'requires-python = ">=(3\.\d+)"', (ROOT / "pyproject.toml").read_text())

    assert "pull_request" in workflow["True"]
    assert "./run check" in commands
    assert test["env"] == {"CHECKED": "1", "TEST_POSTGRES_BIN": "/usr/lib/postgresql/${{ matrix.postgresql }}/bin"}
    assert {row["python"] for row in rows} == {"3.11", "3.12", "3.13", "3.14"}
    assert oldest is not None
    assert min(row["python"] for row in rows) == oldest[1]
    assert [row["postgresql"] for row in rows] == [14, 15, 16, 17, 18]
    assert any(step.get("uses", "").startswith("actions/setup-node@") for step in job["steps"])


def test_every_parser_is_fuzzed_for_an_hour_each_night() -> None:
    job = read_workflow(ROOT / ".github/workflows/nightly.yml")["jobs"]["fuzzing"]
    [feed] = [step for step in job["steps"] if "FUZZ_SECONDS" in step.get("env", {})]

    assert feed["run"].startswith("./run test -m nightly tests/fuzzing -k ")
    assert job["strategy"]["matrix"]["tests"] == ["for_a_long_time", "that_runs_other_code"]
    assert len(PARSERS) * int(feed["env"]["FUZZ_SECONDS"]) >= 3_000


def test_the_checks_include_the_types_of_the_console_and_the_client() -> None:
    check = (ROOT / "run").read_text().partition("\ncheck)\n")[2].partition(";;")[0]

    assert "check_typescript\n" in check
