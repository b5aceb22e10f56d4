"""Decides checks and queries as pure values and functions: no clock, socket, thread, SQL or coroutine."""
