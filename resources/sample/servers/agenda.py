"""A calendar."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from servers.kit import Kit, RecordFile, ToolError, maybe, number, text, texts

START = [
    {"title": "Dentist", "start": "2026-12-01T09:00", "end": "2026-12-01T09:45"},
    {"title": "Team lunch", "start": "2026-12-02T12:00", "end": "2026-12-02T13:30"},
    {"title": "Call with Ana", "start": "2026-12-02T15:00", "end": "2026-12-02T15:30"},
]


def make(folder: Path) -> Kit:
    """The tools of the calendar server."""
    kit = Kit("Times are local and written like 2026-12-01T09:00. Ask before cancelling events.")
    start = [{**event, "place": "", "attendees": []} for event in START]
    events = RecordFile(folder / "events.json", start)
    which = number("Id of the event, as given by list_events")
    day = text("Day as YYYY-MM-DD")

    def on_day(date: str) -> list[dict[str, Any]]:
        on_date = [event for event in events.all() if event["start"].startswith(date)]
        return sorted(on_date, key=lambda event: str(event["start"]))

    @kit.tool(
        "Create a calendar event. Other events at the same time are reported, not refused.",
        title=text("What the event is called"),
        start=text("Begin, like 2026-12-01T09:00"),
        end=text("End, like 2026-12-01T10:00"),
        place=maybe(text("Where it takes place"), ""),
        attendees=maybe(texts("Mail addresses of the people invited")),
    )
    def create_event(
        title: str, start: str, end: str, place: str, attendees: list[str] | None = None
    ) -> dict[str, Any]:
        _moment(start), _moment(end)
        clashes = [e["title"] for e in on_day(start[:10]) if e["start"] < end and e["end"] > start]
        new = events.add(title=title, start=start, end=end, place=place, attendees=attendees or [])
        return {**new, "overlaps": clashes}

    @kit.tool("Show the events of one day in order of their time.", reads=True, date=day)
    def list_events(date: str) -> list[dict[str, Any]]:
        return on_day(date)

    @kit.tool("Show everything about one event.", reads=True, event_id=which)
    def get_event(event_id: int) -> dict[str, Any]:
        return events.one(event_id)

    @kit.tool(
        "Find free time slots on a day between 9:00 and 17:00 that are long enough for a meeting.",
        reads=True,
        date=day,
        minutes=maybe(number("Length that is needed, in minutes", minimum=5), 30),
    )
    def find_free_slots(date: str, minutes: int) -> list[str]:
        free, at = [], _moment(f"{date}T09:00")
        for event in [*on_day(date), {"start": f"{date}T17:00", "end": f"{date}T17:00"}]:
            if _moment(event["start"]) - at >= timedelta(minutes=minutes):
                free.append(f"{at:%H:%M} to {event['start'][11:]}")
            at = max(at, _moment(event["end"]))
        return free

    @kit.tool(
        "Change the time, title or place of an event; what is not given stays.",
        event_id=which,
        title=maybe(text("New title")),
        start=maybe(text("New begin")),
        end=maybe(text("New end")),
        place=maybe(text("New place")),
    )
    def update_event(event_id: int, **changes: str) -> dict[str, Any]:
        return events.change(event_id, **changes)

    @kit.tool("Cancel an event and remove it from the calendar.", destroys=True, event_id=which)
    def cancel_event(event_id: int) -> dict[str, Any]:
        return events.remove(event_id)

    @kit.tool(
        "Invite people to an event by their mail addresses.",
        event_id=which,
        attendees=texts("Mail addresses to add"),
    )
    def add_attendees(event_id: int, attendees: list[str]) -> dict[str, Any]:
        all_of_them = sorted({*events.one(event_id)["attendees"], *attendees})
        return events.change(event_id, attendees=all_of_them)

    @kit.tool(
        "Search events by words in their title or place, past and future.",
        reads=True,
        query=text("Words to look for"),
    )
    def search_events(query: str) -> list[dict[str, Any]]:
        return events.search(query, "title", "place")

    return kit


def _moment(written: str) -> datetime:
    try:
        return datetime.fromisoformat(written)
    except ValueError as error:
        raise ToolError(f"{written} is not a time like 2026-12-01T09:00.") from error
