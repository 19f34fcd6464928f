"""Judges a command line: every plain command of it, in every folder that it may run in.

Must not accept what the lexer or the policy of a program did not accept, and runs nothing.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

from autopilot.runner.guard.act import Act
from autopilot.runner.guard.lexer import parse
from autopilot.runner.guard.names import fold
from autopilot.runner.guard.policy.forms import Call, Form
from autopilot.runner.guard.policy.listed import read_only
from autopilot.runner.guard.policy.programs import OWN_PROGRAM, POLICIES
from autopilot.runner.guard.policy.refusals import WHY_NOT
from autopilot.runner.guard.policy.variables import check_variable
from autopilot.runner.guard.verdict import Refused
from autopilot.schemas.never import program_fault

if TYPE_CHECKING:
    from autopilot.runner.guard.grammar import Simple
    from autopilot.runner.guard.places import Places
    from autopilot.runner.guard.verdict import GuardContext

_SYSTEM_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
# Where a project's own tools are installed; what is called there is judged by its name.
_TOOL_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin", "vendor/bin")
# Programs whose options cannot do harm, so that a wildcard may stand first among their files.
_LEADING = frozenset(
    {
        "ls", "cat", "head", "tail", "wc", "file", "stat", "diff", "grep", "egrep", "fgrep", "echo", "du",
        "md5sum", "sha1sum", "sha256sum",
    }
)  # fmt: skip
_QUESTIONS = (["--version"], ["--help"])
_SAYS_A_STATUS = frozenset({"echo", "printf", "test", "[", "exit"})
_TIMEOUT = Form(
    "-v -k:duration -s:word --kill-after=duration --signal=word --foreground --preserve-status --verbose",
    "duration text*",
    stops=True,
)
_MAX_FOLDERS = 6


class _Where(NamedTuple):
    """In which folders the next command runs, by how the commands so far ended."""

    after_success: frozenset[str]
    after_failure: frozenset[str]
    now: frozenset[str]
    """Where the last one ran; what it is piped into runs there too."""


def judge_line(
    text: str, context: GuardContext, places: Places, *, cwd: str, written: frozenset[str]
) -> frozenset[str]:
    """Judge a command line and list the files it writes.

    Raises:
        Refused: some part of it is not accepted.
    """
    start = frozenset({cwd})
    where = _Where(start, start, start)
    writes: set[str] = set()
    made_link = False
    for command in parse(text):
        if made_link:
            raise Refused("link-then-more", "a link ends the line; go on in a further call")
        folders = _folders(command.before, where)
        act = Act(context, places, folders=tuple(sorted(folders)), written=written | set(map(fold, writes)))
        succeeded = failed = folders
        if command.argv[0].text == "cd":
            succeeded = _change_folder(command, act)
            # What is there now, and nothing in this line touched, can be entered.
            if all(places.is_folder(folder) and not act.is_written(folder) for folder in succeeded):
                failed = frozenset()
        else:
            made_link = _judge(command, act) == "ln"
        writes |= act.writes
        where = _moved(command.before, where, succeeded, failed=failed)._replace(now=folders)
    return frozenset(writes)


def _folders(joint: str, where: _Where) -> frozenset[str]:
    match joint:
        case "&&":
            folders = where.after_success
        case "||":
            folders = where.after_failure
        case "|":
            folders = where.now
        case _:
            folders = where.after_success | where.after_failure
    if len(folders) > _MAX_FOLDERS:
        raise Refused("too-many-folders", "too many changes of folder in one line; send several calls")
    return folders or where.after_success | where.after_failure | where.now


def _moved(joint: str, before: _Where, succeeded: frozenset[str], *, failed: frozenset[str]) -> _Where:
    match joint:
        case "|":  # no part of a pipeline changes the folder
            return before
        case "&&":
            return before._replace(after_success=succeeded, after_failure=failed | before.after_failure)
        case "||":
            return before._replace(after_success=succeeded | before.after_success, after_failure=failed)
        case _:
            return before._replace(after_success=succeeded, after_failure=failed)


def _change_folder(command: Simple, act: Act) -> frozenset[str]:
    plain = "cd takes one folder inside the worktree, written out: cd src && COMMAND"
    words = command.argv[1:]
    if len(words) != 1 or command.assignments or command.redirects or command.heredoc is not None:
        raise Refused("cd", plain)
    if "|" in {command.before, command.after} or words[0].pattern is not None:
        raise Refused("cd", plain)
    if words[0].text.startswith("-"):
        raise Refused("cd", plain)
    return frozenset(act.moved(words[0]).folders)


def _judge(command: Simple, act: Act) -> str:
    """Judge one command and give the name of the program that it comes down to."""
    for name, value in command.assignments:
        check_variable(act, name, value)
    _judge_redirects(command, act)
    call = _unwrapped(Call(command.argv[0].text, command.argv[1:], act, command.heredoc))
    name = _program(call, command)
    _check_words(call, name)
    if (call.name, *(word.text for word in call.args)) in act.context.commands:
        return name
    if name in POLICIES and name != OWN_PROGRAM and [word.text for word in call.args] in _QUESTIONS:
        return name
    if name not in POLICIES and name in call.act.context.programs and program_fault(name) is None:
        read_only(call._replace(name=name))
        return name
    if name not in POLICIES:
        raise Refused(
            "program",
            WHY_NOT.get(name)
            or f"{name!r} is not a program that a run may start; accepted are the tools for reading, "
            "searching, "
            "editing, testing and building: see docs/security.md, or autopilot guard explain",
        )
    POLICIES[name](call if name == OWN_PROGRAM else call._replace(name=name))
    return name


def _judge_redirects(command: Simple, act: Act) -> None:
    for redirect in command.redirects:
        if redirect.kind == "<":
            act.read(redirect.target)
        else:
            act.write(redirect.target)
    if command.heredoc is not None and any(redirect.kind == "<" for redirect in command.redirects):
        raise Refused("redirect", "either a here-document or < FILE, not both")


def _unwrapped(call: Call) -> Call:
    """Look through `timeout N`."""
    if call.name.rpartition("/")[2] != "timeout":
        return call
    operands = _TIMEOUT.read(call).operands
    if len(operands) <= 1 or operands[1].text.startswith("-"):
        raise Refused("timeout", "timeout takes a time and a command: timeout 60 pytest -q")
    inner = operands[1]
    if inner.pattern is not None or inner.is_computed:
        raise Refused("computed-command", "the name of a command must be written out")
    return _unwrapped(call.after(len(call.args) - len(operands) + 2, inner.text))


def _program(call: Call, command: Simple) -> str:
    """Give the name whose policy applies; a path to a program of the repository becomes `./`."""
    if "=" in call.name or call.name.startswith("-"):
        raise Refused("program", f"{call.name!r} is no name of a program; a variable stands before timeout")
    if "/" not in call.name:
        return call.name
    folder, _, name = call.name.rpartition("/")
    if folder in _SYSTEM_FOLDERS:
        return name
    word = next(word for word in command.argv if word.text == call.name)
    if posixpath.normpath(folder).endswith(_TOOL_FOLDERS) and name in POLICIES:
        call.act.tool(word)
        return name
    call.act.execute(word)
    if name in {"gradlew", "mvnw"}:
        return name
    return OWN_PROGRAM


def _check_words(call: Call, name: str) -> None:
    is_literal = False
    for word in call.args:
        if word.is_computed and name not in _SAYS_A_STATUS:
            raise Refused("computed-word", "$? is only printed: echo $?")
        if word.pattern is None:
            is_literal = is_literal or word.text == "--"
            continue
        before = word.pattern.partition("=")[0] if word.text.startswith("-") else word.pattern[:1]
        is_flag_like = word.text.startswith("-") and before != word.text.partition("=")[0]
        is_leading = not word.text.startswith("-") and before != word.text[:1]
        if is_flag_like or (is_leading and name not in _LEADING and not is_literal):
            raise Refused(
                "wildcard-first",
                f"{word.text!r} could become an option named by a file; write "
                f"'./{word.text.lstrip('-')}', or "
                "quote it if it is a pattern",
            )
        if not word.text.startswith("-"):
            call.act.read(word)
