"""Compares the access of two states: which subjects have which relations on which objects in only one."""
