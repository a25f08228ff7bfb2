"""What one operation asks of other worlds and hears from them, over all its runs."""

from __future__ import annotations

from collections import deque
from typing import Any

from engine.hub.messages import Answered, Ask


class Asked:
    """One ask that was sent to another world, and its answer."""

    __slots__ = ("answer", "ask", "run", "token")

    def __init__(self, ask: Ask, run: int, token: int) -> None:
        self.ask = ask
        self.run = run  # the last run that asked it
        self.token = token  # of the timer that ends the waiting
        self.answer: tuple[bool, bytes, str] | None = None  # ok, value, kind


class Talk:
    """The asks of one operation and their answers. Only operations that ask have one."""

    __slots__ = ("asked", "detail", "heard", "inbox", "open", "unheard")

    def __init__(self) -> None:
        self.asked: dict[Ask, Asked] = {}  # over all runs
        self.open: dict[int, Asked] = {}  # not answered yet, by the ordinal of their AskPeer
        self.begin_again()

    def begin_again(self) -> None:
        """The next run starts with nothing asked and nothing heard."""
        self.inbox: deque[Asked] = deque()  # answered, to be heard by this run
        self.heard: list[Answered] = []  # by this run
        self.unheard = 0  # asked by this run and not heard
        self.detail: Any = None  # all that it goes on with, while it is parked
