"""Serves the HTTP API: one table of routes, and all that a request goes through."""
