"""Weather that is made up but always the same for a place and a day."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

from servers.kit import Kit, ToolError, maybe, number, text

PLACES = {
    "lisbon": {"name": "Lisbon", "country": "Portugal", "warmth": 17},
    "tokyo": {"name": "Tokyo", "country": "Japan", "warmth": 15},
    "oslo": {"name": "Oslo", "country": "Norway", "warmth": 6},
    "nairobi": {"name": "Nairobi", "country": "Kenya", "warmth": 19},
    "berlin": {"name": "Berlin", "country": "Germany", "warmth": 10},
}
SKIES = ("clear", "cloudy", "light rain", "showers", "fog", "sunny", "windy")


def make(_folder: Path) -> Kit:
    """The tools of the weather server."""
    kit = Kit(f"Fixed sample data for {', '.join(p['name'] for p in PLACES.values())}.")
    where = text("Name of a city, for instance Lisbon")

    @kit.tool(
        "Get the weather at this moment in a city: temperature, sky, wind and humidity.",
        reads=True,
        city=where,
    )
    def current_weather(city: str) -> dict[str, Any]:
        return _day(city, date.today())

    @kit.tool(
        "Get the weather forecast for the coming days: lowest and highest temperature, sky, rain. "
        "Use it for questions about tomorrow or the week.",
        reads=True,
        city=where,
        days=maybe(number("How many days, 1 to 14", minimum=1, maximum=14), 3),
    )
    def daily_forecast(city: str, days: int) -> list[dict[str, Any]]:
        today = date.today()
        return [_day(city, today + timedelta(days=i)) for i in range(1, min(days, 14) + 1)]

    @kit.tool(
        "Get the forecast for each of the next hours of today.",
        reads=True,
        city=where,
        hours=maybe(number("How many hours, 1 to 24", minimum=1, maximum=24), 6),
    )
    def hourly_forecast(city: str, hours: int) -> list[dict[str, Any]]:
        day = _day(city, date.today())
        return [
            {"in_hours": h, "celsius": day["celsius"] - h % 5, "sky": SKIES[h % 7]}
            for h in range(1, min(hours, 24) + 1)
        ]

    @kit.tool("Get warnings of storms, floods or heat for a city.", reads=True, city=where)
    def weather_alerts(city: str) -> list[str]:
        day = _day(city, date.today())
        return [f"Strong wind in {city}"] if day["wind_kmh"] > 35 else []

    @kit.tool("Get air quality and pollen for a city.", reads=True, city=where)
    def air_quality(city: str) -> dict[str, Any]:
        seed = _seed(city, date.today())
        return {"city": _place(city)["name"], "index": 20 + seed % 60, "pollen": seed % 5}

    @kit.tool("Get the times of sunrise and sunset in a city today.", reads=True, city=where)
    def sunrise_and_sunset(city: str) -> dict[str, str]:
        minute = _seed(city, date.today()) % 60
        return {"sunrise": f"06:{minute:02}", "sunset": f"18:{59 - minute:02}"}

    @kit.tool(
        "Find places that have weather data, by a part of their name or country.",
        reads=True,
        query=maybe(text("Part of a name"), ""),
    )
    def search_places(query: str) -> list[dict[str, Any]]:
        wanted = query.lower()
        return [p for p in PLACES.values() if wanted in f"{p['name']} {p['country']}".lower()]

    return kit


def _place(city: str) -> dict[str, Any]:
    place = PLACES.get(city.strip().lower())
    if place is None:
        raise ToolError(f"There is no data for {city}; use search_places.")
    return place


def _seed(city: str, day: date) -> int:
    return (sum(map(ord, _place(city)["name"])) * 31 + day.toordinal() * 17) % 997


def _day(city: str, day: date) -> dict[str, Any]:
    seed = _seed(city, day)
    warm = int(_place(city)["warmth"]) + seed % 7
    return {
        "city": _place(city)["name"],
        "date": day.isoformat(),
        "celsius": warm,
        "low": warm - 6,
        "high": warm + 3,
        "sky": SKIES[seed % len(SKIES)],
        "rain_mm": seed % 9,
        "wind_kmh": seed % 45,
        "humidity": 40 + seed % 50,
    }
