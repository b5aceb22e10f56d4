"""Implements the commands that read access: checks and their explanations, queries, differences and events."""
