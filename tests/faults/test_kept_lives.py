"""Lives that broke a promise once, as the few steps that did it; the files are named by what must hold."""

import pytest

from faults.telling import kept_lives
from faults.twice import live_twice

KEPT = kept_lives()


def test_lives_are_kept() -> None:
    assert KEPT


@pytest.mark.parametrize("sentence", KEPT)
def test_what_broke_once_holds(sentence: str) -> None:
    live_twice(KEPT[sentence])
