"""Flicks: time as whole numbers of 1/705,600,000 s. Nothing here is a float.

One flick divides evenly into milliseconds, into one frame of every usual film rate (24000/1001 too) and into
one sample of every usual audio rate. What it cannot divide, a microsecond or a nanosecond, has to say how it
rounds: `exact` raises NotExact, `floor` goes towards the past, `ceil` towards the future, `nearest` to the
closer one (the even one of two).

A point in time is flicks since 1970-01-01T00:00:00Z, negative before it; leap seconds do not exist.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

from engine.limits import FLICKS_PER_SECOND

Rounding = Literal["exact", "floor", "ceil", "nearest"]

FLICKS_PER_MILLISECOND = FLICKS_PER_SECOND // 1000
SECONDS_PER_DAY = 86_400
FLICKS_PER_DAY = SECONDS_PER_DAY * FLICKS_PER_SECOND
DIGITS_MAX = 9
YEAR_MAX = 999_999

FRAME_RATES = (
    Fraction(24000, 1001),
    Fraction(24),
    Fraction(25),
    Fraction(30000, 1001),
    Fraction(30),
    Fraction(48),
    Fraction(50),
    Fraction(60000, 1001),
    Fraction(60),
    Fraction(90),
    Fraction(100),
    Fraction(120000, 1001),
    Fraction(120),
)
AUDIO_RATES = tuple(
    Fraction(hertz) for hertz in (8000, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 192000)
)

_ISO = re.compile(
    r"(?P<year>[+-]\d{6}|\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"T(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d+))?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?\Z",
    re.ASCII,
)
_RATE = re.compile(r"\d{1,9}(?:/(?P<below>\d{1,9})|\.\d{1,9})?\Z", re.ASCII)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_PER_400_YEARS = 146_097
_DAYS_TO_EPOCH = 719_468  # from 0000-03-01 to 1970-01-01


class NotExact(ValueError):
    """A conversion that would have to round and was not told how."""


class BadTime(ValueError):
    """A text, rate or count that is no time; says what would be one."""


# ---- division, the one place that rounds


def divide_floor(dividend: int, divisor: int) -> int:
    """The quotient, rounded towards the past.

    pre: divisor > 0
    post: _ * divisor <= dividend < (_ + 1) * divisor
    """
    return dividend // divisor


def divide_ceil(dividend: int, divisor: int) -> int:
    """The quotient, rounded towards the future.

    pre: divisor > 0
    post: (_ - 1) * divisor < dividend <= _ * divisor
    """
    return -(-dividend // divisor)


def divide_nearest(dividend: int, divisor: int) -> int:
    """The closest quotient; of two that are equally close, the even one.

    pre: divisor > 0
    post: 2 * abs(dividend - _ * divisor) <= divisor
    post: 2 * abs(dividend - _ * divisor) < divisor or _ % 2 == 0
    """
    quotient, rest = divmod(dividend, divisor)
    if 2 * rest > divisor or (2 * rest == divisor and quotient % 2):
        return quotient + 1
    return quotient


def _divide(dividend: int, divisor: int, rounding: Rounding, what: str) -> int:
    """The quotient, rounded as told; `what` is the sentence's middle for NotExact."""
    if rounding == "floor":
        return divide_floor(dividend, divisor)
    if rounding == "ceil":
        return divide_ceil(dividend, divisor)
    if rounding == "nearest":
        return divide_nearest(dividend, divisor)
    assert rounding == "exact", f"a rounding is exact, floor, ceil or nearest, not {rounding!r}"
    quotient, rest = divmod(dividend, divisor)
    if rest:
        raise NotExact(f"{what}; say rounding='floor', 'ceil' or 'nearest', or use a rate that divides")
    return quotient


# ---- counts of a unit


def flicks_from_seconds(seconds: int | Fraction, rounding: Rounding = "exact") -> int:
    """Flicks of a number of seconds. Raises NotExact for a fraction that no whole number of flicks makes."""
    _refuse_float(seconds, "seconds")
    flicks = Fraction(seconds) * FLICKS_PER_SECOND
    return _divide(
        flicks.numerator, flicks.denominator, rounding, f"{seconds} s is not a whole number of flicks"
    )


