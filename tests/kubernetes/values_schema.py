"""The schema of the values of the Helm chart: closed, and with the settings, their types and bounds of the table."""

import json
from typing import Any

from magistrate.config.settings import CHOICES
from magistrate.config.settings_table import SETTINGS, Setting

Schema = dict[str, Any]

OF_OTHER_VALUES = {
    "host",
    "port",
    "admin_port",
    "database_url",
    "migrate",
    "api_key",
    "api_key_file",
    "secret_key_file",
    "tls_cert",
    "tls_key",
    "tls_client_ca",
}
"""The settings that the chart derives from other values."""

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "object", "additionalProperties": TEXT}
"""Labels, annotations and the like."""
KUBERNETES: Schema = {"type": "object"}
"""What Kubernetes validates."""
KUBERNETES_LIST: Schema = {"type": "array", "items": KUBERNETES}


def closed(**properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def number(minimum: int, maximum: int | None = None) -> Schema:
    return {"type": "integer", "minimum": minimum} | ({} if maximum is None else {"maximum": maximum})


def choice(*values: str) -> Schema:
    return {"enum": [*values]}


SECRET = closed(name=TEXT, key={"type": "string", "minLength": 1})


def setting(of: Setting) -> Schema:
    described = {"description": of.meaning}
    if of.name in CHOICES:
        return described | choice(*CHOICES[of.name])
    if of.is_boolean:
        return described | ({"enum": [True, False, *of.further_values]} if of.further_values else FLAG)
    if isinstance(of.default, str):
        return described | {"type": "string", "minLength": 1}
    kind = {int: "integer", float: "number"}[type(of.default)]
    return described | number(of.minimum, of.maximum) | {"type": kind}


def demand(*path: str) -> Schema:
    """The schema of values in which the text at this path is not empty."""
    schema: Schema = {"minLength": 1}
    for name in reversed(path):
        schema = {"properties": {name: schema}}
    return schema


def when(path: tuple[str, ...], condition: Schema, then: Schema) -> Schema:
    for name in reversed(path):
        condition = {"properties": {name: condition}}
    return {"if": condition, "then": then}


def values_schema() -> str:
    values = closed(
        replicas=number(0),
        image=closed(
            repository={"type": "string", "minLength": 1},
            tag=TEXT,
            digest={"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
            pullPolicy=choice("Always", "IfNotPresent", "Never"),
        ),
        imagePullSecrets=KUBERNETES_LIST,
        settings=closed(**{of.name: setting(of) for of in SETTINGS if of.name not in OF_OTHER_VALUES}),
        database=closed(
            type=choice("sqlite", "postgresql"),
            secret=SECRET,
            persistence=closed(existingClaim=TEXT, size=TEXT, storageClassName=TEXT, annotations=TEXTS),
        ),
        migrations=closed(mode=choice("start", "init", "never"), secret=SECRET),
        apiKeys=closed(secret=SECRET),
        secretKey=closed(secret=SECRET),
        tls=closed(secret=closed(name=TEXT), clientCaKey=TEXT),
        host={"type": "string", "minLength": 1},
        service=closed(type=choice("ClusterIP", "NodePort", "LoadBalancer"), port=number(1, 65_535), annotations=TEXTS),
        resources=KUBERNETES,
        terminationGracePeriodSeconds=number(1),
        pauseBeforeStopSeconds=number(0, 60),
        podDisruptionBudget=closed(
            enabled=FLAG, maxUnavailable={"anyOf": [number(0), {"type": "string", "pattern": "^[0-9]+%$"}]}
        ),
        topologySpread=closed(
            enabled=FLAG,
            whenUnsatisfiable=choice("ScheduleAnyway", "DoNotSchedule"),
            topologyKeys={"type": "array", "items": TEXT},
        ),
        monitoring=closed(
            keySecret=SECRET,
            serviceMonitor=closed(
                enabled=FLAG, interval={"type": "string", "pattern": "^[0-9]+(ms|s|m)$"}, labels=TEXTS
            ),
            prometheusRule=closed(enabled=FLAG, labels=TEXTS),
            dashboards=closed(enabled=FLAG, labels=TEXTS, annotations=TEXTS),
        ),
        networkPolicy=closed(enabled=FLAG, **dict.fromkeys(("from", "adminFrom", "egress"), KUBERNETES_LIST)),
        serviceAccount=closed(create=FLAG, name=TEXT, annotations=TEXTS),
        nameOverride=TEXT,
        fullnameOverride=TEXT,
        podLabels=TEXTS,
        podAnnotations=TEXTS,
        nodeSelector=TEXTS,
        tolerations=KUBERNETES_LIST,
        affinity=KUBERNETES,
        priorityClassName=TEXT,
        extraEnv=KUBERNETES_LIST,
        extraVolumes=KUBERNETES_LIST,
        extraVolumeMounts=KUBERNETES_LIST,
    )
    values["properties"]["global"] = KUBERNETES  # Helm adds it where the chart is a part of another
    is_true = {"const": True}
    postgresql = {"properties": {"database": {"properties": {"type": {"const": "postgresql"}}}}}
    rules = [
        when(("replicas",), {"minimum": 2}, postgresql),
        when(("database", "type"), {"const": "postgresql"}, demand("database", "secret", "name")),
        when(("monitoring", "serviceMonitor", "enabled"), is_true, demand("monitoring", "keySecret", "name")),
        when(("tls", "clientCaKey"), {"minLength": 1}, demand("tls", "secret", "name")),
    ]
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **values, "allOf": rules}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
