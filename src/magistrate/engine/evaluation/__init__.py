"""Decides checks from warrants, level by level, without recursion (docs/compatibility.md"""
