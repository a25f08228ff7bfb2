"""Flicks: exact conversions, rounding that has a name, times as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.clock import flicks as f
from engine.limits import FLICKS_PER_SECOND

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
moments = st.datetimes(timezones=st.just(UTC))
any_flicks = st.integers(-(10**20), 10**20)


@pytest.mark.parametrize(
    "rate, flicks",
    [
        (Fraction(24000, 1001), 29_429_400),
        (24, 29_400_000),
        (25, 28_224_000),
        (Fraction(30000, 1001), 23_543_520),
        (60, 11_760_000),
        (120, 5_880_000),
        (8000, 88_200),
        (22050, 32_000),
        (44100, 16_000),
        (48000, 14_700),
        (192000, 3_675),
    ],
)
def test_a_frame_or_sample_is_whole_flicks(rate, flicks):
    assert f.flicks_per(rate) == flicks


@pytest.mark.parametrize("rate", f.FRAME_RATES + f.AUDIO_RATES, ids=str)
def test_every_usual_rate_divides_a_second_exactly(rate):
    assert f.flicks_per(rate) * rate == FLICKS_PER_SECOND


def test_a_short_decimal_for_a_film_rate_is_refused_and_the_film_rate_named():
    with pytest.raises(f.NotExact) as refusal:
        f.flicks_per(f.parse_rate("29.97"))
    assert str(refusal.value) == (
        "one of 2997/100 a second is not a whole number of flicks; the closest usual rate is 30000/1001"
    )


@pytest.mark.parametrize(
    "text, rate",
    [("24", Fraction(24)), ("24000/1001", Fraction(24000, 1001)), ("12.5", Fraction(25, 2))],
)
def test_a_rate_is_read_exactly(text, rate):
    assert f.parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["", "0", "0.0", "24/0", "-24", "24 ", "1e3", "24000/1001/2", "٢٤", "inf", "24\n"]
)
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(f.BadTime):
        f.parse_rate(text)


@given(st.integers(-(10**12), 10**12), st.sampled_from(f.FRAME_RATES + f.AUDIO_RATES))
def test_a_frame_is_on_from_its_start_to_just_before_the_next(index, rate):
    start = f.start_flicks(index, rate)
    assert f.index_at(start, rate) == index == f.index_from(start, rate)
    assert f.index_at(f.start_flicks(index + 1, rate) - 1, rate) == index
    assert f.index_from(start + 1, rate) == index + 1


def test_frame_1001_at_24000_1001_begins_with_second_1001_of_24():
    assert f.start_flicks(24000, Fraction(24000, 1001)) == 1001 * FLICKS_PER_SECOND


def test_seconds_are_exact_or_say_how_they_round():
    third = Fraction(1, 3)
    fine = Fraction(1, 11)
    assert f.flicks_from_seconds(third) == 235_200_000
    assert f.flicks_from_seconds(fine, "floor") == 64_145_454
    assert f.flicks_from_seconds(fine, "ceil") == 64_145_455
    assert f.flicks_from_seconds(-fine, "floor") == -64_145_455
    assert f.flicks_from_seconds(-fine, "ceil") == -64_145_454
    assert f.flicks_from_seconds(fine, "nearest") == 64_145_455
    with pytest.raises(f.NotExact, match=r"1/11 s .*say rounding='floor', 'ceil' or 'nearest'"):
        f.flicks_from_seconds(fine)


def test_halves_go_to_the_even_one():
    assert [f.divide_nearest(n, 2) for n in (-3, -1, 1, 3, 5)] == [-2, 0, 0, 2, 2]


@given(any_flicks)
def test_seconds_bring_the_flick_back(flicks):
    assert f.flicks_from_seconds(f.seconds_from_flicks(flicks)) == flicks


@given(st.integers(-(10**15), 10**15))
def test_milliseconds_are_exact_both_ways(milliseconds):
    flicks = f.flicks_from_milliseconds(milliseconds)
    assert f.milliseconds_from_flicks(flicks) == milliseconds
    assert f.milliseconds_from_flicks(flicks + 1, "floor") == milliseconds
    assert f.milliseconds_from_flicks(flicks + 1, "ceil") == milliseconds + 1
    with pytest.raises(f.NotExact):
        f.milliseconds_from_flicks(flicks + 1)


@given(any_flicks)
def test_the_nearest_nanosecond_brings_the_flick_back(flicks):
    nanoseconds = f.nanoseconds_from_flicks(flicks, "nearest")
    assert f.flicks_from_nanoseconds(nanoseconds, "nearest") == flicks


@pytest.mark.parametrize("value", [1.0, 0.5, "1", None, True])
def test_a_float_never_becomes_time(value):
    for convert in (
        f.flicks_from_seconds,
        f.flicks_from_milliseconds,
        f.flicks_from_nanoseconds,
        f.flicks_per,
    ):
        with pytest.raises(f.BadTime, match="an int or a Fraction"):
            convert(value)


# ---- text


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("1970-01-01T00:00:00Z", Fraction(0)),
        ("2000-01-01T00:00:00Z", Fraction(946_684_800)),
        ("2000-01-01T00:00:00.250Z", Fraction(946_684_800) + Fraction(1, 4)),
        ("2000-01-01T02:00:00+02:00", Fraction(946_684_800)),
        ("1999-12-31T19:30:00-04:30", Fraction(946_684_800)),
        ("1969-12-31T23:59:59.999Z", Fraction(-1, 1000)),
        ("2024-02-29T12:00:00Z", Fraction(1_709_208_000)),
        ("0000-01-01T00:00:00Z", Fraction(-62_167_219_200)),
        ("-000001-12-31T00:00:00Z", Fraction(-62_167_305_600)),
        ("+010000-01-01T00:00:00Z", Fraction(253_402_300_800)),
    ],
)
def test_a_time_is_read_exactly(text, seconds):
    assert f.seconds_from_flicks(f.flicks_from_iso(text)) == seconds


@pytest.mark.parametrize(
    "text, says",
    [
        ("2000-01-01T00:00:00", "names no zone; end it with Z"),
        ("2000-01-01", "is no ISO-8601 time; write it like 2000-01-01T00:00:00.250Z"),
        ("2000-01-01 00:00:00Z", "is no ISO-8601 time"),
        ("2000-13-01T00:00:00Z", "month 13 does not exist"),
        ("2000-00-01T00:00:00Z", "month 0 does not exist"),
        ("2023-02-29T00:00:00Z", "day 29 does not exist; that month has 01 to 28"),
        ("1900-02-29T00:00:00Z", "that month has 01 to 28"),
        ("2000-04-31T00:00:00Z", "that month has 01 to 30"),
        ("2000-01-01T24:00:00Z", "24:00 is no time of day"),
        ("2000-01-01T00:60:00Z", "00:60 is no time of day"),
        ("2016-12-31T23:59:60Z", "leap seconds do not exist here"),
        ("2000-01-01T00:00:61Z", "second 61 does not exist"),
        ("2000-01-01T00:00:00+24:00", "is no offset"),
        ("2000-01-01T00:00:00Z\n", "is no ISO-8601 time"),
        ("٢٠٠٠-01-01T00:00:00Z", "is no ISO-8601 time"),
    ],
)
def test_what_is_no_time_is_refused_with_what_would_be(text, says):
    with pytest.raises(f.BadTime) as refusal:
        f.flicks_from_iso(text)
    assert says in str(refusal.value)


def test_a_time_between_two_flicks_must_say_how_it_rounds():
    text = "1970-01-01T00:00:00.000001Z"
    with pytest.raises(f.NotExact, match="between two flicks"):
        f.flicks_from_iso(text)
    assert [f.flicks_from_iso(text, rounding) for rounding in ("floor", "ceil", "nearest")] == [705, 706, 706]


def test_text_rounds_towards_the_past_unless_told():
    almost = FLICKS_PER_SECOND - 1
    assert f.iso_from_flicks(almost) == "1970-01-01T00:00:00.999Z"
    assert f.iso_from_flicks(almost, rounding="ceil") == "1970-01-01T00:00:01.000Z"
    assert f.iso_from_flicks(-1) == "1969-12-31T23:59:59.999Z"
    assert f.iso_from_flicks(almost, digits=0) == "1970-01-01T00:00:00Z"
    with pytest.raises(f.NotExact, match="no exact text with 3 digits"):
        f.iso_from_flicks(almost, rounding="exact")


@given(moments)
def test_text_of_a_time_is_what_datetime_says(moment):
    microseconds = (moment - EPOCH) // timedelta(microseconds=1)
    flicks = f.flicks_from_seconds(Fraction(microseconds, 10**6), "nearest")
    said = f.iso_from_flicks(flicks, digits=6, rounding="nearest")
    assert said == moment.strftime("%Y").zfill(4) + moment.strftime("-%m-%dT%H:%M:%S.%fZ")


@given(any_flicks)
def test_nine_digits_bring_the_same_flick_back(flicks):
    text = f.iso_from_flicks(flicks, digits=9, rounding="nearest")
    assert f.flicks_from_iso(text, "nearest") == flicks


def test_a_time_past_what_text_can_say_is_refused():
    last = f.flicks_from_iso("+999999-12-31T23:59:59.999Z")
    assert f.iso_from_flicks(last) == "+999999-12-31T23:59:59.999Z"
    with pytest.raises(f.BadTime, match="year 1000000"):
        f.iso_from_flicks(last + FLICKS_PER_SECOND)


@given(st.integers(-3_000_000, 2_800_000))
def test_a_day_of_the_calendar_comes_back(days):
    year, month, day = f.civil_from_days(days)
    assert f.days_from_civil(year, month, day) == days
    assert f.civil_from_days(days + 1) > (year, month, day)
