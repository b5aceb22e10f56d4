"""The query language: what can be written, and which texts are refused, with what words."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.engine.id_characters import DOTS_MESSAGE
from magistrate.engine.lists.language import (
    FAULTS,
    MAX_QUERY_LENGTH,
    ObjectCondition,
    ObjectsQuery,
    Query,
    SubjectsQuery,
    read_query,
    render_query,
)
from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.terms import KEYWORDS, object_ref
from magistrate.errors import InvalidParameter
from tests.ids import id_message

DOCUMENT = (Path(__file__).parents[3] / "docs" / "query-language.md").read_text()

NAME_WORDS = "can only contain lower-case alphanumeric characters and/or '-' and '_'"

QUOTE = '"'


def id_template(character: str, position: int) -> str:
    return id_message(character, position).replace("{", "{{").replace("}", "}}")


def objects(
    subject: tuple[str, str], types: list[str] | None, relations: list[str] | None, is_explicit: bool = False
) -> ObjectsQuery:
    return ObjectsQuery(object_ref(*subject), relation_names(relations), type_names(types), is_explicit)


def subjects(
    obj: tuple[str, str], relations: list[str] | None, types: list[str] | None, is_explicit: bool = False
) -> SubjectsQuery:
    return SubjectsQuery(object_ref(*obj), relation_names(relations), type_names(types), is_explicit)


def meeting(query: ObjectsQuery, *further: ObjectCondition) -> ObjectsQuery:
    return replace(query, further=further)


def condition(subject: tuple[str, str], relations: list[str] | None, is_negated: bool = False) -> ObjectCondition:
    return ObjectCondition(object_ref(*subject), relation_names(relations), is_negated)


def type_names(names: list[str] | None) -> tuple[TypeName, ...] | None:
    return None if names is None else tuple(map(TypeName, names))


def relation_names(names: list[str] | None) -> tuple[RelationName, ...] | None:
    return None if names is None else tuple(map(RelationName, names))


def refusal(text: str) -> str:
    with pytest.raises(InvalidParameter) as caught:
        read_query(text)
    assert type(caught.value) is InvalidParameter
    assert caught.value.parameter == "q"
    return caught.value.message


D = ("document", "plan")
U = ("user", "ann")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("select document where user:ann is viewer", objects(U, ["document"], ["viewer"])),
        ("select explicit document where user:ann is viewer", objects(U, ["document"], ["viewer"], True)),
        (
            "select document, folder where user:ann is owner,editor",
            objects(U, ["document", "folder"], ["owner", "editor"]),
        ),
        ("select * where user:ann is viewer", objects(U, None, ["viewer"])),
        ("select document where user:ann is *", objects(U, ["document"], None)),
        ("select explicit * where user:ann is *", objects(U, None, None, True)),
        ("select viewer of type user for document:plan", subjects(D, ["viewer"], ["user"])),
        ("select explicit viewer of type user for document:plan", subjects(D, ["viewer"], ["user"], True)),
        (
            "select owner, editor of type user , group for document:plan",
            subjects(D, ["owner", "editor"], ["user", "group"]),
        ),
        ("select * of type user for document:plan", subjects(D, None, ["user"])),
        ("select viewer of type * for document:plan", subjects(D, ["viewer"], None)),
        ("select explicit * of type * for document:plan", subjects(D, None, None, True)),
        ("select viewer of type team#member, user for document:plan", subjects(D, ["viewer"], ["team#member", "user"])),
        (
            "select document where user:ann is viewer and folder:plans is parent and not user:bob is *",
            meeting(
                objects(U, ["document"], ["viewer"]),
                condition(("folder", "plans"), ["parent"]),
                condition(("user", "bob"), None, True),
            ),
        ),
        (
            "SELECT document WHERE user:ann IS and,not AND NOT team:and IS not",
            meeting(objects(U, ["document"], ["and", "not"]), condition(("team", "and"), ["not"], True)),
        ),
        ("select and where not:a is and", objects(("not", "a"), ["and"], ["and"])),
        ("select not of type and for and:not", subjects(("and", "not"), ["not"], ["and"])),
    ],
)
def test_every_form(text: str, query: Query) -> None:
    assert read_query(text) == query
    assert read_query(render_query(query)) == query


@pytest.mark.parametrize(
    "text",
    [
        "SELECT document WHERE user:ann IS viewer",
        "Select document Where user:ann iS viewer",
        "  select\tdocument   where \t user:ann is viewer  ",
        "select document\nwhere user:ann\nis viewer\n",
        "\r\nselect\r\ndocument where\fuser:ann\vis viewer",
        "select\u00a0document where\u2003user:ann is viewer",
    ],
)
def test_letter_case_of_keywords_and_white_space_do_not_matter(text: str) -> None:
    assert read_query(text) == objects(U, ["document"], ["viewer"])


@pytest.mark.parametrize(
    "of_type", ["of type", "OF TYPE", "oF tYpE", "of  type", "of\ttype", "of\n\n type", "of\u00a0type"]
)
def test_white_space_within_of_type_does_not_matter(of_type: str) -> None:
    assert read_query(f"select viewer {of_type} user for document:plan") == subjects(D, ["viewer"], ["user"])


@pytest.mark.parametrize("comma", [",", " ,", ", ", " , ", "\n,\n"])
def test_white_space_around_commas_does_not_matter(comma: str) -> None:
    text = f"select a{comma}b where user:ann is c{comma}d"

    assert read_query(text) == objects(U, ["a", "b"], ["c", "d"])


def test_a_name_that_is_given_twice_counts_once() -> None:
    assert read_query("select b,a,b where user:ann is y,x,x,Y") == objects(U, ["b", "a"], ["y", "x", "Y"])
    assert read_query("select y,x,y of type b,a,b for document:plan") == subjects(D, ["y", "x"], ["b", "a"])


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("tenant:a:b|c@d.e", ("tenant", "a:b|c@d.e")),
        ("user:a@b.com", ("user", "a@b.com")),
        ("t:::", ("t", "::")),
        ("pricing-tier_2:Pro-1_x", ("pricing-tier_2", "Pro-1_x")),
        ("where:IS", ("where", "IS")),
        ("select:for", ("select", "for")),
        ("7:" + "x" * 1024, ("7", "x" * 1024)),
        ("route:/todos/{id};v=1", ("route", "/todos/{id};v=1")),
        ('route:"/a,b"', ("route", "/a,b")),
        ('user:"ann"', ("user", "ann")),
    ],
)
def test_the_first_colon_ends_the_type(reference: str, parts: tuple[str, str]) -> None:
    assert read_query(f"select a where {reference} is b") == objects(parts, ["a"], ["b"])
    assert read_query(f"select b of type a for {reference}") == subjects(parts, ["b"], ["a"])


@pytest.mark.parametrize(
    "name", ["selected", "select-all", "explicit_", "island", "isnt", "for-ever", "whereas", "of-type"]
)
def test_names_may_begin_like_keywords(name: str) -> None:
    assert read_query(f"select {name} where user:ann is {name}") == objects(U, [name], [name])


def test_of_and_type_are_names_unless_they_stand_together() -> None:
    assert read_query("select type where user:ann is of") == objects(U, ["type"], ["of"])
    assert read_query("select of where user:ann is type") == objects(U, ["of"], ["type"])
    assert read_query("select of of type type for document:plan") == subjects(D, ["of"], ["type"])
    assert read_query("select type of type of for document:plan") == subjects(D, ["type"], ["of"])
    assert read_query("select type, of, type of type of for document:plan") == subjects(D, ["type", "of"], ["of"])


@pytest.mark.parametrize(
    "keyword", ["select", "SELECT", "explicit", "Explicit", "of type", "Of  Type", "for", "where", "is", "Is"]
)
def test_keywords_are_no_names(keyword: str) -> None:
    for before in ["select a, ", "select a where user:ann is ", "select a of type b,", "select a of type "]:
        message = refusal(before + keyword)

        assert f': unexpected token "{keyword}" (expected a name' in message
        assert "; a keyword cannot be a name)\n" in message


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, NAME_WORDS) for name in ["Document", "docuMent", "doc.ument", "doc*", "**", "'a'", "a;"]),
        ("x" * 65, "must be at most 64 characters long"),
    ],
)
def test_a_type_that_cannot_be_one_is_refused_with_its_place(name: str, reason: str) -> None:
    for before, after in [("select ", " where user:ann is b"), ("select b of type ok,", " for document:plan")]:
        text = before + name + after

        assert refusal(text) == told(f'cannot read "{shown(name)}" as a type: {reason}', 1, len(before) + 1, text)


def test_the_type_of_a_reference_is_a_type() -> None:
    for before, after in [("select a where ", " is b"), ("select b of type a for ", "")]:
        text = before + "User:ann" + after

        assert refusal(text) == told(f'cannot read "User" as a type: {NAME_WORDS}', 1, len(before) + 1, text)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("view.er", NAME_WORDS),
        ("viewer;", NAME_WORDS),
        ("*viewer", NAME_WORDS),
        ("x" * 65, "must be at most 64 characters long"),
        *((keyword, f"'{keyword}' is a keyword and cannot be the name of a relation") for keyword in sorted(KEYWORDS)),
    ],
)
def test_a_relation_that_cannot_be_one_is_refused_with_its_place(name: str, reason: str) -> None:
    for before, after in [("select ", " of type a for document:plan"), ("select a where user:ann is ok, ", "")]:
        text = before + name + after

        assert refusal(text) == told(f'cannot read "{shown(name)}" as a relation: {reason}', 1, len(before) + 1, text)


def test_names_and_ids_have_a_length() -> None:
    longest = "x" * 64

    assert read_query(f"select {longest} where user:ann is {longest}") == objects(U, [longest], [longest])
    assert refusal(f"select a where {'x' * 65}:ann is b").startswith('cannot read "xxx')
    assert refusal(f"select a where user:{'x' * 1025} is b").startswith(
        f'cannot read "{longest}..." as an id: must be at most 1024 characters long (1:21)\n'
    )


PARSING = "error parsing query: {place}: unexpected "
LIST = "a name or '*'"
INCOMPLETE = "incomplete 'select' clause ({place})"
NO_WHERE = "must contain a 'where' clause ({place})"
NO_FOR = "must contain a 'for' clause ({place})"
COMBINED = "'where' and 'for' clauses cannot be combined ({place})"
FOR_OBJECTS = "a 'for' clause cannot be used when selecting objects ({place})"
WHERE_SUBJECTS = "a 'where' clause cannot be used when selecting subjects ({place})"
NO_RELATIONS = "must select one or more relations for subjects to match on the object ({place})"
ONE_OBJECT = "a query is about one object, type:id ({place})"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        # what Warrant servers say
        ("", 1, PARSING + "end of input (expected 'select')"),
        ("  ", 1, PARSING + "end of input (expected 'select')"),
        ("select", 7, INCOMPLETE),
        ("select  ", 7, INCOMPLETE),
        ("select explicit", 16, INCOMPLETE),
        ("select where user:ann is viewer", 8, INCOMPLETE),
        ("select explicit where user:ann is viewer", 17, INCOMPLETE),
        ("select for document:plan", 8, INCOMPLETE),
        ("select explicit for document:plan", 17, INCOMPLETE),
        ("select document", 16, NO_WHERE),
        ("select *", 9, NO_WHERE),
        ("select explicit a, b", 21, NO_WHERE),
        ("select viewer of type user", 27, NO_FOR),
        ("select * of type *", 19, NO_FOR),
        ("select explicit viewer of type user, group", 43, NO_FOR),
        ("select document for document:plan", 17, FOR_OBJECTS),
        ("select a, b, c for document:plan where user:ann is d", 16, FOR_OBJECTS),
        ("select * for", 10, FOR_OBJECTS),
        ("select viewer of type user where user:ann is viewer", 28, WHERE_SUBJECTS),
        ("select explicit * of type a,b where user:ann is viewer for document:plan", 31, WHERE_SUBJECTS),
        ("select a where user:ann is b for document:plan", 30, COMBINED),
        ("select explicit a where user:ann is b, c for document:plan", 42, COMBINED),
        ("select a where user:ann for document:plan", 25, COMBINED),
        ("select b of type a for document:plan where user:ann is b", 38, COMBINED),
        ("select of type user for document:plan", 8, NO_RELATIONS),
        ("select explicit of type user for document:plan", 17, NO_RELATIONS),
        ("select of type", 8, NO_RELATIONS),
        # words that cannot follow
        ("document", 1, PARSING + "token \"document\" (expected 'select')"),
        ("explicit document where user:ann is viewer", 1, PARSING + "token \"explicit\" (expected 'select')"),
        ("select* where user:ann is viewer", 1, PARSING + "token \"select*\" (expected 'select')"),
        ("\u017felect a where user:ann is b", 1, PARSING + "token \"\u017felect\" (expected 'select')"),
        ("select , a where user:ann is b", 8, PARSING + "token \",\" (expected 'explicit', a name or '*')"),
        ("select user:ann", 8, PARSING + "token \"user:ann\" (expected 'explicit', a name or '*')"),
        (
            "select is where user:ann is b",
            8,
            PARSING + "token \"is\" (expected 'explicit', a name or '*'; a keyword cannot be a name)",
        ),
        ("select explicit user:ann", 17, PARSING + f'token "user:ann" (expected {LIST})'),
        ("select a,", 10, PARSING + "end of input (expected a name)"),
        ("select a, * where user:ann is b", 11, PARSING + 'token "*" (expected a name)'),
        ("select a,, b where user:ann is b", 10, PARSING + 'token "," (expected a name)'),
        ("select *, a where user:ann is b", 9, PARSING + "token \",\" (expected 'of type' or 'where')"),
        ("select * * where user:ann is b", 10, PARSING + "token \"*\" (expected 'of type' or 'where')"),
        ("select a b where user:ann is b", 10, PARSING + "token \"b\" (expected ',', 'of type' or 'where')"),
        ("select a of user for document:plan", 10, PARSING + "token \"of\" (expected ',', 'of type' or 'where')"),
        ("select a is b", 10, PARSING + "token \"is\" (expected ',', 'of type' or 'where')"),
        ("select a where", 15, PARSING + "end of input (expected type:id)"),
        ("select a where user is b", 16, PARSING + 'token "user" (expected type:id)'),
        ("select a where user: is b", 16, PARSING + 'token "user:" (expected type:id)'),
        ("select a where :ann is b", 16, PARSING + 'token ":ann" (expected type:id)'),
        ("select a where user : ann is b", 16, PARSING + 'token "user" (expected type:id)'),
        ("select a where * is b", 16, PARSING + 'token "*" (expected type:id)'),
        ("select a where is b", 16, PARSING + 'token "is" (expected type:id)'),
        ("select a where user:ann", 24, PARSING + "end of input (expected 'is')"),
        ("select a where user:ann, user:bob is b", 24, PARSING + "token \",\" (expected 'is')"),
        ("select a where user:ann are b", 25, PARSING + "token \"are\" (expected 'is')"),
        ("select a where user:ann is", 27, PARSING + f"end of input (expected {LIST})"),
        ("select a where user:ann is b c", 30, PARSING + "token \"c\" (expected ',', 'and' or the end)"),
        ("select a where user:ann is * , b", 30, PARSING + "token \",\" (expected 'and' or the end)"),
        ("select a where user:ann is b where", 30, PARSING + "token \"where\" (expected ',', 'and' or the end)"),
        ("select a of type", 17, PARSING + f"end of input (expected {LIST})"),
        ("select a of type user:ann", 18, PARSING + f'token "user:ann" (expected {LIST})'),
        ("select a of type b c", 20, PARSING + "token \"c\" (expected ',' or 'for')"),
        ("select a of type * c", 20, PARSING + "token \"c\" (expected 'for')"),
        ("select a of type b for", 23, PARSING + "end of input (expected type:id)"),
        ("select a of type b for document", 24, PARSING + 'token "document" (expected type:id)'),
        ("select a of type b for document:plan is c", 38, PARSING + 'token "is" (expected the end)'),
        # references
        ("select a where user:* is b", 21, "'*' cannot be used here; " + ONE_OBJECT),
        ("select a of type b for user:*", 29, "'*' cannot be used here; " + ONE_OBJECT),
        ("select a where group:eng#member is b", 25, '"group:eng#member" is a group; ' + ONE_OBJECT),
        ("select a of type b for group:eng#", 33, '"group:eng#" is a group; ' + ONE_OBJECT),
        ("select a where role:*#member is b", 22, '"role:*#member" is a group; ' + ONE_OBJECT),
        ("select a where user:a^b is c", 21, f'cannot read "a^b" as an id: {id_template("^", 2)} ({{place}})'),
        ("select a where user:** is c", 21, f'cannot read "**" as an id: {id_template("*", 1)} ({{place}})'),
        ("select a where user:.. is c", 21, f'cannot read ".." as an id: {DOTS_MESSAGE} ({{place}})'),
        ('select a where user:"b"c is d', 21, f'cannot read ""b"c" as an id: {id_template(QUOTE, 1)} ({{place}})'),
        ('select a where user:"b,c is d', 23, PARSING + "token \",\" (expected 'is')"),
        # words are read from the left, once there is nothing else to say
        ("select A where B:* is anyOf", 8, f'cannot read "A" as a type: {NAME_WORDS} ({{place}})'),
        ("select anyOf! of type A for user:*", 8, f'cannot read "anyOf!" as a relation: {NAME_WORDS} ({{place}})'),
        ("select A where B:* is", 22, PARSING + f"end of input (expected {LIST})"),
        # a keyword for what follows it, which cannot stand there
        ("select a where u:1 is b and u: is c", 29, PARSING + "token \"u:\" (expected type:id or 'not')"),
        ("select a where u:1 is b and not u: is c", 33, PARSING + 'token "u:" (expected type:id)'),
    ],
)
def test_what_cannot_stand_is_refused_with_its_place(text: str, column: int, message: str) -> None:
    assert refusal(text) == message.format(place=f"1:{column}") + pointed(text.rstrip(), column)


@pytest.mark.parametrize(
    ("text", "line", "column", "shown_line"),
    [
        ("select document\nwhere user is viewer", 2, 7, "where user is viewer"),
        ("select\n\n  document,\n  folder\nwhere\n\tuser is viewer", 6, 2, " user is viewer"),
        ("select Document\nwhere user:ann is viewer", 1, 8, "select Document"),
        ("select document\r\nwhere User:ann is viewer", 2, 7, "where User:ann is viewer"),
        ("select document\r\nwhere user:ann\r\nis view.er\r\n", 3, 4, "is view.er"),
        ("select document\n  where user:ann#member\nis viewer", 2, 17, "  where user:ann#member"),
        ("select document\nwhere user:* is viewer", 2, 12, "where user:* is viewer"),
        ("select document\nwhere\n\n", 2, 6, "where"),
        ("select document \n\n", 1, 16, "select document"),
        ("select viewer of\n type user\n where user:ann is a", 3, 2, " where user:ann is a"),
        ("\n\n", 1, 1, ""),
    ],
)
def test_places_are_counted_by_lines(text: str, line: int, column: int, shown_line: str) -> None:
    message = refusal(text)

    assert f"{line}:{column}" in message.partition("\n")[0]
    assert message.endswith(pointed(shown_line, column))


def test_a_keyword_over_two_lines_is_shown_on_one() -> None:
    assert refusal("select a where u:1 is of\n\ttype").startswith(
        'error parsing query: 1:23: unexpected token "of  type" (expected'
    )


def test_what_cannot_be_shown_is_replaced() -> None:
    text = "select a\0\ud800\u202eb\u00a0where user:ann is c"

    assert refusal(text) == told(
        f'cannot read "a���b" as a type: {NAME_WORDS}', 1, 8, "select a���b where user:ann is c"
    )


def test_a_query_has_a_length() -> None:
    assert MAX_QUERY_LENGTH == 4_096
    text = "select document where user:ann is viewer"
    longest = text + " " * (MAX_QUERY_LENGTH - len(text))

    assert read_query(longest) == objects(U, ["document"], ["viewer"])
    assert refusal(longest + " ") == "must be at most 4096 characters long"


@pytest.mark.parametrize(
    "part", ["a,", "a ", "select ", ":", "a:", "of ", "of type ", "x", "*", ",", "\n", "\0", "\ud800", "😀", "# "]
)
def test_texts_of_any_shape_are_refused_in_bounded_words(part: str) -> None:
    for before in ["", "select ", "select a where ", "select a of type "]:
        text = (before + part * MAX_QUERY_LENGTH)[:MAX_QUERY_LENGTH]

        assert len(refusal(text)) <= 2 * MAX_QUERY_LENGTH + 300
        assert len(refusal(text + part)) <= 100


def told(reason: str, line: int, column: int, shown_line: str) -> str:
    return f"{reason} ({line}:{column}){pointed(shown_line, column)}"


def pointed(shown_line: str, column: int) -> str:
    return f"\n | {shown_line}\n | {'.' * (column - 1)}^"


def shown(name: str) -> str:
    return name if len(name) <= 64 else name[:64] + "..."


RESERVED = {"select", "explicit", "where", "for", "is"}
LOWER = "abcxyz019_-"
LETTERS = LOWER + "ABCXYZ"


def words(alphabet: str, longest: int = 64) -> st.SearchStrategy[str]:
    some = st.text(alphabet, min_size=1, max_size=longest) | st.sampled_from(["of", "type", "a", "is-for"])
    return some.filter(lambda word: word.lower() not in RESERVED)


def lists(names: st.SearchStrategy[str]) -> st.SearchStrategy[list[str] | None]:
    return st.none() | st.lists(names, min_size=1, max_size=6)


BLANKS = st.text(" \t\r\n\f\u00a0", min_size=1, max_size=3)


IDS = words(LETTERS + ".@|:+=/,~%$!(){}&;", 255).filter(lambda object_id: object_id not in (".", ".."))


@st.composite
def written_queries(draw: st.DrawFn) -> tuple[str, Query]:
    """A text, with letter case and white space as drawn, and the query it should read as."""
    one = draw(
        st.tuples(
            words(LOWER),
            words(LETTERS + ".@|:+=/,~%$!(){}&;", 255).filter(lambda object_id: object_id not in (".", "..")),
        )
    )
    types, relations = draw(lists(words(LOWER))), draw(lists(words(LETTERS)))
    is_explicit = draw(st.booleans())

    def keyword(text: str) -> str:
        cased = "".join(draw(st.sampled_from([letter.lower(), letter.upper()])) for letter in text)
        return cased.replace(" ", draw(BLANKS))

    def names(listed: list[str] | None) -> str:
        return "*" if listed is None else draw(st.sampled_from([",", ", ", " ,", "\n,\t"])).join(listed)

    is_quoted = "," in one[1] or draw(st.booleans())
    reference = f'{one[0]}:"{one[1]}"' if is_quoted else ":".join(one)
    opening = [keyword("select"), *([keyword("explicit")] if is_explicit else [])]
    if draw(st.booleans()):
        query: Query = objects(one, once(types), once(relations), is_explicit)
        parts = [*opening, names(types), keyword("where"), reference, keyword("is"), names(relations)]
    else:
        query = subjects(one, once(relations), once(types), is_explicit)
        parts = [*opening, names(relations), keyword("of type"), names(types), keyword("for"), reference]
    return "".join(part + draw(BLANKS) for part in parts), query


def once(names: list[str] | None) -> list[str] | None:
    return None if names is None else list(dict.fromkeys(names))


@settings(deadline=None)
@given(written_queries())
def test_a_query_reads_as_it_was_meant_however_it_is_written(written: tuple[str, Query]) -> None:
    text, query = written

    assert read_query(text) == query


TOKENS = [
    *["select", "SELECT", "explicit", "of type", "OF\n type", "of", "type", "where", "for", "is", "*", ",", ":", "#"],
    *["document", "Document", "anyOf", "user:ann", "user:*", "group:eng#member", "a:b:c", "\0", "é"],
]

PLACE = re.compile(r"(?:error parsing query: (\d+):(\d+): .*|.* \((\d+):(\d+)\))\n \| (.*)\n \| (\.*)\^")


def check_any(text: str) -> None:
    """It is read, or refused with a message whose place is in the text."""
    try:
        read_query(text)
    except InvalidParameter as error:
        refused = error
    else:
        return
    assert type(refused) is InvalidParameter
    assert refused.parameter == "q"
    refused.message.encode()  # no lone surrogates
    matched = PLACE.fullmatch(refused.message)
    assert matched is not None
    line, column = (int(given) for given in matched.group(1, 2, 3, 4) if given is not None)
    assert len(matched[6]) == column - 1 <= len(text.split("\n")[line - 1])


@settings(deadline=None)
@given(st.text(st.characters(), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    check_any(text)
    check_any("select " + text)
    check_any("select a where u:1 is " + text)


@settings(deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=14), st.sampled_from([" ", " ", "\n", ""]))
def test_any_run_of_tokens_is_read_or_refused(tokens: list[str], between: str) -> None:
    check_any(between.join(tokens))
    check_any("select " + between.join(tokens))


@settings(deadline=None)
@given(written_queries(), st.data())
def test_a_query_with_a_piece_cut_out_or_put_in_is_read_or_refused(
    written: tuple[str, Query], data: st.DataObject
) -> None:
    text, _ = written
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    check_any(text[:start] + data.draw(st.sampled_from(["", *TOKENS])) + text[end:])


def test_the_document_shows_queries_and_messages_word_for_word() -> None:
    blocks = [block for _, block in re.findall(r"```(\w*)\n(.*?)\n```", DOCUMENT, re.DOTALL)]
    shown_queries = [block for block in blocks if re.fullmatch(r"select [^\[\n]+", block)]
    messages = [block for block in blocks if "\n | " in block]

    assert len(shown_queries) >= 5
    for text in [*shown_queries, *re.findall(r"[`=](select [^`'\n]+)[`']", DOCUMENT)]:
        read_query(text)
    assert len(messages) >= 2
    for message in messages:
        assert refusal(message.split("\n")[1].removeprefix(" | ")) == message
    assert f"at most {MAX_QUERY_LENGTH} characters" in DOCUMENT


def test_the_document_has_a_row_for_every_fault() -> None:
    for fault in dict.fromkeys(FAULTS.values()):
        assert f"| `{fault}` |" in DOCUMENT


@pytest.mark.parametrize("name", ["#", "team#", "#member"])
def test_half_a_group_is_refused_with_how_to_write_one(name: str) -> None:
    text = f"select viewer of type {name} for document:plan"

    assert refusal(text) == f'cannot read "{name}" as a type: groups are written like team#member (1:23)' + pointed(
        text, 23
    )
