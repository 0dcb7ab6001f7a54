"""The sections that exist, and how their pages are made; a page is imported when first opened."""

from ui.services import Services
from ui.views.catalog import CatalogPage
from ui.views.page import Page
from ui.views.sidebar import Section

SECTIONS = (
    Section("catalog", "Catalog", "toolbox-outline"),
    Section("playground", "Playground", "flask-outline"),
    Section("budget", "Budget", "gauge"),
    Section("review", "Review", "shield-alert-outline"),
    Section("hosts", "Hosts", "monitor-share"),
    Section("activity", "Activity", "pulse"),
)


def make_page(key: str, services: Services) -> Page:
    """The page of that section."""
    if key == "playground":
        from ui.views.playground import PlaygroundPage  # pyqtgraph and numpy: 0.4 s of CPU

        return PlaygroundPage(services)
    if key == "budget":
        from ui.views.budget import BudgetPage

        return BudgetPage(services)
    if key == "review":
        from ui.views.review import ReviewPage

        return ReviewPage(services)
    if key == "hosts":
        from ui.views.hosts import HostsPage

        return HostsPage(services)
    if key == "activity":
        from ui.views.activity import ActivityPage

        return ActivityPage(services)
    return CatalogPage(services)
