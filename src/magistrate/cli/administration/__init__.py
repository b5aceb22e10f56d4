"""Implements the commands of operators: keys, sessions, audit logs, the diagnosis of a service, and the playground."""
