"""Serves the HTTP API: one table of routes, and the way of a request from the connection to its answer."""
