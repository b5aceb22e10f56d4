"""A model with its tuples: files in folders, teams in teams, wildcards and exclusions."""

from tests.openfga.conversation import arrow, but_not, computed, define, intersection, model, this, union

TUPLES = (
    "team:core member user:ann",
    "team:all member team:core#member",
    "folder:x viewer team:all#member",
    "file:a folder folder:x",
    "file:a owner user:bob",
    "file:a blocked user:ann",
    "file:b viewer user:*",
    "file:b signer user:cleo",
    "file:a viewer Robot:Ü*",
)


FROM_FOLDER = arrow("viewer", "folder")
TYPES = model(
    define("user"),
    define("Robot"),
    define("team", member=(this(), ["user", "user:*", "team#member"])),
    define("folder", viewer=(this(), ["user", "team#member"])),
    define(
        "file",
        folder=(this(), ["folder"]),
        owner=(this(), ["user"]),
        blocked=(this(), ["user", "team#member"]),
        viewer=(union(this(), computed("owner"), FROM_FOLDER), ["user", "user:*", "team#member", "Robot"]),
        reader=(but_not(computed("viewer"), computed("blocked")), []),
        signer=(intersection(this(), computed("reader")), ["user"]),
    ),
)
