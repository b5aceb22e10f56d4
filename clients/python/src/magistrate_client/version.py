"""Holds the version, which is that of the service that this client was released with."""

__version__ = "1.0.0"
