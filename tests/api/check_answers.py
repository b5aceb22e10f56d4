"""Answers to checks that tests of several modules expect, and requests of which the fast path answers all."""

ALLOWED = {"code": 200, "result": "Authorized", "isImplicit": False}
DENIED = {"code": 403, "result": "Not Authorized", "isImplicit": False}
