"""Magistrate: a self-hosted fine-grained authorization service."""

__version__ = "0.1.0"
