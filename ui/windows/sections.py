"""The sections that exist, and how their pages are made; a page is imported when first opened."""

from ui.pages.catalog.page import CatalogPage
from ui.shell.page import Page
from ui.shell.services import Services
from ui.windows.sidebar import Section

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
        from ui.pages.playground.page import PlaygroundPage  # pyqtgraph and numpy: 0.4 s of CPU

        return PlaygroundPage(services)
    if key == "budget":
        from ui.pages.budget.page import BudgetPage

        return BudgetPage(services)
    if key == "review":
        from ui.pages.review.page import ReviewPage

        return ReviewPage(services)
    if key == "hosts":
        from ui.pages.hosts.page import HostsPage

        return HostsPage(services)
    if key == "activity":
        from ui.pages.activity.page import ActivityPage

        return ActivityPage(services)
    return CatalogPage(services)
