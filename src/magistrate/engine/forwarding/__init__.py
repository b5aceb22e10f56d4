"""Matches the requests of gateways with the checks that decide them (docs/gateways.md)."""
