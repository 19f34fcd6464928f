"""The units of systemd as text. Pure.

Must not name a key that user units ignore: what a key does is read back (docs/decisions/0131).
Source: systemd.service(5), systemd.unit(5), systemd.kill(5), systemd.exec(5), systemd.syntax(7), v252.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.launchd import service as limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from autopilot.launchd.service import Service

DAEMON = "autopilot.service"
AWAKE = "autopilot-awake.service"
NOTICE = "autopilot-notice.service"
HEAD = "# Written by `autopilot install`; `autopilot uninstall` removes it."
"""The first line of each unit: what has it is ours."""

# It passes on to all children, agents and their compilers too: only what no build, test or sandbox needs is
# taken. Mount, user namespaces and ptrace stay: sandboxes and debuggers use them.
_HARDENING = """\
NoNewPrivileges=yes
RestrictRealtime=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
UMask=0077
"""


def units(service: Service) -> dict[str, str]:
    """Write every unit, by its file name."""
    awake = {AWAKE: _awake(service)} if service.keep_awake else {}
    return {DAEMON: _daemon(service), NOTICE: _notice(service), **awake}


def variable_of(unit: str, name: str) -> str:
    """Give what a unit of ours sets a variable to; empty where it does not."""
    start = f'Environment="{name}='
    found = next((line for line in unit.splitlines() if line.startswith(start)), f'{start}"')
    return found[len(start) : -1].replace("%%", "%").replace('\\"', '"').replace("\\\\", "\\")


def _daemon(service: Service) -> str:
    return f"""\
{HEAD}
[Unit]
Description=autopilot, the unattended night shift
StartLimitIntervalSec={limits.BURST_WITHIN_S}
StartLimitBurst={limits.BURST}
OnFailure={NOTICE}

[Service]
Type=notify
NotifyAccess=main
ExecStart={_command(service.daemon)}
{_environment(service.environment(limits.SYSTEMD))}
TimeoutStartSec={limits.START_WITHIN_S}
WatchdogSec={limits.WATCHDOG_S}
TimeoutAbortSec={limits.ABORT_WITHIN_S}
TimeoutStopSec={service.stop_s}
# TERM goes to the daemon alone, which ends its own; what it leaves is killed. Runs have scopes of their own.
KillMode=mixed
OOMPolicy=continue
Restart=on-failure
RestartSec={limits.RESTART_AFTER_S}
# A second daemon, or a configuration that cannot be used: another start would change nothing.
RestartPreventExitStatus=3 78
{_HARDENING}
[Install]
WantedBy=default.target
"""


def _awake(service: Service) -> str:
    return f"""\
{HEAD}
[Unit]
Description=autopilot keeps this machine awake
BindsTo={DAEMON}
After={DAEMON}
StartLimitIntervalSec=60
StartLimitBurst=3

[Service]
Type=exec
ExecStart={_command(service.keep_awake)}
Restart=on-failure
RestartSec=2
{_HARDENING}"""


def _notice(service: Service) -> str:
    return f"""\
{HEAD}
[Unit]
Description=autopilot notes that its service was given up

[Service]
Type=oneshot
ExecStart={_command(service.notice)}
{_environment(service.environment(limits.SYSTEMD))}
TimeoutStartSec=60
{_HARDENING}"""


def _command(argv: Iterable[str]) -> str:
    """Write a command line; the colon says that no variable is put into it."""
    first, *rest = argv
    return " ".join(_quoted(word) for word in (f":{first}", *rest))


def _environment(variables: Mapping[str, str]) -> str:
    return "\n".join(f"Environment={_quoted(f'{name}={value}')}" for name, value in sorted(variables.items()))


def _quoted(word: str) -> str:
    r"""Quote one word: quotes and backslashes by a backslash, `%` doubled, since it begins a specifier."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'
