"""Implements `magistrate mcp`: a server of the Model Context Protocol, through which agents use a service."""
