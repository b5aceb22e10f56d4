"""Magistrate: a self-hosted fine-grained authorization service."""

__version__ = "1.0.0"
