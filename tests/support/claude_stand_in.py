"""A program that stands where Claude Code should, and plays what it is told to.

It behaves as the client does where the runner looks: it tells its release, and asks the hooks of the settings
that it is given, at its start and for each tool that the stream has run, by the name that this use has there.
"""

import textwrap
from pathlib import Path
from typing import Final

from tests.support.agents import Agent, write_agent
from tests.support.captures import Capture

_PRELUDE: Final = """\
import json, shlex
settings = json.load(open(sys.argv[sys.argv.index("--settings") + 1]))
hook = shlex.split(settings["hooks"]["SessionStart"][0]["hooks"][0]["command"])
def ask(event):
    return subprocess.run(hook, input=json.dumps(event).encode(), capture_output=True).returncode
def start():
    code = ask({"hook_event_name": "SessionStart"})
    told = {"type": "system", "subtype": "hook_response", "hook_event": "SessionStart", "exit_code": code}
    say(json.dumps(told) + "\\n")
uses = []
def use(tool, id=None, **given):
    uses.append(tool)
    return ask({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "cwd": os.getcwd(),
                "tool_use_id": id or f"t{len(uses)}"})
"""


def write_client(folder: Path, body: str, *, name: str = "claude") -> Agent:
    """A client from Python text; beside an agent's words it may `start()` and `use("Bash", command="ls")`."""
    return write_agent(folder, name, _PRELUDE + textwrap.dedent(body))


def replaying(folder: Path, capture: Capture, *, code: int = 0, then: str = "") -> Agent:
    """The recorded stream, each tool in it asked for before, then the end."""
    contents = [event["message"]["content"] for event in capture.events() if event.get("type") == "assistant"]
    uses = [block["id"] for content in contents for block in content if block.get("type") == "tool_use"]
    asking = f"start()\nfor id in {uses!r}:\n    use('Bash', id, command='ls')\n"
    return write_client(folder, f"{asking}say({capture.stdout!r})\n{then}\nsys.exit({code})")
