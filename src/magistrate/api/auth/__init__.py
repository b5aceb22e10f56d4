"""Identifies callers, by API key or by bearer token."""
