"""What the chart becomes with five files of values: what Kubernetes accepts, with no rights, and what the service
understands. It was never installed on a cluster."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
import yaml

from magistrate.config.settings import read_settings
from magistrate.config.settings_table import Settings
from magistrate.store.migration import migrations
from tests.databases import PostgresServer, dump
from tests.generated_docs import ROOT
from tests.kubernetes.helm import FOLDER_OF_CHART, NEWEST, OLDEST, VALUES, Helm, find_helm, find_kind, find_kinds
from tests.processes.served_processes import free_port
from tests.processes.starting import start_process
from tests.running import KEY
from tests.worker_memory import needed_bytes

Json = dict[str, Any]

OF_PROMETHEUS = {"ServiceMonitor", "PrometheusRule"}
"""The kinds that are not part of Kubernetes."""


@pytest.fixture(scope="module", params=["found", pytest.param("built", marks=pytest.mark.nightly)])
def helm(request: pytest.FixtureRequest) -> Helm:
    return Helm(find_helm(may_build=request.param == "built"))


@pytest.fixture(params=VALUES, ids=lambda file: file.name.removesuffix("-values.yaml"))
def values(request: pytest.FixtureRequest) -> Path:
    file: Path = request.param
    return file


@pytest.fixture
def documents(helm: Helm, values: Path) -> list[Json]:
    return helm.template("--values", values)


def pod_of(documents: list[Json]) -> Json:
    pod: Json = find_kind(documents, "Deployment")["spec"]["template"]["spec"]
    return pod


def containers_of(documents: list[Json]) -> Iterator[Json]:
    pod = pod_of(documents)
    yield from (*pod.get("initContainers", ()), *pod["containers"])


def environment_of(container: Json, **secrets: str) -> dict[str, str]:
    """The variables of a container, those of secrets by the names of the secrets."""
    return {
        one["name"]: one["value"] if "value" in one else secrets[one["valueFrom"]["secretKeyRef"]["name"]]
        for one in container["env"]
    }


def settings_of(container: Json) -> Settings:
    environment = {
        one["name"]: one.get("value", "postgresql://magistrate@database/magistrate") for one in container["env"]
    }
    return read_settings({}, environment)


def test_lint_finds_nothing(helm: Helm, values: Path) -> None:
    ran = helm.run("lint", "--strict", FOLDER_OF_CHART, "--values", values)

    assert ran.returncode == 0, ran.stdout
    assert "[WARNING]" not in ran.stdout


def test_kubernetes_accepts_what_it_becomes(helm: Helm, values: Path) -> None:
    for version in (OLDEST, NEWEST):
        for document in helm.template("--values", values, version=version):
            if document["kind"] not in OF_PROMETHEUS:
                kubernetes_validate.validate(document, version, strict=True)
            assert document["metadata"]["namespace"] == "auth"


def test_pods_are_restricted_and_their_root_cannot_be_written(documents: list[Json]) -> None:
    """As the restricted level of the Pod Security Standards demands."""
    pod = pod_of(documents)

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is pod["enableServiceLinks"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & {*pod}
    for container in containers_of(documents):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        assert not any("hostPort" in port for port in container.get("ports", ()))
    kinds = {kind for volume in pod["volumes"] for kind in volume if kind != "name"}
    assert kinds <= {"configMap", "emptyDir", "persistentVolumeClaim", "secret"}


def test_the_service_understands_what_it_is_given(documents: list[Json], values: Path) -> None:
    given = yaml.safe_load((FOLDER_OF_CHART / "values.yaml").read_text())["settings"]
    given |= yaml.safe_load(values.read_text()).get("settings", {})
    [container] = pod_of(documents)["containers"]

    settings = settings_of(container)

    assert container["args"] == ["serve"]
    for name, value in given.items():
        assert all(getattr(settings_of(each), name) == value for each in containers_of(documents)), name
    assert (settings.port, settings.admin_port) == tuple(port["containerPort"] for port in container["ports"])
    has_init = "initContainers" in pod_of(documents)
    assert settings.migrate == ("never" if has_init else "auto")


def test_numbers_are_written_as_the_service_reads_them(helm: Helm, tmp_path: Path) -> None:
    """Helm has all of them as floating-point numbers. The schema is left out, so that one may have decimals."""
    shutil.copytree(FOLDER_OF_CHART, tmp_path / "chart")
    (tmp_path / "chart/values.schema.json").unlink()
    given = {"cache_bytes": 1_099_511_627_776, "port": 0, "share": 0.015, "strict": False, "name": "1e3"}

    ran = helm.run(
        "template", tmp_path / "chart", "--kube-version", NEWEST, "--set-json", f"settings={json.dumps(given)}"
    )

    [container] = pod_of([*yaml.safe_load_all(ran.stdout)])["containers"]
    variables = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    assert [variables[f"MAGISTRATE_{name.upper()}"] for name in given] == [
        "1099511627776",
        "0",
        "0.015",
        "false",
        "1e3",
    ]


def test_what_a_container_reads_is_mounted_and_exists(documents: list[Json]) -> None:
    pod = pod_of(documents)
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for container in containers_of(documents):
        mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
        paths = [one["value"].removeprefix("sqlite:///") for one in container["env"] if "/" in one.get("value", "")]
        for path in [path for path in paths if path.startswith("/")]:
            assert str(Path(path).parent) in mounts, path
    assert all(volume["secret"]["defaultMode"] == 0o440 for volume in volumes.values() if "secret" in volume)
    made = {document["metadata"]["name"] for document in find_kinds(documents, "PersistentVolumeClaim")}
    claims = {one["persistentVolumeClaim"]["claimName"] for one in volumes.values() if "persistentVolumeClaim" in one}
    assert made <= claims
    assert not find_kinds(documents, "Secret")


def test_pods_have_the_memory_and_the_time_that_they_may_need(documents: list[Json]) -> None:
    [container] = pod_of(documents)["containers"]
    settings = settings_of(container)
    limits = container["resources"]["limits"]
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])

    assert needed_bytes(settings, int(limits["cpu"])) <= int(limits["memory"].removesuffix("Mi")) * 2**20
    assert pod_of(documents)["terminationGracePeriodSeconds"] >= settings.stop_timeout_ms / 1_000 + 10 + pause


def test_services_budgets_and_policies_select_the_pods(documents: list[Json]) -> None:
    deployment = find_kind(documents, "Deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"].items()
    selectors = [deployment["selector"]["matchLabels"]]
    selectors += [service["spec"]["selector"] for service in find_kinds(documents, "Service")]
    selectors += [budget["spec"]["selector"]["matchLabels"] for budget in find_kinds(documents, "PodDisruptionBudget")]
    selectors += [policy["spec"]["podSelector"]["matchLabels"] for policy in find_kinds(documents, "NetworkPolicy")]
    spread = pod_of(documents)["topologySpreadConstraints"]
    selectors += [constraint["labelSelector"]["matchLabels"] for constraint in spread]

    assert all(selector.items() <= labels for selector in selectors)
    assert len(find_kinds(documents, "PodDisruptionBudget")) == (deployment["replicas"] > 1)
    assert deployment["strategy"]["type"] == ("RollingUpdate" if deployment["replicas"] > 1 else "Recreate")


@pytest.fixture
def monitored(helm: Helm) -> list[Json]:
    return helm.template("--values", FOLDER_OF_CHART / "ci/monitoring-values.yaml")


def test_prometheus_reads_the_admin_port_as_the_job_of_the_rules(monitored: list[Json]) -> None:
    monitor = find_kind(monitored, "ServiceMonitor")["spec"]
    [endpoint] = monitor["endpoints"]
    selected = monitor["selector"]["matchLabels"].items()
    [service] = [one for one in find_kinds(monitored, "Service") if selected <= one["metadata"]["labels"].items()]
    jobs = re.findall(r'job="(\w+)"', (ROOT / "deploy/prometheus/alerts.yml").read_text())

    assert [port["name"] for port in service["spec"]["ports"]] == [endpoint["port"]] == ["admin"]
    assert endpoint["authorization"]["credentials"] == {"name": "magistrate-metrics", "key": "key"}
    assert {rule["replacement"] for rule in endpoint["relabelings"] if rule["targetLabel"] == "job"} == {*jobs}


def test_rules_and_dashboards_are_those_of_the_repository(monitored: list[Json]) -> None:
    rule = find_kind(monitored, "PrometheusRule")
    dashboards = {name: text for one in find_kinds(monitored, "ConfigMap") for name, text in one["data"].items()}

    assert rule["spec"] == yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())
    assert {name: yaml.safe_load(text) for name, text in dashboards.items()} == {
        path.name: yaml.safe_load(path.read_text()) for path in (ROOT / "deploy/grafana").glob("*.json")
    }
    assert all(one["metadata"]["labels"]["grafana_dashboard"] == "1" for one in find_kinds(monitored, "ConfigMap"))


@pytest.mark.parametrize(
    ("option", "message"),
    [("replicas=2", "postgresql"), ("replica=2", "additional"), ("settings.api_key=key", "additional")],
)
def test_helm_refuses_what_the_schema_refuses(helm: Helm, option: str, message: str) -> None:
    ran = helm.run("template", FOLDER_OF_CHART, "--kube-version", NEWEST, "--set", option)

    assert ran.returncode != 0
    assert message in ran.stderr.lower()


def test_the_commands_of_a_pod_work(helm: Helm, postgres: PostgresServer, tmp_path: Path) -> None:
    """As in a pod, but with a database and ports of the test, and files in its folder."""
    pod = pod_of(helm.template("--values", FOLDER_OF_CHART / "ci/migrating-values.yaml"))
    [migrate], [serve] = pod["initContainers"], pod["containers"]
    url, ports = postgres.new_url(), {name: str(free_port()) for name in ("http", "admin")}
    secrets = {"cluster-magistrate-owner": url, "cluster-magistrate-app": url}
    (tmp_path / "keys").write_text(f"{KEY}\n")
    (tmp_path / "keys").chmod(0o440)
    given = {"MAGISTRATE_PORT": ports["http"], "MAGISTRATE_ADMIN_PORT": ports["admin"], "TMPDIR": str(tmp_path)}
    given |= {"MAGISTRATE_API_KEY_FILE": str(tmp_path / "keys"), "MAGISTRATE_HOST": "127.0.0.1"}

    def start(container: Json, **variables: str) -> Any:
        environment = {**os.environ, **environment_of(container, **secrets), **variables}
        command = [sys.executable, "-m", "magistrate", *container["args"]]
        return start_process(command, folder=tmp_path, environment=environment)

    refused = start(serve, **given)
    assert "run `magistrate migrate`" in refused.communicate(timeout=60)[1]
    assert start(migrate).communicate(timeout=60)[0].startswith("Applied 0001_tables\n")
    assert len(dump(url)["migration"]) == len(migrations())

    process = start(serve, **given)
    try:
        assert process.stdout.readline().startswith("Magistrate listens on ")
        with httpx.Client(trust_env=False, timeout=30) as client:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                asked = serve[probe]["httpGet"]
                answer = client.get(f"http://127.0.0.1:{ports[asked['port']]}{asked['path']}")
                assert answer.status_code == 200
    finally:
        process.terminate()
        _, logged = process.communicate(timeout=60)
    assert logged == ""
