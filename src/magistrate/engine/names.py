"""Defines the types of validated names; terms.py has the functions that validate them.

They have a module of their own because the rule operators need the names, and the names of relations depend on the
operators: a relation cannot be called like one.
"""

from typing import NewType

TypeName = NewType("TypeName", str)
RelationName = NewType("RelationName", str)
ObjectId = NewType("ObjectId", str)
Revision = NewType("Revision", int)
