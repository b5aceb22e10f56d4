"""Defines object types and their rules, and compiles them into plans: what a check has to read."""
