"""A small network with an outlet at its gate: who is listed, who is near, and what each was asked."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from autopilot.runner.network.line import Operator
from autopilot.runner.network.outlet import Gate, Outlet
from autopilot.runner.network.policy import Policy, reading_from, service_at
from tests.support.small_net import Echo, Pages, SmallNet, talk

DOCS, DOCS_TLS, API, NEAR = ("93.184.216.34", 80), ("93.184.216.34", 443), ("8.8.8.8", 443), ("10.0.0.7", 80)


class Town:
    """A small network with an outlet at its gate."""

    def __init__(self, folder: Path, stack: ExitStack, *, idle_s: float = 30.0) -> None:
        self.pages, self.near = stack.enter_context(Pages()), stack.enter_context(Pages())
        self.tls, self.api = stack.enter_context(Echo()), stack.enter_context(Echo())
        self.net = SmallNet(
            names={
                "docs.example": [DOCS[0]],
                "api.example": [API[0]],
                "inside.example": [NEAR[0]],
                "mixed.example": [DOCS[0], "127.0.0.1"],
                "metadata.example": ["169.254.169.254"],
                "models.local": [NEAR[0]],
                "down.example": ["93.184.216.99"],
            },
            servers={DOCS: self.pages, DOCS_TLS: self.tls, API: self.api, NEAR: self.near},
        )
        listed = [
            "docs.example",
            "inside.example",
            "mixed.example",
            "metadata.example",
            "down.example",
            "gone.example",
        ]
        services = [service_at("https://api.example/v1"), service_at("http://models.local/v1")]
        policy = Policy((*reading_from(listed), *(each for each in services if each)))
        self.folder = folder
        self.outlet = stack.enter_context(
            Outlet(folder / "outlet.sock", Gate(policy, Operator(self.net)), idle_s=idle_s)
        )

    def ask(self, text: str, *, then: bytes = b"") -> bytes:
        return talk(self.outlet.socket, text.replace("\n", "\r\n").encode("latin-1"), then=then)

    def codes(self) -> list[str]:
        return [refused.code for refused in self.outlet.refusals.counts()]


def tunnel(host: str) -> str:
    return f"CONNECT {host} HTTP/1.1\nHost: {host}\n\n"
