"""Writes the audit log: lines in one of two formats, linked by hashes, for all processes of a service together."""
