"""Policies as long as one may be, each made to be slow in its own way."""

from magistrate.engine.policy.policy import MAX_POLICY_LENGTH


def _long(part: str, before: str = "", after: str = "") -> str:
    """As many of these parts as the length allows."""
    return before + part * ((MAX_POLICY_LENGTH - len(before) - len(after)) // len(part)) + after


READABLE = {
    "brackets": "(" * 2_046 + "true" + ")" * 2_046,
    "signs": _long("-", after="1==1"),
    "sum": _long("+1", "1==1"),
    "product": _long("*1", "1==1"),
    "conjunction": _long("&&a", "a"),
    "disjunction": _long("||a", "a"),
    "comparisons": _long("==a", "a"),
    "alternatives": _long("??a", "a"),
    "members": _long(".a", "a", "==1"),
    "optional members": _long("?.a", "a", "==1"),
    "elements": _long("[0]", "a", "==1"),
    "slices": _long("[:]", "a", "==1"),
    "methods": _long(".Unix()==a.a", "a.a"),
    "list": _long("1,", "[", "]==a"),
    "lists": _long("[],", "[", "]==a"),
    "list of variables": _long("a,", "[", "]==a"),
    "maps": _long("{},", "[", "]==a"),
    "map": _long("a:1,", "{", "}==a"),
    "calls": _long("now(),", "[", "]==a"),
    "closures": _long("&&any(a,{#.b==1})", "a"),
    "closures in closures": "any(a, " * 62 + "# == 1" + ")" * 62,
    "number of many digits": _long("_", "1", "==a"),
    "string": _long("x", 'a=="', '"'),
    "escapes": _long("\\n", 'a=="', '"'),
    "strings": _long("'',", "a in [", "]"),
    "comment": _long("*", "/*", "*/a"),
    "comments": _long("/**/", after="a"),
    "blanks": _long(" ", after="a"),
    "values read as types": _long('&&as(a,"bool")', "a"),
    "variables read as types": "&&".join(f'as(a{number},"list<int>")==[]' for number in range(150)),
    "arguments that decide": _long(",a", "anyOf(a", ")"),
    "arguments in arguments": "anyOf(" * 62 + "a" + ")" * 62,
    "errors in errors": "anyOf(1/0>1," * 60 + "a" + ")" * 60,
    "elements of elements": _long(",0", "at(a", ")==1"),
    "closures with errors": _long("&&some(a,{1/0>1})", "a"),
    "declarations": "some(a,{" + "".join(f"let $a{number}=#;some(a,{{" for number in range(25)) + "a" + "})" * 26,
    "patterns": " && ".join(f"a matches '(x+x+)+{n}'" for n in range(32)),
}
"""By what they are full of."""

REFUSED = {
    "brackets that are not closed": _long("("),
    "lists that are not closed": _long("["),
    "maps that are not closed": _long("{a:"),
    "calls that are not closed": _long("a("),
    "choices": _long("a?b:", after="a"),
    "choices within choices": _long("a?", after="a"),
    "powers": _long("a**", after="1==1"),
    "negations": _long("!", after="a"),
    "comments that do not end": _long("/*"),
    "comments that do not end, behind an operand": _long("/*", "a"),
    "strings that do not end": _long('\\"', '"'),
    "strings that do not end, a line each": _long("'\n"),
    "numbers in a row": _long("1 "),
    "numbers with powers that do not end": _long("1e", "1"),
    "out of range": _long("9"),
    "decimal out of range": _long("9", after="e999"),
    "characters of no meaning": _long("@"),
    "a member of a number": _long(".1"),
}