def seconds_from_flicks(flicks: int) -> Fraction:
    """Seconds, exactly."""
    return Fraction(flicks, FLICKS_PER_SECOND)


def flicks_from_milliseconds(milliseconds: int) -> int:
    """Flicks of whole milliseconds, exactly.

    post: _ == milliseconds * 705600
    """
    _refuse_float(milliseconds, "milliseconds")
    return milliseconds * FLICKS_PER_MILLISECOND


def milliseconds_from_flicks(flicks: int, rounding: Rounding = "exact") -> int:
    """Whole milliseconds. Raises NotExact where there is a rest and no rounding was told."""
    return _divide(
        flicks,
        FLICKS_PER_MILLISECOND,
        rounding,
        f"{flicks} flicks are not a whole number of milliseconds (1 ms is {FLICKS_PER_MILLISECOND})",
    )


def flicks_from_nanoseconds(nanoseconds: int, rounding: Rounding = "exact") -> int:
    """Flicks; one is about 1.417 ns. Raises NotExact where there is a rest and no rounding was told."""
    _refuse_float(nanoseconds, "nanoseconds")
    return _divide(nanoseconds * 441, 625, rounding, f"{nanoseconds} ns are not a whole number of flicks")


def nanoseconds_from_flicks(flicks: int, rounding: Rounding = "exact") -> int:
    """Nanoseconds. With "nearest" here and on the way back, the same flick comes back. Raises NotExact."""
    return _divide(flicks * 625, 441, rounding, f"{flicks} flicks are not a whole number of nanoseconds")


# ---- rates: frames, samples, ticks


def parse_rate(text: str) -> Fraction:
    """A rate a second from text: "24", "24000/1001", "12.5". Raises BadTime."""
    match = _RATE.match(text)
    if not match:
        raise BadTime(f"{text!r} is no rate; write '24', '24000/1001' or '44100'")
    if match["below"] is not None and int(match["below"]) == 0:
        raise BadTime(f"{text!r} divides by zero; write '24', '24000/1001' or '44100'")
    rate = Fraction(text)
    if rate == 0:
        raise BadTime(f"{text!r}: a rate must be above zero")
    return rate


def flicks_per(rate: Fraction | int) -> int:
    """Flicks of one frame, sample or tick at a rate a second. Raises NotExact, BadTime."""
    _refuse_float(rate, "rate")
    rate = Fraction(rate)
    if rate <= 0:
        raise BadTime(f"a rate must be above zero, not {rate}")
    one = FLICKS_PER_SECOND / rate
    if one.denominator != 1:
        nearest = min(FRAME_RATES + AUDIO_RATES, key=lambda usual: abs(usual - rate))
        raise NotExact(
            f"one of {rate} a second is not a whole number of flicks; the closest usual rate is {nearest}"
        )
    return one.numerator


def start_flicks(index: int, rate: Fraction | int) -> int:
    """The flick at which a frame, sample or tick begins; number 0 begins at 0. Raises NotExact, BadTime."""
    return index * flicks_per(rate)


def index_at(flicks: int, rate: Fraction | int) -> int:
    """The frame, sample or tick that is on at a flick: the last that has begun. Raises NotExact, BadTime."""
    return divide_floor(flicks, flicks_per(rate))


def index_from(flicks: int, rate: Fraction | int) -> int:
    """The first frame, sample or tick that begins at a flick or after it. Raises NotExact, BadTime."""
    return divide_ceil(flicks, flicks_per(rate))


# ---- the calendar: proleptic Gregorian, UTC


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the proleptic Gregorian calendar; year 0 is 1 BC.

    pre: 1 <= month <= 12
    pre: 1 <= day <= 31
    pre: -9999 <= year <= 9999
    post: day > 28 or civil_from_days(_) == (year, month, day)
    """
    # Years begin in March here, so that the leap day is a year's last and months need no table.
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    month_from_march = (month + 9) % 12
    day_of_year = (153 * month_from_march + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_PER_400_YEARS + day_of_era - _DAYS_TO_EPOCH


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month, day of a number of days since 1970-01-01.

    pre: -4000000 < days < 2900000
    post: 1 <= _[1] <= 12 and 1 <= _[2] <= 31
    """
    era, day_of_era = divmod(days + _DAYS_TO_EPOCH, _DAYS_PER_400_YEARS)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = (month_from_march + 2) % 12 + 1
    return era * 400 + year_of_era + (month <= 2), month, day


