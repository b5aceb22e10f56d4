"""Decides checks from warrants, level by level and without recursion, within a budget."""
