"""Implements the `magistrate` command with the client of the HTTP API."""
