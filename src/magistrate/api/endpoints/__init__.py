"""Defines the bodies and the handlers of the endpoints, which validate, call an operation, and render its result."""
