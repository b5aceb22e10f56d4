"""Serves the AuthZEN Authorization API 1.0 as a view of checks and queries."""
