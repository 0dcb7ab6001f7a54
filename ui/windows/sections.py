"""The sections that exist, and how their pages are made; a page is imported when first opened."""

from ui.pages.catalog.page import CatalogPage
from ui.shell.page import Page
from ui.shell.services import Services
from ui.windows.sidebar import Section

SECTIONS = (
    Section(
        "catalog",
        "Catalog",
        "toolbox-outline",
        "Your servers and their tools, with what each costs. Turn off what you do not need.",
    ),
    Section(
        "playground",
        "Playground",
        "flask-outline",
        "Type what you would ask a model, and see which tools fit and why.",
    ),
    Section(
        "budget",
        "Budget",
        "gauge",
        "How many tokens tools may take in each host, and what would bring them down.",
    ),
    Section(
        "review",
        "Review",
        "shield-alert-outline",
        "Tools whose texts changed or look dangerous. No host gets a held tool until you decide.",
    ),
    Section(
        "hosts",
        "Hosts",
        "monitor-share",
        "The applications that use your servers. See what each model gets, and write its config.",
    ),
    Section(
        "activity",
        "Activity",
        "pulse",
        "What hosts called through Toolcrib, and which tools were never used.",
    ),
)

PURPOSES = {section.key: section.purpose for section in SECTIONS}


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
