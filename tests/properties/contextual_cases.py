"""Models and warrants from practice that tests of contextual warrants share."""

from tests.properties.models import Types

LIFELIKE: Types = {
    "user": {},
    "group": {"member": {}, "guest": {}},
    "folder": {
        "parent": {},
        "owner": {},
        "viewer": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "owner"}, {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}],
        },
    },
    "document": {
        "parent": {},
        "owner": {},
        "blocked": {},
        "viewer": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "owner"}, {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}],
        },
        "reader": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "viewer"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}
"""Groups, folders and an exclusion: most checks of it end in the graph."""

SHAPES = (
    ("group", "member", "user", ""),
    ("group", "member", "group", "member"),
    ("folder", "parent", "folder", ""),
    ("folder", "owner", "group", "member"),
    ("folder", "viewer", "user", ""),
    ("document", "parent", "folder", ""),
    ("document", "owner", "user", ""),
    ("document", "viewer", "user", ""),
    ("document", "viewer", "group", "member"),
    ("document", "blocked", "user", ""),
    ("document", "blocked", "group", "member"),
)
"""Object type, relation, subject type and subject relation of the warrants there are."""
