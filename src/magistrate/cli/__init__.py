"""Implements the `magistrate` command with the client of the HTTP API.

Commands that talk to a service import neither server nor store; those that run or migrate one start from the
package `wiring`.
"""
