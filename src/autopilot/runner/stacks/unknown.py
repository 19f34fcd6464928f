"""Projects of a kind that no adapter knows: they run on the policy's commands alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.runner.stacks import custom
from autopilot.runner.stacks.stack import BuildCommand, CannotRun, Command, NotNeeded

if TYPE_CHECKING:
    from autopilot.runner.stacks.stack import Place, TestCommand
    from autopilot.runner.stacks.tree import Tree
    from autopilot.schemas.errors import ConfigError
    from autopilot.schemas.policy import Policy


@dataclass(frozen=True, slots=True)
class UnknownStack:
    """The fallback; see `Stack`."""

    name: str = "unknown"

    def weight(self, base: Tree) -> int:  # noqa: ARG002 - Stack's signature
        """Claim nothing: it is chosen when nobody else does, or by name."""
        return 0

    def refusal(self, base: Tree, policy: Policy) -> ConfigError | None:  # noqa: ARG002 - as above
        """Refuse a policy without a test command and its report."""
        return custom.refusal(policy)

    def shown_test(self, base: Tree, policy: Policy) -> tuple[str, ...]:  # noqa: ARG002 - as above
        """Give the policy's command."""
        return policy.commands.test or ()

    def setup(self, place: Place) -> Command | NotNeeded:
        """Run the policy's set-up."""
        argv = place.policy.commands.setup
        return Command(argv) if argv else NotNeeded("the policy names no commands.setup")

    def build(self, place: Place) -> BuildCommand | NotNeeded | CannotRun:
        """Run the policy's build."""
        argv = place.policy.commands.build
        if argv is None:
            return NotNeeded("the stack is unknown and the policy names no commands.build")
        return BuildCommand(command=Command(argv))

    def test(self, place: Place) -> TestCommand | CannotRun:
        """Run the policy's tests."""
        return custom.test_command(place)
