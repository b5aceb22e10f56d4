"""Defines warrants, their text form, and the port through which the engine reads them, many in a batch."""
