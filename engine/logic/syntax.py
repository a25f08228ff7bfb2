"""What a JavaScript text says before it runs, read by tree-sitter: never runs anything, never raises on bad text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import tree_sitter
import tree_sitter_javascript
from tree_sitter import Node

from engine.logic.vm import wtf8

_LANGUAGE = tree_sitter.Language(tree_sitter_javascript.language())
LINE_END = re.compile(rb"\r\n|\n|\r")
_JSDOC_EDGE = re.compile(r"^[ \t]*\*?[ \t]?", re.MULTILINE)
LITERALS = frozenset({"string", "number", "template_string", "regex", "true", "false", "null", "undefined"})
FUNCTION_DECLARATIONS = frozenset({"function_declaration", "generator_function_declaration"})
FUNCTION_SCOPES = FUNCTION_DECLARATIONS | {
    "function_expression",
    "generator_function",
    "arrow_function",
    "method_definition",
    "class_static_block",
    "field_definition",
}
_AWAITS = tree_sitter.Query(
    _LANGUAGE,
    f"""[(await_expression) (for_in_statement "await")] @await
    [{" ".join(f"({kind})" for kind in sorted(FUNCTION_SCOPES))}] @function""",
)
NAMED_EXPRESSIONS = frozenset({"function_expression", "generator_function", "class"})
REFERENCES = frozenset({"identifier", "shorthand_property_identifier"})
BINDINGS = frozenset({"identifier", "shorthand_property_identifier_pattern"})


class Syntax:
    """A parsed text. Columns count characters; lines and columns begin at 1."""

    def __init__(self, text: str) -> None:
        self.content = wtf8(text)
        self.root = tree_sitter.Parser(_LANGUAGE).parse(self.content).root_node

    @property
    def has_error(self) -> bool:
        return self.root.has_error

    def text(self, node: Node) -> str:
        return self.content[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def statements(self) -> list[Node]:
        """The top-level statements, without comments."""
        return [node for node in self.root.named_children if node.type != "comment"]

    def position(self, node: Node) -> tuple[int, int]:
        lines = LINE_END.split(self.content[: node.start_byte])
        return len(lines), len(lines[-1].decode("utf-8", "replace")) + 1

    def first_error(self) -> Node:
        return next((node for node in walk(self.root) if node.is_error or node.is_missing), self.root)

    def module_declaration(self) -> Node | None:
        """The first `import` or `export` declaration."""
        return next(
            (n for n in self.root.children if n.type in {"import_statement", "export_statement"}), None
        )

    def top_level_await(self) -> Node | None:
        """The first `await` that is in no function."""
        if b"await" not in self.content:
            return None
        found = tree_sitter.QueryCursor(_AWAITS).captures(self.root)
        functions = sorted(node.byte_range for node in found.get("function", []))
        entered, covered_until = 0, 0
        for node in sorted(found.get("await", []), key=lambda node: node.start_byte):
            while entered < len(functions) and functions[entered][0] < node.start_byte:
                covered_until = max(covered_until, functions[entered][1])
                entered += 1
            if node.start_byte >= covered_until:
                return node
        return None

    def is_inert(self) -> bool:
        """Whether running it can do nothing: it is empty, comments and literals."""
        return all(_is_inert(statement) for statement in self.root.named_children)

    def jsdoc_above(self, node: Node) -> str:
        """The text of the `/** ... */` comment that ends right above `node`, or ""."""
        comment = node.prev_named_sibling
        if comment is None or comment.type != "comment":
            return ""
        text = self.text(comment)
        if not text.startswith("/**") or not text.endswith("*/") or len(text) < 5:
            return ""
        return _JSDOC_EDGE.sub("", text[3:-2]).strip()

    def declared_names(self) -> frozenset[str]:
        """Every name that is bound anywhere in it: variables, parameters, functions, classes."""
        return frozenset(self.text(binding) for binding in _bindings(self.root))

    def own_name_uses(self, node: Node) -> list[Node]:
        """Where a class uses its own name inside; none if something in it has that name too."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        assert name is not None and body is not None, "a class with a name"
        own = self.content[name.start_byte : name.end_byte]
        if own not in self.content[body.start_byte : body.end_byte]:
            return []
        if any(self.text(binding).encode() == own for binding in _bindings(body)):
            return []
        return [
            use
            for use in walk(body)
            if use.type in REFERENCES and self.content[use.start_byte : use.end_byte] == own
        ]

    def top_level_names(self) -> frozenset[str]:
        """The names that its top-level statements bind: not those inside of functions."""
        statements = (child for child in self.root.named_children if child.type not in FUNCTION_DECLARATIONS)
        declarators = (child for statement in statements for child in statement.named_children)
        return frozenset(
            self.text(binding)
            for node in declarators
            if node.type == "variable_declarator"
            for binding in _names_of(node.child_by_field_name("name"))
        )

    def free_names(self) -> frozenset[str]:
        """The names it refers to and binds nowhere."""
        used = frozenset(self.text(node) for node in walk(self.root) if node.type in REFERENCES)
        return used - self.declared_names()


