"""Reading the time at which a service says it may be asked again, in every form that was seen."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_LEAD = r"\b(?:again|retry|resets?|reached)(?:[ ](?:at|on|after)|\|)?[ ]*"
_STATED = re.compile(
    _LEAD
    + r"""(?P<date>
        (?P<epoch> \d{10} ) \b (?! [\d:.-] )
      | (?P<iso> \d{4}-\d\d-\d\d (?: [T ] \d\d:\d\d (?: :\d\d (?: \.\d+ )? )? (?: Z | [+-]\d\d:?\d\d )? )? )
      | (?: (?P<month> jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec ) [a-z]* \.? [ ] (?P<day> \d{1,2} )
            (?: st|nd|rd|th )? ,? (?: [ ] (?P<year> \d{4} ) ,? )? (?: [ ] at )? [ ]? )?
        (?P<hour> \d{1,2} ) (?: : (?P<minute> \d\d ) )? [ ]? (?P<half> am|pm )?
        (?: [ ]? \( (?P<zone> [A-Za-z_]+ (?: / [A-Za-z_+-]+ ){0,2} ) \) )?
      )""",
    re.IGNORECASE | re.VERBOSE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# A clock time this little in the past has just gone by; anything older means tomorrow.
_JUST_NOW = timedelta(minutes=10)


def stated_date(text: str) -> str:
    """Return the words that name a time to ask again, empty where there are none."""
    found = _STATED.search(text)
    if found is None:
        return ""
    clock = found["epoch"] is None and found["iso"] is None
    # A bare number is no time: "again in 5 minutes", "reached 5 of 6".
    return found["date"].strip() if not clock or found["half"] or found["minute"] else ""


def read_date(said: str, now: datetime) -> datetime | None:
    """Read what ``stated_date`` gave, as seen at ``now`` (an aware time, whose zone holds where none is named).

    Services name the minute and cut the seconds off, so the minute has to be over: its end is given. None for
    a date that does not exist.
    """
    found = _STATED.fullmatch(f"resets {said}")
    if found is None:
        return None
    try:
        if found["epoch"]:
            # Ten digits: seconds since 1970 from 2001 to 2286.
            return datetime.fromtimestamp(int(found["epoch"]), UTC)
        if found["iso"]:
            exact = datetime.fromisoformat(found["iso"])
            return exact if exact.tzinfo else exact.replace(tzinfo=now.tzinfo)
        return _read_clock(found, now) + timedelta(minutes=1)
    except (ValueError, OverflowError):
        return None


def _read_clock(found: re.Match[str], now: datetime) -> datetime:
    here = now.astimezone(_zone(found["zone"])) if found["zone"] else now
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if found["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(f"no hour: {hour}")
        hour = hour % 12 + (12 if found["half"].lower() == "pm" else 0)
    at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if not found["month"]:
        return at if at > here - _JUST_NOW else at + timedelta(days=1)
    month, day = _MONTHS.index(found["month"].lower()) + 1, int(found["day"])
    at = at.replace(year=int(found["year"] or here.year), month=month, day=day)
    # "Jan 2" said in December is next year's; half a year apart decides.
    if not found["year"] and at < here - timedelta(days=180):
        at = at.replace(year=here.year + 1)
    return at


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError):
        raise ValueError(f"no time zone: {name}") from None
