"""Data as it will be: rows of a snapshot under writes that are not committed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from language import Rows

from engine.logic import Overlaid

KEYS = st.text("ab\U00010000\uffff", max_size=3)
VALUES = st.sampled_from([b"1", b"2"])


def test_writes_lie_over_the_snapshot_and_deletions_hide_it() -> None:
    view = Overlaid(Rows({"a": b"1", "b": b"2"}), {"b": None, "c": b"3"})
    assert [view.get(key) for key in "abcd"] == [b"1", None, b"3", None]
    assert view.list("", None, None) == [("a", b"1"), ("c", b"3")]


def test_a_page_is_full_although_rows_before_its_end_were_deleted() -> None:
    view = Overlaid(Rows({f"k{n}": b"1" for n in range(9)}), {"k1": None, "k2": None, "k15": b"2"})
    assert [key for key, _ in view.list("k", "k0", 3)] == ["k15", "k3", "k4"]


def test_it_shows_writes_made_after_it() -> None:
    writes: dict[str, bytes | None] = {}
    view = Overlaid(Rows({}), writes)
    writes["k"] = b"1"
    assert (view.get("k"), view.list("", None, None)) == (b"1", [("k", b"1")])


def test_a_page_is_full_though_most_of_several_pages_of_rows_were_deleted() -> None:
    rows = {f"k{n:03}": b"1" for n in range(450)}
    view = Overlaid(Rows(rows), {key: None for key in rows if not key.endswith("49")})
    assert [key for key, _ in view.list("k", None, 4)] == ["k049", "k149", "k249", "k349"]
    assert [key for key, _ in view.list("k", "k149", None)] == ["k249", "k349", "k449"]


@given(
    rows=st.dictionaries(KEYS, VALUES),
    writes=st.dictionaries(KEYS, st.none() | VALUES),
    more=st.dictionaries(KEYS, st.none() | VALUES),
    prefix=KEYS,
    after=st.none() | KEYS,
    limit=st.none() | st.integers(1, 4),
)
def test_any_overlays_read_like_the_data_that_they_lead_to(rows, writes, more, prefix, after, limit) -> None:
    merged = {**rows, **writes, **more}
    real = Rows({key: value for key, value in merged.items() if value is not None})
    view = Overlaid(Overlaid(Rows(rows), writes), more)
    assert view.list(prefix, after, limit) == real.list(prefix, after, limit)
    assert [view.get(key) for key in merged] == [real.get(key) for key in merged]
