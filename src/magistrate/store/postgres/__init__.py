"""Runs scripts and reads on PostgreSQL."""
