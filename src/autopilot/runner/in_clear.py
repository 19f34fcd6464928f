"""Whether what signs an agent in would be sent where anybody on the way can read it.

Must not show a credential, and must not resolve a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.clear import stays_here
from autopilot.config.environ import secrets_among
from autopilot.runner.agents.registry import services_of, sign_in
from autopilot.runner.agents.sign_in import Outside
from autopilot.runner.network.plan import service
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.schemas.run import AgentSpec


def refuse_in_clear(agent: AgentSpec, environment: Mapping[str, str]) -> None:
    """Look where an agent's credential goes, whether we send it or its client does.

    Args:
        agent: the agent.
        environment: where its variables are set.

    Raises:
        ConfigError: `service-in-clear`: over http to another machine; `service-unreadable`: an address of its
            service is none.
    """
    found = sign_in(agent, environment)
    if found is None:
        return
    at = (found.url,) if isinstance(found, Outside) else services_of(agent, environment)
    is_signed = isinstance(found, Outside) or secrets_among(found.variables, environment)
    for url in at if is_signed else ():
        endpoint = service(url)
        if not endpoint.is_tls and not stays_here(endpoint.target.host):
            held = ", ".join(found.variables)
            what = (
                f"the service of the agent {agent.name} is at {endpoint.target}, over http: whoever is on "
                f"the way could read {held}"
            )
            hint = (
                "make it https in api of the agent, or in the variable that it is from; http is for "
                f"this machine, or for a service that needs no key: unset {held}"
            )
            raise ConfigError("service-in-clear", what, hint=hint)
