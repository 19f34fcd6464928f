"""`autopilot guard explain`: what the command guard says to a command, and which form it would accept.

Runs nothing of what it is given.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from autopilot.daemon.cli import console
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is asked."""
    parser.add_argument("act", choices=("explain",), help="judge one command, and say why")
    parser.add_argument("command", help="the command line, quoted; for other tools a path or an address")
    parser.add_argument("--tool", default="Bash", metavar="NAME", help="Bash (default), Write, WebFetch ...")
    parser.add_argument("--worktree", metavar="DIR", help="where it would run (default: this folder)")
    parser.add_argument(
        "--written", action="append", default=[], metavar="FILE", help="a file that the run wrote; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Judge it as a run would; a refusal is exit code 3."""
    from autopilot.config.load import load
    from autopilot.config.paths import find_paths
    from autopilot.runner.guard.judge import judge
    from autopilot.runner.guard.verdict import GuardContext, GuardRequest

    worktree = os.path.abspath(args.worktree or ".")  # noqa: PTH100 - the guard takes text
    settings = load(find_paths())
    context = GuardContext(
        worktree,
        f"{worktree}.tmp",
        hosts=frozenset(settings.network.static_hosts),
        mcp_tools=frozenset(settings.guard.allow_tools),
        programs=frozenset(settings.guard.read_only_programs),
        max_read_bytes=settings.guard.max_read_kib * 1024,
    )
    request = GuardRequest(args.tool, _given(args.tool, args.command), written=frozenset(args.written))
    decision = judge(request, context)
    if args.json:
        console.say_json(
            {
                "tool": args.tool,
                "command": args.command,
                "allowed": decision.allowed,
                "code": decision.code,
                "reason": decision.reason,
                "writes": sorted(decision.writes),
            }
        )
    elif decision.allowed:
        console.say("allowed")
        for path in sorted(decision.writes):
            console.say(f"  writes  {console.line(path)}")
    else:
        console.say(f"refused ({decision.code})")
        console.say(f"  {console.line(decision.reason)}")
    return ExitCode.OK if decision.allowed else ExitCode.REFUSED


def _given(tool: str, text: str) -> dict[str, object]:
    """Give a tool its inputs; those of an MCP server's have names of their own, so they come as JSON."""
    if not tool.startswith("mcp__"):
        return dict.fromkeys(("command", "file_path", "notebook_path", "url"), text)
    try:
        inputs = json.loads(text)
    except ValueError:
        inputs = None
    return inputs if isinstance(inputs, dict) else {"input": text}
