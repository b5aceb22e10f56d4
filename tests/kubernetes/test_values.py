"""The values of the chart: closed, with the bounds of the settings, and refused if they do not go together."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

import magistrate
from magistrate.config.settings_table import SETTINGS
from tests.generated_docs import ROOT
from tests.kubernetes.helm import FOLDER_OF_CHART, VALUES
from tests.kubernetes.values_schema import OF_OTHER_VALUES

Json = dict[str, Any]

DEFAULTS: Json = yaml.safe_load((FOLDER_OF_CHART / "values.yaml").read_text())
SCHEMA = jsonschema_rs.validator_for(json.loads((FOLDER_OF_CHART / "values.schema.json").read_text()))
OPEN = {
    *("imagePullSecrets", "resources", "podLabels", "podAnnotations", "nodeSelector", "tolerations", "affinity"),
    *("extraEnv", "extraVolumes", "extraVolumeMounts", "from", "adminFrom", "egress", "labels", "annotations"),
}
"""What Kubernetes has to understand, and not the chart."""


def merge(values: Json, over: Json) -> Json:
    """The values as Helm merges them."""
    merged = copy.deepcopy(values)
    for name, value in over.items():
        is_merged = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = merge(merged[name], value) if is_merged else value
    return merged


def find_closed(values: Json, *path: str) -> Iterator[tuple[str, ...]]:
    """The places of all objects that are closed."""
    yield path
    for name, value in values.items():
        if isinstance(value, dict) and name not in OPEN:
            yield from find_closed(value, *path, name)


def place(path: tuple[str, ...], value: object) -> Json:
    for name in reversed(path):
        value = {name: value}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("file", VALUES, ids=lambda file: file.name)
def test_the_files_of_values_are_accepted(file: Path) -> None:
    SCHEMA.validate(merge(DEFAULTS, yaml.safe_load(file.read_text())))


@pytest.mark.parametrize("path", [*find_closed(DEFAULTS)], ids=".".join)
def test_a_member_that_does_not_exist_is_refused(path: tuple[str, ...]) -> None:
    assert not SCHEMA.is_valid(merge(DEFAULTS, place(path, {"replica": 1})))


def test_the_values_of_the_document_are_accepted() -> None:
    section = (ROOT / "docs/installing.md").read_text().partition("\n## Kubernetes\n")[2].partition("\n## ")[0]
    [values] = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)

    SCHEMA.validate(merge(DEFAULTS, yaml.safe_load(values)))
    assert "was never installed on a cluster" in section


def test_every_value_has_a_default_and_every_setting_a_place() -> None:
    schema = json.loads((FOLDER_OF_CHART / "values.schema.json").read_text())["properties"]

    for path in find_closed(DEFAULTS):
        values, described = DEFAULTS, {"properties": schema}
        for name in path:
            values, described = values[name], described["properties"][name]
        if path != ("settings",):
            assert {*values} == {*described["properties"]} - {"global"}, path
    assert {*schema["settings"]["properties"]} == {setting.name for setting in SETTINGS} - OF_OTHER_VALUES


POSTGRESQL = {"database": {"type": "postgresql", "secret": {"name": "database"}}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replicas": 2}, '"postgresql" was expected'),
        ({"database": {"type": "postgresql"}}, "shorter than 1"),
        ({"database": {"type": "mysql"}}, "is not one of"),
        ({"tls": {"clientCaKey": "ca.crt"}}, "shorter than 1"),
        ({"monitoring": {"serviceMonitor": {"enabled": True}}}, "shorter than 1"),
        ({"migrations": {"mode": "job"}}, "is not one of"),
        ({"image": {"digest": "sha256:0"}}, "does not match"),
        ({"settings": {"cache_bytes": -1}}, "less than the minimum"),
        ({"settings": {"cache_bytes": "1 GB"}}, "is not of type"),
        ({"settings": {"audit_format": "xml"}}, "is not one of"),
        ({"settings": {"api_key": "a-key-in-the-values"}}, "'api_key' was unexpected"),
        ({"podDisruptionBudget": {"maxUnavailable": "half"}}, "is not valid under any"),
    ],
)
def test_values_that_cannot_work_are_refused(values: Json, message: str) -> None:
    with pytest.raises(jsonschema_rs.ValidationError, match=message):
        SCHEMA.validate(merge(DEFAULTS, values))


def test_several_replicas_are_accepted_with_postgresql() -> None:
    SCHEMA.validate(merge(DEFAULTS, {"replicas": 2, **POSTGRESQL}))


def test_the_chart_has_the_version_of_the_package_and_neither_hooks_nor_charts_in_it() -> None:
    chart = yaml.safe_load((FOLDER_OF_CHART / "Chart.yaml").read_text())

    assert chart["version"] == chart["appVersion"] == magistrate.__version__
    assert "dependencies" not in chart
    assert not (FOLDER_OF_CHART / "charts").exists()
    assert not [path for path in FOLDER_OF_CHART.glob("templates/*") if "helm.sh/hook" in path.read_text()]
