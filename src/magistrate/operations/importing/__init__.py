"""Imports lines, from a file or from a source server, and verifies a migration by comparing both sides."""
