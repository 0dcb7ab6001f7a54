"""A mailbox whose drafts never leave the machine."""

from pathlib import Path
from typing import Any

from servers.kit import Kit, RecordFile, ToolError, maybe, number, text, texts

INBOX = [
    {"sender": "ana@example.org", "subject": "Photos of the trip", "body": "Here they are!"},
    {"sender": "shop@example.org", "subject": "Your order 4711", "body": "It is on its way."},
    {"sender": "ben@example.org", "subject": "Meeting moved", "body": "Now on Friday at ten."},
]
CONTACTS = [
    {"name": "Ana Lopes", "address": "ana@example.org"},
    {"name": "Ben Ito", "address": "ben@example.org"},
]


def make(folder: Path) -> Kit:
    """The tools of the mail server."""
    kit = Kit("Nothing is sent over the network: sent mails are only moved to the outbox.")
    inbox = RecordFile(
        folder / "inbox.json", [{**mail, "read": False, "folder": ""} for mail in INBOX]
    )
    drafts = RecordFile(folder / "drafts.json", [])
    outbox = RecordFile(folder / "outbox.json", [])
    contacts = RecordFile(folder / "contacts.json", CONTACTS)
    message = number("Id of the message in the inbox")
    draft = number("Id of the draft")

    @kit.tool(
        "Write a new e-mail as a draft. It is not sent; use send_draft when the user agrees.",
        to=texts("Addresses of the recipients"),
        subject=text("Subject line"),
        body=text("Text of the mail"),
        cc=maybe(texts("Addresses that get a copy")),
    )
    def create_draft(
        to: list[str], subject: str, body: str, cc: list[str] | None = None
    ) -> dict[str, Any]:
        return drafts.add(to=to, cc=cc or [], subject=subject, body=body)

    @kit.tool("List all drafts that were not sent yet.", reads=True)
    def list_drafts() -> list[dict[str, Any]]:
        return drafts.all()

    @kit.tool(
        "Change the subject, text or recipients of a draft.",
        draft_id=draft,
        to=maybe(texts("New recipients")),
        subject=maybe(text("New subject")),
        body=maybe(text("New text")),
    )
    def update_draft(draft_id: int, **changes: Any) -> dict[str, Any]:
        return drafts.change(draft_id, **changes)

    @kit.tool("Throw a draft away.", destroys=True, draft_id=draft)
    def delete_draft(draft_id: int) -> dict[str, Any]:
        return drafts.remove(draft_id)

    @kit.tool(
        "Send a draft to its recipients. The draft moves to the outbox.",
        destroys=True,
        draft_id=draft,
    )
    def send_draft(draft_id: int) -> dict[str, Any]:
        if not drafts.one(draft_id)["to"]:
            raise ToolError("The draft has no recipient.")
        mail = drafts.remove(draft_id)
        return outbox.add(**{key: value for key, value in mail.items() if key != "id"})

    @kit.tool(
        "List the messages in the inbox: id, sender and subject.",
        reads=True,
        unread_only=maybe(text("Only unread messages", enum=["yes", "no"]), "no"),
    )
    def list_messages(unread_only: str) -> list[dict[str, Any]]:
        mails = [mail for mail in inbox.all() if unread_only == "no" or not mail["read"]]
        return [{key: mail[key] for key in ("id", "sender", "subject", "read")} for mail in mails]

    @kit.tool("Read a message and mark it as read.", message_id=message)
    def read_message(message_id: int) -> dict[str, Any]:
        return inbox.change(message_id, read=True)

    @kit.tool(
        "Search the inbox by words in sender, subject or text.",
        reads=True,
        query=text("Words to look for"),
    )
    def search_messages(query: str) -> list[dict[str, Any]]:
        return inbox.search(query, "sender", "subject", "body")

    @kit.tool(
        "Write a reply to a message as a draft, with the right recipient and subject.",
        message_id=message,
        body=text("Text of the reply"),
    )
    def reply_to_message(message_id: int, body: str) -> dict[str, Any]:
        mail = inbox.one(message_id)
        return drafts.add(to=[mail["sender"]], cc=[], subject=f"Re: {mail['subject']}", body=body)

    @kit.tool(
        "Move a message from the inbox into a folder such as Archive or Receipts.",
        message_id=message,
        folder_name=text("Name of the folder"),
    )
    def move_message(message_id: int, folder_name: str) -> dict[str, Any]:
        return inbox.change(message_id, folder=folder_name)

    @kit.tool(
        "Look up people in the address book by name.",
        reads=True,
        name=text("Name, or a part of it"),
    )
    def find_contact(name: str) -> list[dict[str, Any]]:
        return contacts.search(name, "name")

    return kit
