"""Implements the commands that define, show, plan and test models, object types and policies."""
