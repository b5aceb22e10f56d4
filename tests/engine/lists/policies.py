"""Policies for queries that read none."""


def always() -> bool:
    return True
