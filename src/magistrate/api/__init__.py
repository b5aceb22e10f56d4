"""Serves the HTTP API: one table of routes, and what every request goes through.

`routes.py` is the table from which the router (`app.py`), the OpenAPI document (`openapi.py`) and the page at `/docs`
(`reference.py`) are generated. `parse.py` reads bodies and parameters with the decoders of `json_decoders.py`,
`paths.py` ids in paths, `freshness.py` the consistency tokens, `used_types.py` says which object types a request uses,
`auditing.py` what the audit log has of it, `admission.py` bounds how many requests run and wait, and `deadline.py`
gives each one deadline; `error_table.py` alone knows status codes, `error_answers.py` makes answers of errors, and
`early_answers.py` those that are given without the framework, `strangers.py` refuses requests without a valid key.
`finish.py` completes every answer. `page_responders.py` serves the pages beside the API, those of `console.py`
included. The bodies and handlers are in `endpoints/` and `v1/`, the identification of callers in `auth/`, and
connections and processes in `server/`.
"""
