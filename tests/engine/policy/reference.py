"""What the language of policies is: a LALR grammar, read by Lark. Slow, but it says on one page what the parser has to
accept, in which order it puts parts together, and which of several mistakes is the first.
"""

import copy
from pathlib import Path
from typing import Any

from lark import Lark, Transformer, UnexpectedCharacters, UnexpectedToken
from lark import Token as LarkToken
from msgspec import structs

from magistrate.engine.policy import access, compiler, operations
from magistrate.engine.policy.compiler import Closure
from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import PolicyNode, Refusal, literal_node
from magistrate.engine.policy.operations import Sign, chain, compile_sign
from magistrate.engine.policy.tokens import Token, read_string, render_string

GRAMMAR = Path(__file__).with_name("grammar.lark")


def _plain(part: Any) -> Any:
    if not isinstance(part, LarkToken):
        return part
    kind = part.type.lower()
    return Token(kind, part.value, part.start_pos or 0)


class Compiler(Transformer[LarkToken, Any]):
    """One method a rule, or alias, of the grammar. `environment` is that of the text which is read; `bare` are the
    operations on which no brackets were closed since, and `alternatives` those of them that are a `??`."""

    def __init__(self) -> None:
        super().__init__()
        self.begin(Environment())

    def begin(self, environment: Environment) -> None:
        self.environment = environment
        self.bare: list[PolicyNode] = []
        self.alternatives: list[PolicyNode] = []

    def _note_mix(self, first: PolicyNode, offset: int) -> None:
        """An operator follows a `??`, and no brackets were closed in between."""
        known = self.environment.mixed_at
        if any(first is node for node in self.alternatives) and (known is None or offset < known):
            self.environment.mixed_at = offset

    def _bare(self, node: PolicyNode) -> PolicyNode:
        self.bare.append(node)
        return node

    def group(self, parts: list[PolicyNode]) -> PolicyNode:
        return copy.copy(parts[0])

    def declared(self, parts: list[Any]) -> tuple[Token, PolicyNode, int]:
        name, value = _plain(parts[1]), parts[2]
        return name, value, compiler.declare(name, value, self.environment)

    def declaration(self, parts: list[Any]) -> PolicyNode:
        (name, value, place), body = parts
        self.environment.end_declaration()
        return compiler.declaration(name, value, place, body)

    def piped_call(self, parts: list[Any]) -> PolicyNode:
        source, name, *arguments = parts
        return compiler.call(_plain(name), [source, *_without_commas(arguments)], self.environment)

    def source(self, parts: list[Any]) -> tuple[Token, PolicyNode]:
        name, source, _ = parts
        compiler.begin_closure(_plain(name), source, self.environment)
        return _plain(name), source

    def piped_source(self, parts: list[Any]) -> tuple[Token, PolicyNode]:
        source, name = parts
        compiler.begin_closure(_plain(name), source, self.environment)
        return _plain(name), source

    def function(self, parts: list[Any]) -> PolicyNode:
        (name, source), body = parts
        self.environment.end_closure()
        return compiler.call_with_closure(name, [source, body])

    def reduced(self, parts: list[Any]) -> tuple[Token, list[Any]]:
        (name, source), body, _ = parts
        self.environment.end_closure()
        return name, [source, body]

    def reduction(self, parts: list[Any]) -> PolicyNode:
        (name, arguments), initial = parts
        return compiler.call_with_closure(name, [*arguments, initial])

    def conditional(self, parts: list[Any]) -> PolicyNode:
        condition, sign, then, otherwise = parts
        return operations.conditional(condition, then, otherwise, _plain(sign).offset)

    def short_conditional(self, parts: list[Any]) -> PolicyNode:
        condition, sign, otherwise = parts
        return operations.conditional(condition, literal_node(True, sign.start_pos), otherwise, sign.start_pos)

    def either(self, parts: list[Any]) -> PolicyNode:
        self._note_mix(parts[0], parts[1].start_pos)
        return operations.compile_logic(parts[::2], True, f'"{parts[1].value}"', parts[1].start_pos)

    def both(self, parts: list[Any]) -> PolicyNode:
        self._note_mix(parts[0], parts[1].start_pos)
        return operations.compile_logic(parts[::2], False, f'"{parts[1].value}"', parts[1].start_pos)

    def comparison(self, parts: list[Any]) -> PolicyNode:
        self._note_mix(parts[0], parts[1].offset)
        signs = []
        for place, sign in enumerate(parts[1::2]):
            is_bare = place > 0 or any(parts[0] is node for node in self.bare)
            signs.append(structs.replace(sign, is_lost=sign.is_negated and is_bare))
        return chain(parts[::2], signs)

    def relation(self, parts: list[LarkToken]) -> Sign:
        return Sign(parts[-1].value, parts[0].start_pos or 0, is_negated=len(parts) == 2)

    def interval(self, parts: list[Any]) -> PolicyNode:
        self._note_mix(parts[0], parts[1].start_pos)
        return self._bare(chain(parts[::2], [Sign(token.value, token.start_pos) for token in parts[1::2]]))

    sum = product = power = interval

    def negated(self, parts: list[Any]) -> PolicyNode:
        return self._bare(operations.compile_negation(parts[1], f'"{parts[0].value}"', parts[0].start_pos))

    def signed(self, parts: list[Any]) -> PolicyNode:
        return self._bare(compile_sign(parts[0].value, parts[1], parts[0].start_pos))

    def coalesced(self, parts: list[PolicyNode]) -> PolicyNode:
        self.alternatives.append(operations.first_present(parts))
        return self._bare(self.alternatives[-1])

    def accessed(self, parts: list[Any]) -> PolicyNode:
        base, *steps = parts
        return compiler.compile_steps(base, steps, self.environment)

    def member(self, parts: list[LarkToken]) -> access.Step:
        return access.member(_plain(parts[0]))

    def optional_member(self, parts: list[LarkToken]) -> access.Step:
        return access.optional_member(_plain(parts[1]))

    def method(self, parts: list[Any]) -> access.Step:
        _, name, *arguments = parts
        return access.method(_plain(name), _without_commas(arguments))

    def optional_method(self, parts: list[Any]) -> access.Step:
        _, name, *arguments = parts
        return access.optional_method(_plain(name), _without_commas(arguments))

    def element(self, parts: list[Any]) -> access.Step:
        return access.element(_plain(parts[0]), parts[1])

    def section(self, parts: list[Any]) -> access.Step:
        return access.section(_plain(parts[0]), parts[1], parts[2])

    def variable(self, parts: list[LarkToken]) -> PolicyNode:
        return compiler.variable(_plain(parts[0]), self.environment)

    def constant(self, parts: list[LarkToken]) -> PolicyNode:
        return compiler.constant(_plain(parts[0]))

    def literal(self, parts: list[LarkToken]) -> PolicyNode:
        return compiler.literal(_plain(parts[0]))

    def item(self, parts: list[LarkToken]) -> PolicyNode:
        return compiler.item(_plain(parts[0]), self.environment)

    def item_pointer(self, parts: list[LarkToken]) -> PolicyNode:
        return compiler.item_pointer(_plain(parts[0]), _plain(parts[1]), self.environment)

    def item_member(self, parts: list[LarkToken]) -> PolicyNode:
        return compiler.item_member(self.environment, _plain(parts[0]), _plain(parts[1]))

    def item_method(self, parts: list[Any]) -> PolicyNode:
        dot, name, *arguments = parts
        return compiler.item_method(_plain(dot), _plain(name), _without_commas(arguments), self.environment)

    def call(self, parts: list[Any]) -> PolicyNode:
        name, *arguments = parts
        return compiler.call(_plain(name), _without_commas(arguments), self.environment)

    def closure(self, parts: list[PolicyNode]) -> Closure:
        return Closure(parts[0])

    def list_literal(self, parts: list[Any]) -> PolicyNode:
        return compiler.list_literal(_plain(parts[0]), _without_commas(parts[1:]))

    def map_literal(self, parts: list[Any]) -> PolicyNode:
        return compiler.map_literal(_plain(parts[0]), _without_commas(parts[1:]))

    def entry(self, parts: Any) -> tuple[PolicyNode, PolicyNode]:
        key, value = parts
        return key, value

    def key(self, parts: list[Any]) -> PolicyNode:
        return compiler.key(_plain(parts[0]))