def is_leap_year(year: int) -> bool:
    """Whether a year has a 29th of February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


# ---- ISO 8601


def flicks_from_iso(text: str, rounding: Rounding = "exact") -> int:
    """Flicks since the epoch of an ISO-8601 time with its zone: 2000-01-01T00:00:00.250Z, ...T01:00:00+01:00.

    Years are four digits, or a sign and six. Up to three digits of a second's fraction are exact. Raises
    BadTime, NotExact.
    """
    match = _ISO.match(text)
    if not match:
        raise BadTime(f"{text!r} is no ISO-8601 time; write it like 2000-01-01T00:00:00.250Z")
    if match["zone"] is None:
        raise BadTime(f"{text!r} names no zone; end it with Z for UTC, or with an offset like +02:00")
    days = _days_of(int(match["year"]), int(match["month"]), int(match["day"]), text)
    seconds = days * SECONDS_PER_DAY + _seconds_of_day(match, text) - _offset_seconds(match["zone"], text)
    digits = match["fraction"] or "0"
    scale = 10 ** len(digits)
    return _divide(
        (seconds * scale + int(digits)) * FLICKS_PER_SECOND,
        scale,
        rounding,
        f"{text!r} is between two flicks",
    )


def iso_from_flicks(flicks: int, *, digits: int = 3, rounding: Rounding = "floor") -> str:
    """A point in time as ISO-8601 text in UTC, with so many digits of a second's fraction (0 to 9).

    With 9 digits and rounding "nearest", `flicks_from_iso(text, "nearest")` brings the same flick back.
    Raises NotExact, BadTime.
    """
    assert 0 <= digits <= DIGITS_MAX, f"0 to {DIGITS_MAX} digits"
    scale = 10**digits
    units = _divide(
        flicks * scale,
        FLICKS_PER_SECOND,
        rounding,
        f"{flicks} flicks have no exact text with {digits} digits",
    )
    seconds, fraction = divmod(units, scale)
    days, second_of_day = divmod(seconds, SECONDS_PER_DAY)
    year, month, day = civil_from_days(days)
    minute_of_day, second = divmod(second_of_day, 60)
    hour, minute = divmod(minute_of_day, 60)
    if abs(year) > YEAR_MAX:
        raise BadTime(f"{flicks} flicks are in the year {year}; texts go to {YEAR_MAX} either way")
    year_text = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+07d}"
    fraction_text = f".{fraction:0{digits}d}" if digits else ""
    return f"{year_text}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}{fraction_text}Z"


def _days_of(year: int, month: int, day: int, text: str) -> int:
    if not 1 <= month <= 12:
        raise BadTime(f"{text!r}: month {month} does not exist; 01 to 12")
    days_in_month = 29 if month == 2 and is_leap_year(year) else _MONTH_DAYS[month - 1]
    if not 1 <= day <= days_in_month:
        raise BadTime(f"{text!r}: day {day} does not exist; that month has 01 to {days_in_month}")
    return days_from_civil(year, month, day)


def _seconds_of_day(match: re.Match[str], text: str) -> int:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"])
    if hour > 23 or minute > 59:
        raise BadTime(f"{text!r}: {hour:02d}:{minute:02d} is no time of day; 00:00 to 23:59")
    if second == 60:
        raise BadTime(f"{text!r}: leap seconds do not exist here; write the second before or after")
    if second > 59:
        raise BadTime(f"{text!r}: second {second} does not exist; 00 to 59")
    return (hour * 60 + minute) * 60 + second


def _offset_seconds(zone: str, text: str) -> int:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 23 or minutes > 59:
        raise BadTime(f"{text!r}: {zone} is no offset; -23:59 to +23:59")
    seconds = (hours * 60 + minutes) * 60
    return -seconds if zone[0] == "-" else seconds


def _refuse_float(value: object, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise BadTime(f"{what}: an int or a Fraction, not {type(value).__name__}; time is never a float")
