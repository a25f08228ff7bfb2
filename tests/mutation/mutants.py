"""Small mistakes that a module could have: each a change of one place of its text.

What could not matter or would be noise is left alone: assertions (they judge our own mistakes), texts and bytes,
annotations, imports, what only a type checker reads.
"""

from __future__ import annotations

import ast
import copy
from typing import NamedTuple


class Mutant(NamedTuple):
    """One change: the text from `start` to `end` (characters) becomes `after`. `line` counts from 1."""

    kind: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def applied(self, text: str) -> str:
        """The module with this mistake."""
        assert text[self.start : self.end] == self.before, "a mutant is of this very text"
        return text[: self.start] + self.after + text[self.end :]

    def __str__(self) -> str:
        return f"{self.line}: {self.kind}: {_one_line(self.before)} -> {_one_line(self.after)}"


def mutants_of(text: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    finder = _Finder(text)
    finder.visit(ast.parse(text))
    return sorted(finder.found, key=lambda mutant: (mutant.start, mutant.end, mutant.kind, mutant.after))


_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_NAMES_LEFT_ALONE = frozenset({"__slots__", "__all__", "TYPE_CHECKING"})


class _Finder(ast.NodeVisitor):
    def __init__(self, text: str) -> None:
        self.found: list[Mutant] = []
        self._text = text
        self._line_starts = [0]
        for line in text.splitlines(keepends=True):
            self._line_starts.append(self._line_starts[-1] + len(line))
        self._lines = text.splitlines(keepends=True)

    # -- what is left alone

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts for people; and Python 3.11 does not know where in the text their parts are."""

    def visit_arg(self, node: ast.arg) -> None:
        """Its annotation."""

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self._condition(node.test)
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._statement(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (node.args, *node.body):
            self.visit(part)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in node.body:
            self.visit(part)

    # -- conditions and values

    def visit_While(self, node: ast.While) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for index, operator in enumerate(node.ops):
            mutated = copy.deepcopy(node)
            mutated.ops[index] = _COMPARISONS[type(operator)]()
            self._add("comparison", node, mutated)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        mutated = copy.deepcopy(node)
        mutated.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add("and/or", node, mutated)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._add("not", node, node.operand)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = _ARITHMETIC.get(type(node.op))
        if other is not None and not (_is_text(node.left) or _is_text(node.right)):
            mutated = copy.deepcopy(node)
            mutated.op = other()
            self._add("arithmetic", node, mutated)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("constant", node, ast.Constant(not node.value))
        elif isinstance(node.value, int):
            self._add("off by one", node, ast.Constant(node.value + 1))

    # -- statements that are left out

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._statement(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if _NAMES_LEFT_ALONE.isdisjoint(names):
            if not names:  # without a name of its own, what follows would not even run
                self._statement(node)
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._statement(node)
        other = _ARITHMETIC.get(type(node.op))
        if other is not None and not _is_text(node.value):
            mutated = copy.deepcopy(node)
            mutated.op = other()
            self._add("arithmetic", node, mutated, is_statement=True)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        self._statement(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._statement(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._statement(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._statement(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._add("result", node, ast.Return(ast.Constant(None)), is_statement=True)
        elif node.value is None:
            self._statement(node)
        self.generic_visit(node)

    # -- their parts

    def _condition(self, test: ast.expr) -> None:
        """A condition the other way round, where no other change of it says the same."""
        if isinstance(test, ast.NamedExpr | ast.Compare) or (
            isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        ):
            return
        if not isinstance(test, ast.Constant):
            self._add("condition", test, ast.UnaryOp(ast.Not(), test))

    def _statement(self, node: ast.stmt) -> None:
        self._add("left out", node, ast.Pass(), is_statement=True)

    def _add(
        self, kind: str, node: ast.expr | ast.stmt, mutated: ast.AST, *, is_statement: bool = False
    ) -> None:
        start, end = self._place(node)
        after = ast.unparse(ast.fix_missing_locations(mutated))
        if not is_statement and not isinstance(node, ast.Constant):
            after = f"({after})"
        self.found.append(Mutant(kind, node.lineno, start, end, self._text[start:end], after))

    def _place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _at(self, line: int, column_bytes: int) -> int:
        before = self._lines[line - 1].encode()[:column_bytes].decode()
        return self._line_starts[line - 1] + len(before)


def _is_text(node: ast.expr) -> bool:
    """Whether it is plainly a text or bytes: adding is joining there, and taking away is no mistake anyone makes."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:99]}…"
