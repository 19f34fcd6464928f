"""Ready scenarios: a model that mends the test, one that claims to, one that cannot be had.

The tool names and inputs are those of Claude Code.
"""

from typing import Any, Final

from tests.support.projects import Project
from tests.support.scenarios.steps import ApiError, Scenario, Step, ToolCall, Usage

LIMIT_RESETS_EPOCH_S: Final = 1_800_000_000
_HANG_S: Final = 600.0


def read_edit_test_finish(project: Project, *, when: str = "") -> Scenario:
    """Read the broken file, mend it, run the tests, say what was done."""
    path = f"{{cwd}}/{project.broken_path}"
    edit = {
        "file_path": path,
        "old_string": project.broken_text,
        "new_string": project.fixed_text,
        "replace_all": False,
    }
    return Scenario(
        (
            _use("I look at the code.", "Read", {"file_path": path}, Usage(2000, 60, cache_write=5000)),
            _use("I mend it.", "Edit", edit, Usage(300, 120, cache_read=7000)),
            _use("I run the tests.", "Bash", _shell(" ".join(project.test_argv)), Usage(200, 40)),
            Step("The shares now add up to the total; all tests pass.", usage=Usage(100, 30)),
        ),
        when,
    )


def write_file(path: str, content: str, *, when: str = "") -> Scenario:
    """Write one file below the working directory and finish."""
    written = {"file_path": f"{{cwd}}/{path}", "content": content}
    return Scenario((_use("Writing.", "Write", written), Step("Written.")), when)


def run_shell(command: str, *, when: str = "") -> Scenario:
    """Run one shell command and finish."""
    return Scenario((_use("Running.", "Bash", _shell(command)), Step("Ran it.")), when)


def say(text: str, *, when: str = "", usage: Usage | None = None) -> Scenario:
    """Answer without touching anything: a claim, or an AUTOPILOT-QUESTION line."""
    return Scenario((Step(text, usage=usage or Usage()),), when)


def spend(output_tokens: int = 1000, *, when: str = "") -> Scenario:
    """Go round for ever, each turn costing the same."""
    step = _use("Again.", "Bash", _shell("cat README.md"), Usage(1000, output_tokens))
    return Scenario((step,), when)


def hang() -> Scenario:
    """Never answer the first request."""
    return Scenario((Step("late", hang_s=_HANG_S),))


def edit_then_hang(project: Project) -> Scenario:
    """Mend the file, then fall silent: for the clocks and for kill -9 in mid-run."""
    steps = read_edit_test_finish(project).steps
    return Scenario((*steps[:2], Step("late", hang_s=_HANG_S)))


def cut_stream() -> Scenario:
    """Close the connection in the middle of every message."""
    return Scenario((Step("half a sen", cut=True),))


def unauthorized() -> Scenario:
    return Scenario((failure(401, "authentication_error", "invalid x-api-key"),))


def forbidden() -> Scenario:
    return Scenario((failure(403, "permission_error", "Your organization has been disabled."),))


def rate_limited(retry_after_s: int = 1) -> Scenario:
    """A plain 429: too fast, no usage limit."""
    text = "This request would exceed your organization's rate limit."
    return Scenario((failure(429, "rate_limit_error", text, {"retry-after": str(retry_after_s)}),))


def overloaded() -> Scenario:
    return Scenario((failure(529, "overloaded_error", "Overloaded"),))


def server_error() -> Scenario:
    return Scenario((failure(500, "api_error", "Internal server error"),))


def credit_too_low() -> Scenario:
    text = "Your credit balance is too low to access the Anthropic API."
    return Scenario((failure(400, "invalid_request_error", text),))


def usage_limit(resets_epoch_s: int = LIMIT_RESETS_EPOCH_S) -> Scenario:
    """The five-hour window of a subscription is used up (clients with an OAuth token)."""
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(resets_epoch_s),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": "rejected",
        "anthropic-ratelimit-unified-5h-reset": str(resets_epoch_s),
        "anthropic-ratelimit-unified-5h-utilization": "1.0",
        "anthropic-ratelimit-unified-overage-status": "rejected",
        "anthropic-ratelimit-unified-overage-disabled-reason": "org_level_disabled",
        "retry-after": "3600",
    }
    text = "This request would exceed your account's rate limit."
    return Scenario((failure(429, "rate_limit_error", text, headers),))


def codex_shell(command: str) -> Step:
    """Codex runs one shell command."""
    return Step(tools=(ToolCall("exec_command", {"cmd": command, "yield_time_ms": 10_000}),))


def codex_patch(patch: str) -> Step:
    """Codex changes files by a patch."""
    return Step(tools=(ToolCall("apply_patch", {"patch": patch}),))


def codex_mend(project: Project, *, when: str = "") -> Scenario:
    """Mend the file by a patch, run the tests, say what was done."""
    return Scenario(
        (
            codex_patch(_patch(project.broken_path, project.broken_text, project.fixed_text)),
            codex_shell(" ".join(project.test_argv)),
            Step("The shares now add up to the total; all tests pass."),
        ),
        when,
    )


def _patch(path: str, old: str, new: str) -> str:
    """Replace whole lines, in the format of Codex's apply_patch."""
    lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    return "\n".join(("*** Begin Patch", f"*** Update File: {path}", "@@", *lines, "*** End Patch", ""))


def failure(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> Step:
    """One error answer; put it before other steps with `Scenario.after`."""
    return Step(error=ApiError(status, kind, message), headers=headers or {})


def _use(text: str, name: str, arguments: dict[str, Any], usage: Usage | None = None) -> Step:
    return Step(text, (ToolCall(name, arguments),), usage or Usage())


def _shell(command: str) -> dict[str, Any]:
    return {"command": command, "description": "Run a command"}
