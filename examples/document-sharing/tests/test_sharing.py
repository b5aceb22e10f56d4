"""Who gets to see and change what, by being shared with, by folders, by groups, and until blocked."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from conftest import KEY, Person


def test_a_new_document_is_its_creators_alone(ann: Person, bob: Person) -> None:
    document = ann.creates("documents", title="Roadmap", text="Fly.")

    assert ann.get(f"/documents/{document}").json() == {"id": document, "title": "Roadmap", "text": "Fly."}
    assert not bob.may_read(document)


def test_a_viewer_reads_an_editor_edits_and_an_owner_shares(ann: Person, bob: Person) -> None:
    document = ann.creates("documents")
    edit = {"title": "Plan", "text": "Walk."}
    able = []

    for role in ("viewer", "editor", "owner"):
        ann.does("PUT", f"/documents/{document}/{role}/user:{bob.name}")
        read, edited = bob.get(f"/documents/{document}"), bob.put(f"/documents/{document}", json=edit)
        able.append((read.status_code, edited.status_code, bob.get(f"/documents/{document}/readers").status_code))

    assert able == [(200, 403, 403), (200, 200, 403), (200, 200, 200)]
    assert ann.get(f"/documents/{document}").json()["text"] == "Walk."


def test_what_is_shared_until_a_time_is_shared_until_then_and_sharing_again_sets_another(
    ann: Person, bob: Person
) -> None:
    document = ann.creates("documents")
    shared = f"/documents/{document}/viewer/user:{bob.name}"

    refused = [ann.put(shared, params={"until": end}).status_code for end in ("2001-01-01T00:00:00Z", "soon")]
    end = datetime.now(UTC) + timedelta(seconds=3)
    ann.put(shared, params={"until": end.isoformat()}).raise_for_status()
    while datetime.now(UTC) < end + timedelta(seconds=0.1):
        time.sleep(0.1)
    ended = bob.may_read(document)
    ann.put(shared, params={"until": "2999-01-01T00:00:00Z"}).raise_for_status()

    assert refused == [422, 422]
    assert (ended, bob.may_read(document)) == (False, True)


def test_moves_that_meet_leave_the_document_in_one_folder(ann: Person) -> None:
    folders = [ann.creates("folders") for _ in range(4)]
    document = ann.creates("documents", folder=folders[0])

    with ThreadPoolExecutor(3) as threads:
        statuses = list(threads.map(lambda folder: ann.put(f"/documents/{document}/folder/{folder}"), folders[1:]))

    assert {answer.status_code for answer in statuses} <= {204, 409}
    assert sum(document in ann.lists(f"/folders/{folder}/documents") for folder in folders) == 1


def test_what_is_unshared_is_gone_at_once_and_unsharing_again_is_no_error(ann: Person, bob: Person) -> None:
    document = ann.creates("documents")
    ann.does("PUT", f"/documents/{document}/viewer/user:{bob.name}")
    before = bob.may_read(document)

    ann.does("DELETE", f"/documents/{document}/viewer/user:{bob.name}")
    ann.does("DELETE", f"/documents/{document}/viewer/user:{bob.name}")

    assert (before, bob.may_read(document)) == (True, False)


def test_whoever_edits_a_folder_edits_what_is_in_it_and_below(ann: Person, bob: Person) -> None:
    outer = ann.creates("folders")
    inner = ann.creates("folders", folder=outer)
    document = ann.creates("documents", folder=inner)

    ann.does("PUT", f"/folders/{outer}/editor/user:{bob.name}")

    assert bob.put(f"/documents/{document}", json={"title": "By Bob"}).status_code == 200
    assert set(bob.lists("/folders")) == {outer, inner}
    assert bob.lists(f"/folders/{inner}/documents") == [document]


def test_a_document_that_moves_is_read_by_those_of_its_new_folder_only(ann: Person, bob: Person, kim: Person) -> None:
    old, new = ann.creates("folders"), ann.creates("folders")
    ann.does("PUT", f"/folders/{old}/viewer/user:{bob.name}")
    ann.does("PUT", f"/folders/{new}/viewer/user:{kim.name}")
    document = ann.creates("documents", folder=old)
    before = (bob.may_read(document), kim.may_read(document))

    ann.does("PUT", f"/documents/{document}/folder/{new}")
    ann.does("PUT", f"/documents/{document}/folder/{new}")

    assert before == (True, False)
    assert (bob.may_read(document), kim.may_read(document)) == (False, True)


def test_a_group_gives_to_its_members_and_to_those_of_groups_in_it(ann: Person, bob: Person, kim: Person) -> None:
    team, guests = ann.creates("groups"), ann.creates("groups")
    ann.does("PUT", f"/groups/{team}/member/user:{bob.name}")
    ann.does("PUT", f"/groups/{team}/member/group:{guests}")
    ann.does("PUT", f"/groups/{guests}/member/user:{kim.name}")
    document = ann.creates("documents")

    ann.does("PUT", f"/documents/{document}/viewer/group:{team}")
    joined = (bob.may_read(document), kim.may_read(document))
    ann.does("DELETE", f"/groups/{guests}/member/user:{kim.name}")

    assert joined == (True, True)
    assert (bob.may_read(document), kim.may_read(document)) == (True, False)
    assert (bob.lists("/groups"), kim.lists("/groups")) == ([team], [])


def test_a_group_is_shared_with_by_those_only_who_are_in_it(ann: Person, bob: Person) -> None:
    group, document = ann.creates("groups"), bob.creates("documents")

    answer = bob.put(f"/documents/{document}/viewer/group:{group}")

    assert answer.status_code == 404


def test_a_public_document_is_read_without_a_login_until_it_is_not_public(ann: Person, visitor: Person) -> None:
    document = ann.creates("documents")
    before = visitor.may_read(document)

    ann.does("PUT", f"/documents/{document}/viewer/everyone")
    public = visitor.may_read(document)
    ann.does("DELETE", f"/documents/{document}/viewer/everyone")

    assert (before, public, visitor.may_read(document)) == (False, True, False)


def test_who_is_blocked_sees_nothing_whatever_else_they_were_given(ann: Person, bob: Person) -> None:
    folder = ann.creates("folders")
    document = ann.creates("documents", folder=folder)
    for way in (f"/folders/{folder}/editor/user:{bob.name}", f"/documents/{document}/viewer/everyone"):
        ann.does("PUT", way)

    ann.does("PUT", f"/documents/{document}/blocked/user:{bob.name}")
    blocked = (bob.may_read(document), document in bob.lists("/documents"), bob.lists(f"/folders/{folder}/documents"))
    ann.does("DELETE", f"/documents/{document}/blocked/user:{bob.name}")

    assert blocked == (False, False, [])
    assert bob.put(f"/documents/{document}", json={"title": "Back"}).status_code == 200


def test_an_owner_cannot_be_locked_out(ann: Person, bob: Person) -> None:
    document = ann.creates("documents")
    ann.does("PUT", f"/documents/{document}/owner/user:{bob.name}")

    bob.does("PUT", f"/documents/{document}/blocked/user:{ann.name}")
    given_up = ann.delete(f"/documents/{document}/owner/user:{ann.name}")

    assert ann.may_read(document)
    assert given_up.status_code == 409


def test_a_deleted_item_is_gone_with_all_it_gave(ann: Person, bob: Person) -> None:
    folder, group = ann.creates("folders"), ann.creates("groups")
    ann.does("PUT", f"/groups/{group}/member/user:{bob.name}")
    ann.does("PUT", f"/folders/{folder}/viewer/group:{group}")
    document = ann.creates("documents", folder=folder)
    before = bob.may_read(document)

    ann.does("DELETE", f"/groups/{group}")

    assert (before, bob.may_read(document)) == (True, False)
    ann.does("DELETE", f"/folders/{folder}")
    assert ann.may_read(document), "what was in a folder stays with its owner"
    ann.does("DELETE", f"/documents/{document}")
    assert document not in ann.lists("/documents")
    assert ann.lists("/folders") == ann.lists("/groups") == []


def test_readers_are_named_and_everyone_is_told_apart(ann: Person, bob: Person, kim: Person) -> None:
    group, document = ann.creates("groups"), ann.creates("documents")
    ann.does("PUT", f"/groups/{group}/member/user:{bob.name}")
    ann.does("PUT", f"/documents/{document}/viewer/group:{group}")

    shared = ann.get(f"/documents/{document}/readers").json()
    ann.does("PUT", f"/documents/{document}/viewer/everyone")
    public = ann.get(f"/documents/{document}/readers").json()

    assert shared == {"users": [ann.name, bob.name], "everyone": False}
    assert public["everyone"]
    assert {ann.name, bob.name, kim.name} <= set(public["users"]), "whoever logged in once is known by name"


def test_what_is_listed_is_what_can_be_read(ann: Person, bob: Person, kim: Person) -> None:
    folder, group = ann.creates("folders"), ann.creates("groups")
    documents = [ann.creates("documents", **({"folder": folder} if nth % 2 else {})) for nth in range(6)]
    ann.does("PUT", f"/groups/{group}/member/user:{kim.name}")
    for way in (
        f"/folders/{folder}/viewer/user:{bob.name}",
        f"/documents/{documents[0]}/editor/group:{group}",
        f"/documents/{documents[1]}/blocked/user:{bob.name}",
        f"/documents/{documents[2]}/viewer/everyone",
        f"/documents/{documents[2]}/blocked/group:{group}",
        f"/documents/{documents[3]}/viewer/user:{kim.name}",
    ):
        ann.does("PUT", way)

    for somebody, count in ((ann, 6), (bob, 3), (kim, 2)):
        listed = set(somebody.lists("/documents")) & set(documents)
        assert listed == {document for document in documents if somebody.may_read(document)}
        assert len(listed) == count


def test_readers_are_found_on_all_pages(ann: Person, magistrate: str) -> None:
    document = ann.creates("documents")
    for start in range(0, 1100, 100):
        subjects = [{"objectType": "user", "objectId": f"reader-{nth}"} for nth in range(start, start + 100)]
        granted = [
            {"objectType": "document", "objectId": document, "relation": "viewer", "subject": subject}
            for subject in subjects
        ]
        key = {"Authorization": f"ApiKey {KEY}"}
        ann.post(f"{magistrate}/v2/warrants", json=granted, headers=key).raise_for_status()

    found = ann.get(f"/documents/{document}/readers").json()["users"]

    assert len(found) == len(set(found)) == 1101


def test_the_browser_asks_magistrate_itself_for_its_user_alone(ann: Person, bob: Person, magistrate: str) -> None:
    mine, his = ann.creates("documents"), bob.creates("documents")

    token = ann.post("/me/session").raise_for_status().json()["token"]

    for document, code in ((mine, 200), (his, 403)):
        answer = ann.post(
            f"{magistrate}/v2/check",
            headers={"Authorization": f"Bearer {token}"},
            json={"warrants": [{"objectType": "document", "objectId": document, "relation": "can-read"}]},
        )
        assert answer.json()["code"] == code
