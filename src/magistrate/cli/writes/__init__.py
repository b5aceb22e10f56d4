"""Implements the commands that write warrants and objects."""
