"""Speaks the AuthZEN Authorization API 1.0: views of checks and queries, listed in a table of routes."""