def _without_commas(parts: list[Any]) -> list[Any]:
    return [part for part in parts if not isinstance(part, LarkToken)]


_COMPILER = Compiler()
_LARK = Lark(GRAMMAR.read_text(encoding="utf-8"), parser="lalr", lexer="basic", transformer=_COMPILER)


def parse_with_grammar(text: str, environment: Environment) -> PolicyNode:
    """Returns the root of a policy. Raises Refusal for the first thing that is wrong with it."""
    _COMPILER.begin(environment)
    try:
        root: Any = _LARK.parse(text)  # Lark says it gives a tree; with a transformer it does not
    except UnexpectedToken as error:
        raise _unexpected(text, error.token) from error
    except UnexpectedCharacters as error:
        raise _unreadable(error.char, error.pos_in_stream or 0) from error
    assert isinstance(root, PolicyNode)
    return root


def _unexpected(text: str, token: LarkToken) -> Refusal:
    if token.type == "$END":
        return Refusal("unexpected token EOF", max(len(text) - 1, 0))
    offset = token.start_pos or 0
    value = read_string(token.value, offset) if token.type == "STRING" else token.value
    return Refusal(f"unexpected token {_go_kind(token)}({render_string(value)})", offset)


def _go_kind(token: LarkToken) -> str:
    if token.type in ("INTEGER", "HEXADECIMAL", "DECIMAL"):
        return "Number"
    if token.type == "STRING":
        return "String"
    if token.value in "()[]{}":
        return "Bracket"
    is_word = token.type in ("NAME", "PREDICATE", "REDUCE") or token.value in ("true", "false", "nil")
    return "Identifier" if is_word else "Operator"


def _unreadable(character: str, offset: int) -> Refusal:
    if character == "&":
        return Refusal(f'unexpected token Operator("{character}")', offset)
    if character in "'\"":
        return Refusal("the string is not terminated", offset)
    shown = f" '{character}'" if character.isprintable() else ""
    return Refusal(f"unrecognized character U+{ord(character):04X}{shown}", offset)
