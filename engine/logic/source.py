"""Sources: how a JavaScript text is wrapped to run, and how positions find their way back to it.

A source becomes the body of a strict function. Its top-level `function f` and `class C` become definitions: the
declaration gets a name that nothing else uses, and `f` is bound to the definition's stub. Positions that the
engine reports are those of the wrapped text, in bytes; `Program.written_position` gives those of the text as it
was written. The engine, not the parser, has the last word on what is a syntax error.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass

from blake3 import blake3

from engine.logic.syntax import (
    FUNCTION_DECLARATIONS,
    LINE_END,
    Node,
    Syntax,
    is_defined_here,
    is_private_access,
    line_starts,
)
from engine.logic.vm import wtf8

FILE_PREFIX = "pw:"
MANGLED = "$pw"
DEFINER = "$define"
MODULE_ADVICE = (
    "{} declarations do not work: there are no modules here. A top-level function or class is a definition that all "
    "sources see, and libraries enter as CommonJS"
)
AWAIT_ADVICE = (
    "no await at the top level: use it in an async function, or return the promise, which is waited for"
)
EXPRESSION_ADVICE = "expected one expression; put statements into (() => { ...; return value })()"
EMPTY_ADVICE = "expected an expression, got nothing"
_BEGUN = re.compile(r'static\{\$define(\d*)\.begin\("([\w$]+)",this\)\}')
_DEFINED_CLASS = re.compile(rb"""\bdefine\s*\(\s*(["'])([\w$]+)\1\s*,\s*class\s+\2\b""")


class SourceError(Exception):
    """A text that the host refuses as a syntax error; `str()` reads as if the engine had said it."""

    def __init__(self, message: str, file: str, line: int, column: int) -> None:
        super().__init__(f"SyntaxError: {message}\n    at {file}:{line}:{column}")


_Change = tuple[int, int, str]
"""Start, end (bytes) and replacement of a piece of text."""


@dataclass(frozen=True)
class Edit:
    """On one line (from 1), `old` bytes from byte `column` (from 0) on were replaced by `new` bytes."""

    line: int
    column: int
    old: int
    new: int


@dataclass(frozen=True)
class Program:
    """A text made ready for the engine.

    `text` is the script to compile under the name `file`; the text as `written` begins on its line 2.
    `function_length` (UTF-16 units) is that of the function `function_name` which holds it. `body` is what was
    written, with its declarations renamed. `complaint` says where the parser stopped understanding: such a
    program is only compiled, for the engine's own message.
    """

    written: str
    file: str
    text: str
    body: str
    function_name: str
    function_length: int
    edits: tuple[Edit, ...] = ()
    complaint: SourceError | None = None
    is_inert: bool = False

    def written_position(self, line: int, column: int) -> tuple[int, int]:
        """Line and column (characters, from 1) as written, of a line and column (bytes, from 1) of `text`."""
        if line < 2:
            return 1, 1
        lines = LINE_END.split(wtf8(self.written))
        if self.is_past_end(line):
            return len(lines), len(lines[-1].decode("utf-8", "replace")) + 1
        at = line - 1
        before = lines[at - 1][: self._written_column(at, column - 1)]
        return at, len(before.decode("utf-8", "replace")) + 1

    def is_past_end(self, line: int) -> bool:
        """Whether a line of `text` comes after all that was written: the wrapping is no word of the author's."""
        return line - 1 > len(LINE_END.split(wtf8(self.written)))

    def _written_column(self, line: int, column: int) -> int:
        """The byte (from 0) as written, of a byte of the body; inside of what was put in, the place of it."""
        shift = 0
        for edit in self.edits:
            start = edit.column + shift
            if edit.line == line and column >= start:
                if column < start + edit.new:
                    return edit.column + min(column - start, edit.old)
                shift += edit.new - edit.old
        return column - shift


def file_of(source: str) -> str:
    """The name a source is compiled under comes of its content: the same source gives the same heap."""
    return FILE_PREFIX + blake3(wtf8(source)).hexdigest()[:8]


def develop_program(source: str) -> Program:
    """Wrap a develop source. Raises SourceError for modules and top-level `await`."""
    file, parsed = file_of(source), Syntax(source)
    if parsed.has_error:
        complaint = _error("the parser does not understand this", file, parsed, parsed.first_error())
        return _wrapped(source, source, file, complaint=complaint)
    _refuse_modules(parsed, file)
    renaming = _Renaming(source, parsed)
    return _wrapped(
        source,
        renaming.body,
        file,
        params=renaming.definer if renaming.edits else "",
        prefix=renaming.prefix,
        edits=tuple(renaming.edits),
        is_inert=parsed.is_inert(),
    )


def expression_program(expression: str, *, params: str = "") -> Program:
    """Wrap one expression, of which a trailing `;` is dropped. Raises SourceError for statements.

    `params` are the names that it sees besides the globals.
    """
    file = file_of(expression)
    inside, alone = Syntax(f"({expression}\n)"), Syntax(expression)
    body = expression
    if not inside.has_error:
        if not _is_one_bracket(inside):
            raise _error(EXPRESSION_ADVICE, file, alone, alone.root)
    elif not alone.has_error:
        body = _without_semicolon(alone, file)
    if not alone.has_error:
        _refuse_modules(alone, file)
    return _wrapped(expression, body, file, params=params, prefix="return (", suffix=")")


def library_program(source: str) -> Program:
    """Wrap a CommonJS file: sloppy code unless it says otherwise."""
    hidden = _unused_name("$source", source)
    body = "//" + source[2:] if source.startswith("#!") else source
    text = f"function {hidden}(exports,require,module){{\n{body}\n}}"
    program = f"{{let {hidden};{{throw {hidden};{text}}}}}"
    return Program(source, file_of(source), program, body, hidden, utf16_length(text))


def restored_text(name: str, text: str) -> str:
    """The text of a definition as it was written: undoes the renaming of declarations and of classes in it."""
    mangled = re.compile(rf"^((?:async\s+)?function\s*\*?\s*){re.escape(name + MANGLED)}[\d_]*\b")
    text = mangled.sub(lambda match: match[1] + name, text, count=1)
    for number, known in _BEGUN.findall(text):
        text = text.replace(_begin(number, known), "").replace(f"{known}{MANGLED}{number}", known)
    return text


def _begin(number: str, name: str) -> str:
    """What is put first into a class that knows its own name."""
    return f'static{{{DEFINER}{number}.begin("{name}",this)}}'


def utf16_length(text: str) -> int:
    """The length of a text as JavaScript counts."""
    return len(text) + sum(1 for char in text if char > "\uffff") if not text.isascii() else len(text)


class _Renaming:
    """What a source is rewritten to, so that in all of it the names of its definitions mean their stubs.

    Its top-level declarations become definitions: functions first, classes at their place. A class has its own name
    in it, too, which would mean the class itself: such classes, and those in `define("C", class C ...)`, are renamed
    where they use their names, and begin their definitions before their statics are made.
    """

    def __init__(self, source: str, parsed: Syntax) -> None:
        self._parsed = parsed
        self._number = _unused_number((MANGLED, DEFINER), source)
        self._declared: dict[str, int] = {}
        self.definer = DEFINER + self._number
        self.edits: list[Edit] = []
        self._bound: list[str] = []
        self._functions: dict[str, str] = {}
        changes = [change for node in parsed.root.named_children for change in self._declaration(node)]
        changes += [change for node in self._defined_classes() for change in self._class(node)]
        self.body = self._apply(sorted(changes))
        hides = "arguments[0]=void 0;" if changes else ""
        bound = [*self._functions.values(), *self._bound]
        self.prefix = (f"const {','.join(bound)};" if bound else "") + hides

    def _declaration(self, node: Node) -> list[_Change]:
        """What a top-level declaration needs."""
        name_node = node.child_by_field_name("name")
        if name_node is None or node.type not in FUNCTION_DECLARATIONS | {"class_declaration"}:
            return []
        name, doc = self._parsed.text(name_node), json.dumps(self._parsed.jsdoc_above(node))
        if node.type in FUNCTION_DECLARATIONS:
            mangled = self._mangled(name)
            self._functions[name] = f"{name}={self.definer}.define({json.dumps(name)},{mangled},{doc})"
            return [(name_node.start_byte, name_node.end_byte, mangled)]
        self._bound.append(f"{name}={self.definer}.reserve({json.dumps(name)})")
        return [
            (node.start_byte, node.start_byte, f"{self.definer}.define({json.dumps(name)},"),
            *self._class(node),
            (node.end_byte, node.end_byte, f",{doc});"),
        ]

    def _class(self, node: Node) -> list[_Change]:
        """What a class needs if it uses its own name: another name, which only its private members know it by."""
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        assert name_node is not None and body is not None
        name = self._parsed.text(name_node)
        uses = self._parsed.own_name_uses(node)
        if not uses:
            return []
        mangled = name + MANGLED + self._number
        begun = body.start_byte + 1
        renamed = [name_node, *(use for use in uses if is_private_access(use))]
        return [
            *((use.start_byte, use.end_byte, mangled) for use in renamed),
            (begun, begun, _begin(self._number, name)),
        ]

    def _defined_classes(self) -> list[Node]:
        """The classes C that are defined as `define("C", class C ...)`."""
        found = [
            self._parsed.root.named_descendant_for_byte_range(match.end() - 1, match.end())
            for match in _DEFINED_CLASS.finditer(self._parsed.content)
        ]
        if not found or "define" in self._parsed.declared_names():
            return []
        classes = [node.parent for node in found if node is not None and node.parent is not None]
        return [node for node in classes if node.type == "class" and is_defined_here(node)]

    def _mangled(self, name: str) -> str:
        """A name of its own for each function: of two of one name the last counts, as in JavaScript."""
        count = self._declared[name] = self._declared.get(name, 0) + 1
        return name + MANGLED + self._number + (f"_{count}" if count > 1 else "")

    def _apply(self, changes: list[_Change]) -> str:
        content, parts, at = self._parsed.content, [], 0
        starts = line_starts(content)
        for start, end, replacement in changes:
            parts += [content[at:start], wtf8(replacement)]
            line = bisect_right(starts, start)
            self.edits.append(Edit(line, start - starts[line - 1], end - start, len(wtf8(replacement))))
            at = end
        return b"".join([*parts, content[at:]]).decode("utf-8", "surrogatepass")


def _wrapped(
    source: str,
    body: str,
    file: str,
    *,
    params: str = "",
    prefix: str = "",
    suffix: str = "",
    edits: tuple[Edit, ...] = (),
    complaint: SourceError | None = None,
    is_inert: bool = False,
) -> Program:
    hidden = _unused_name("$source", source)
    text = f"function {hidden}({params}){{{prefix}\n{body}\n{suffix}}}"
    program = f'"use strict";{{throw {hidden};{text}}}'
    return Program(source, file, program, body, hidden, utf16_length(text), edits, complaint, is_inert)


def _refuse_modules(parsed: Syntax, file: str) -> None:
    module = parsed.module_declaration()
    if module is not None:
        raise _error(MODULE_ADVICE.format(module.type.split("_")[0]), file, parsed, module)
    waiting = parsed.top_level_await()
    if waiting is not None:
        raise _error(AWAIT_ADVICE, file, parsed, waiting)


def _is_one_bracket(inside: Syntax) -> bool:
    """Whether the whole text is one pair of round brackets."""
    statements = inside.statements()
    if len(statements) != 1 or not statements[0].named_children:
        return False
    bracket = statements[0].named_children[0]
    return bracket.type == "parenthesized_expression" and bracket.end_byte == len(inside.content)


def _without_semicolon(alone: Syntax, file: str) -> str:
    _refuse_modules(alone, file)
    statements = alone.statements()
    if not statements:
        raise _error(EMPTY_ADVICE, file, alone, alone.root)
    if len(statements) != 1 or statements[0].type != "expression_statement":
        raise _error(EXPRESSION_ADVICE, file, alone, statements[-1])
    last = statements[0].children[-1]
    end = last.start_byte if last.type == ";" else statements[0].end_byte
    return alone.content[:end].decode("utf-8", "surrogatepass")


def _error(message: str, file: str, parsed: Syntax, node: Node) -> SourceError:
    return SourceError(message, file, *parsed.position(node))


def _unused_number(bases: tuple[str, ...], source: str) -> str:
    """ "" or a number, such that the source has none of the bases with it."""
    number = 0
    while any(f"{base}{number or ''}" in source for base in bases):
        number += 1
    return str(number or "")


def _unused_name(base: str, source: str) -> str:
    """`base`, or `base` and a number, such that the source does not have it."""
    name, number = base, 0
    while name in source:
        number += 1
        name = f"{base}{number}"
    return name
