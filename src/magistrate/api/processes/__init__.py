"""Runs the processes of the service, and accepts the connections that they answer."""
