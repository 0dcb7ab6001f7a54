"""A hook that is a plugin: a file of our own in the host's folder, in one of two forms."""

import json

from app.export.wrapping import GatewayCall
from app.hooks.entries import COMMAND, LIST, words_of
from app.hosts.facts import HostFacts

_MARK = "// Written by Toolcrib."
_HEAD = """\
{mark} Remove it with: toolcrib hook remove {host}
// {about}
import {{ spawn }} from "node:child_process"

const COMMAND = {command}

const ask = (given) =>
  new Promise((done) => {{
    let text = ""
    try {{
      const child = spawn(COMMAND[0], COMMAND.slice(1), {{ stdio: ["pipe", "pipe", "ignore"] }})
      const timer = setTimeout(() => child.kill(), 2000)
      child.on("error", () => done(""))
      child.stdin.on("error", () => {{}})
      child.stdout.on("data", (part) => (text += part))
      child.on("close", () => {{
        clearTimeout(timer)
        done(text)
      }})
      child.stdin.end(JSON.stringify(given))
    }} catch {{
      done("")
    }}
  }})

"""
_CONTEXT = """\
export const Toolcrib = async () => ({
  "chat.message": async (input, output) => {
    try {
      const parts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = parts.map((part) => part.text).join("\\n")
      const answer = await ask({ prompt, session_id: input.sessionID })
      const hint = answer && JSON.parse(answer).additionalContext
      if (hint) {
        const id = `${parts[parts.length - 1].id}zz`
        output.parts.push({ ...parts[parts.length - 1], id, text: hint, synthetic: true })
      }
    } catch {}
  },
})
"""
# what a conversation has used is read anew at each prompt: it may go on in another process.
# Whatever fails, the prompt's list stays as the host made it
_LIST = """\
export const Toolcrib = async ({ client }) => ({
  "chat.message": async (input, output) => {
    try {
      const parts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = parts.map((part) => part.text).join("\\n")
      const answer = await ask({ prompt, session_id: input.sessionID })
      const off = answer && JSON.parse(answer).off
      if (!off) return
      const messages = await client.session.messages({ path: { id: input.sessionID } })
      const before = messages.data.flatMap((message) => message.parts)
      const used = before.filter((part) => part.type === "tool").map((part) => part.tool)
      const kept = new Set([...used, ...Object.keys(output.message.tools ?? {})])
      const left = off.filter((name) => !kept.has(name)).map((name) => [name, false])
      output.message.tools = { ...output.message.tools, ...Object.fromEntries(left) }
    } catch {}
  },
})
"""
_ABOUT = {
    COMMAND: "Before each prompt it asks Toolcrib's backend for tools that fit, and adds what that"
    " answers.",
    LIST: "Before each prompt it asks Toolcrib's backend which tools do not fit, and leaves them"
    " out of the list.",
}


def plugin_text(host: HostFacts, call: GatewayCall, form: str) -> str:
    """The whole file."""
    command = json.dumps(words_of(host, call, form))
    head = _HEAD.format(mark=_MARK, host=host.id, command=command, about=_ABOUT[form])
    return head + (_LIST if form == LIST else _CONTEXT)


def plugin_form(data: bytes | None) -> str:
    """The form of a plugin's file, "" for a file that Toolcrib did not write."""
    if data is None or not data.startswith(_MARK.encode()):
        return ""
    return LIST if f"// {_ABOUT[LIST]}\n".encode() in data else COMMAND