def expression_syntax(text: str) -> Syntax:
    """The text of a function, method or class, parsed as the expression that it is."""
    parsed = Syntax(f"({text}\n)")
    return Syntax(f"({{{text}\n}})") if parsed.has_error else parsed


def params_of(text: str) -> list[str]:
    """The parameters of a function, method or class (its constructor's), each as it is written."""
    parsed = expression_syntax(text)
    holder = next((node for node in walk(parsed.root) if _has_params(node)), None)
    if holder is None or parsed.has_error:
        return []
    if holder.type == "class":
        body = holder.child_by_field_name("body")
        members = body.named_children if body is not None else []
        holder = next((m for m in members if _is_constructor(m, parsed)), None)
        if holder is None:
            return []
    single = holder.child_by_field_name("parameter")
    if single is not None:
        return [parsed.text(single)]
    params = holder.child_by_field_name("parameters")
    return (
        [parsed.text(p) for p in params.named_children if p.type != "comment"] if params is not None else []
    )


@lru_cache(maxsize=4096)
def free_names(text: str) -> frozenset[str]:
    """The names that the text of a function or class takes from around it."""
    return expression_syntax(text).free_names()


def is_private_access(name: Node) -> bool:
    """Whether a name stands in `name.#x` or `#x in name`."""
    around = name.parent
    if around is None:
        return False
    other = around.child_by_field_name("property" if around.type == "member_expression" else "left")
    return other is not None and other.type == "private_property_identifier"


def is_defined_here(node: Node) -> bool:
    """Whether a class is an argument of a call of `define`."""
    call = node.parent.parent if node.parent is not None else None
    function = call.child_by_field_name("function") if call is not None else None
    return function is not None and function.type == "identifier" and function.text == b"define"


def has_private_members(text: str) -> bool:
    """Whether a class, given as text, has members with private names."""
    parsed = expression_syntax(text)
    found = next((node for node in walk(parsed.root) if node.type == "class" and node.is_named), None)
    body = found.child_by_field_name("body") if found is not None else None
    named = [
        member.child_by_field_name(field)
        for member in (body.named_children if body is not None else [])
        for field in ("name", "property")
    ]
    return any(name is not None and name.type == "private_property_identifier" for name in named)


def line_starts(content: bytes) -> list[int]:
    """The bytes at which the lines begin, as the engine counts lines."""
    return [0, *(match.end() for match in LINE_END.finditer(content))]


def walk(node: Node) -> Iterator[Node]:
    """`node` and all under it in the order of the text; no recursion, texts nest deeply."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed(found.children))


def _has_params(node: Node) -> bool:
    return node.type in FUNCTION_SCOPES or (node.type == "class" and node.is_named)


def _is_constructor(member: Node, parsed: Syntax) -> bool:
    name = member.child_by_field_name("name")
    return member.type == "method_definition" and name is not None and parsed.text(name) == "constructor"


def _is_inert(statement: Node) -> bool:
    if statement.type in {"comment", "empty_statement", "hash_bang_line"}:
        return True
    if statement.type not in {"expression_statement", "return_statement"}:
        return False
    return all(_is_literal(child) for child in statement.named_children)


def _is_literal(node: Node) -> bool:
    if node.type == "template_string":
        return all(child.type != "template_substitution" for child in node.named_children)
    if node.type in {"unary_expression", "parenthesized_expression"}:
        return all(_is_literal(child) for child in node.named_children)
    return node.type in LITERALS or node.type == "comment"


def _bindings(root: Node) -> Iterator[Node]:
    for node in walk(root):
        if (
            node.type in FUNCTION_DECLARATIONS
            or node.type in NAMED_EXPRESSIONS
            or node.type == "class_declaration"
            or node.type == "variable_declarator"
        ):
            yield from _names_of(node.child_by_field_name("name"))
        elif node.type == "formal_parameters":
            yield from _names_of(node)
        elif node.type in {"arrow_function", "catch_clause"}:
            yield from _names_of(node.child_by_field_name("parameter"))
        elif node.type == "for_in_statement" and node.child_by_field_name("kind") is not None:
            yield from _names_of(node.child_by_field_name("left"))


def _names_of(pattern: Node | None) -> Iterator[Node]:
    """The names that a pattern binds: not those in its default values and computed keys."""
    stack = [pattern] if pattern is not None else []
    while stack:
        node = stack.pop()
        if node.type in BINDINGS:
            yield node
        elif node.type in {"assignment_pattern", "object_assignment_pattern"}:
            left = node.child_by_field_name("left")
            stack += [left] if left is not None else []
        elif node.type == "pair_pattern":
            value = node.child_by_field_name("value")
            stack += [value] if value is not None else []
        else:
            stack.extend(node.named_children)
