"""Renders the page at /docs: the OpenAPI document as one piece of HTML, which needs no script.

With the console, the page names a script that replaces it by one that can be searched and tried; see
docs/decisions/0068-the-api-reference-is-our-own-renderer.md."""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; border-top: 1px solid #d0d7de; padding-top: 1rem; font-size: 1.1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { background: #f6f8fa; padding: 0.8rem; overflow-x: auto; border-radius: 6px; }
table { border-collapse: collapse; width: 100%; } td { padding: 0.25rem 0.8rem 0.25rem 0; vertical-align: top; }
.method { display: inline-block; min-width: 4.5rem; color: #0550ae; }
nav a { display: block; text-decoration: none; color: inherit; } nav a:hover { text-decoration: underline; }
@media (prefers-color-scheme: dark) {
  body { background: #0d1117; color: #e6edf3; } pre { background: #161b22; } h2 { border-color: #30363d; }
  .method { color: #79c0ff; }
}
@media (scripting: enabled) {
  .replaced { animation: appear 0s 2s both; }
  @keyframes appear { from { visibility: hidden; } }
}
"""
"""Where scripts run, the page is shown after two seconds, unless it is replaced before."""

_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_HASHED_STYLE = f"style-src 'sha256-{_STYLE_HASH}'"
PLAIN_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; {_HASHED_STYLE}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Forbids browsers to load anything for the page, to run anything in it, and to show it in a frame."""
_ENHANCED = (
    '<link rel="icon" href="console/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="docs/reference.css">'
    '<script type="module" src="docs/reference.js"></script>'
)


def allow_own_style(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers of the console for this page: they also allow the style that is in it."""
    policy = headers["Content-Security-Policy"].replace("style-src 'self'", f"{_HASHED_STYLE} 'self'")
    return {**headers, "Content-Security-Policy": policy}


def page(document: dict[str, Any], has_script: bool) -> str:
    """Returns a complete HTML page; every text of the document is escaped. `has_script` says whether a browser is to
    load the script that replaces it."""
    info = document["info"]
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style>{_ENHANCED if has_script else ''}</head>"
        f'<body><div id="console"></div><div id="plain" class="{"replaced" if has_script else "kept"}">'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])}</p>"
        "<p>Every request carries <code>Authorization: ApiKey &lt;key&gt;</code>, a key that has the scope of the "
        "request; a check may carry <code>Authorization: Bearer &lt;token&gt;</code> instead. "
        'The same description for machines: <a href="openapi.json">openapi.json</a>.</p>'
        f"<nav>{''.join(_link(*operation) for operation in operations)}</nav>"
        f"{''.join(_section(*operation) for operation in operations)}"
        "<h2>Schemas</h2>"
        f"{''.join(_schema(name, schema) for name, schema in document['components']['schemas'].items())}"
        "</div></body></html>\n"
    )


def _link(method: str, path: str, operation: dict[str, Any]) -> str:
    name = f'<span class="method">{method}</span> {escape(path)}'
    return f'<a href="#{escape(operation["operationId"])}"><code>{name}</code></a>'


def _section(method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = "".join(
        f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{escape(parameter['in'])}</td>"
        f"<td>{escape(parameter.get('description', ''))}</td></tr>"
        for parameter in operation["parameters"]
    )
    answers = "".join(
        f"<tr><td><code>{status}</code></td><td>{escape(answer['description'])}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    body = operation.get("requestBody")
    schema = f"<p>Body:</p>{_body(body['content'])}" if body else ""
    return (
        f'<h2 id="{escape(operation["operationId"])}"><code><span class="method">{method}</span> '
        f"{escape(path)}</code></h2>"
        f"<p>{escape(operation['summary'])}. {escape(operation['description'])}</p>"
        f"{f'<table>{parameters}</table>' if parameters else ''}{schema}<p>Answers:</p><table>{answers}</table>"
    )


def _body(content: Mapping[str, Any]) -> str:
    """Renders the schema of a body in JSON, or the media types of one that is a file."""
    if "application/json" in content:
        return _json(content["application/json"]["schema"])
    return "".join(f"<p><code>{escape(media_type)}</code></p>" for media_type in content)


def _schema(name: str, schema: dict[str, Any]) -> str:
    return f'<h3 id="{escape(name)}">{escape(name)}</h3>{_json(schema)}'


def _json(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"
