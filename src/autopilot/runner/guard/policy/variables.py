"""Variables that may stand in front of a command, each with the values that are known to be harmless.

Must not accept a value that names a program, an option that loads code, or a folder outside.
"""

from __future__ import annotations

import posixpath
import re
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.names import fold
from autopilot.runner.guard.policy.python import PROGRAMS as PYTHON
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.guard.act import Act

_LOCALE = re.compile(r"[A-Za-z0-9_.,:@/+=-]*")
_SWITCH, _WORD, _NUMBER = "0|1|true|false|yes|no|on|off", "[A-Za-z0-9_.-]*", "[0-9]+"
_STAGE = "test|tests|testing|ci|dev|development|local"
_NODE_FLAG = (
    "--(max-old-space-size=[0-9]+|experimental-vm-modules|no-warnings|trace-warnings|trace-uncaught"
    "|no-deprecation|enable-source-maps|stack-trace-limit=[0-9]+|unhandled-rejections=[a-z-]+)"
)


def _each(names: str, shape: str) -> dict[str, re.Pattern[str]]:
    return dict.fromkeys(names.split(), re.compile(shape))


_KNOWN: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        **_each(
            "PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONFAULTHANDLER PYTHONUTF8 PY_COLORS CGO_ENABLED "
            "CARGO_INCREMENTAL CARGO_NET_OFFLINE NODE_NO_WARNINGS CLICOLOR CLICOLOR_FORCE NO_UPDATE_NOTIFIER "
            "DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO NEXT_TELEMETRY_DISABLED PIP_DISABLE_PIP_VERSION_CHECK "
            "PUPPETEER_SKIP_DOWNLOAD PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT "
            "HOMEBREW_NO_AUTO_UPDATE DISABLE_SPRING TF_IN_AUTOMATION",
            _SWITCH,
        ),
        **_each("DEBUG VERBOSE LOG_LEVEL PYTHONLOGLEVEL HYPOTHESIS_PROFILE", _WORD),
        **_each("GOOS GOARCH CARGO_TERM_COLOR", "[a-z0-9]+"),
        **_each("RUST_TEST_THREADS COLUMNS LINES GOMAXPROCS UV_THREADPOOL_SIZE CARGO_BUILD_JOBS", _NUMBER),
        **_each("RAILS_ENV RACK_ENV APP_ENV FLASK_ENV MIX_ENV BABEL_ENV TEST_ENV", _STAGE),
        **_each("PYTHONHASHSEED", "random|[0-9]+"),
        **_each("PYTHONIOENCODING", "(?i)utf-?8(:[a-z]+)?"),
        **_each("PYTHONWARNINGS", "(default|error|ignore|always|module|once)(::[A-Za-z]*)?"),
        **_each("DJANGO_SETTINGS_MODULE", r"[A-Za-z_][A-Za-z0-9_.]*"),
        **_each("RUSTFLAGS RUSTDOCFLAGS", "-D ?warnings"),
        **_each("NODE_OPTIONS", f"{_NODE_FLAG}( {_NODE_FLAG})*"),
        **_each("GOFLAGS", "-count=1|-mod=(readonly|vendor)|-v"),
        **_each("PAGER GIT_PAGER GH_PAGER MANPAGER", "cat|"),
        **_each("TERM", "dumb|xterm|xterm-256color|linux|vt100"),
    }
)
_SHADOWS = frozenset({*sys.stdlib_module_names, *PYTHON, "sitecustomize", "usercustomize"})


def check_variable(act: Act, name: str, value: str) -> None:
    """Judge one assignment in front of a command.

    Raises:
        Refused: the variable is not known, or the value is not harmless.
    """
    if name in act.context.variables and _LOCALE.fullmatch(value):
        return
    shape = _KNOWN.get(name)
    if shape is not None and shape.fullmatch(value):
        return
    if name == "PYTHONPATH":
        _check_search_path(act, value)
        return
    listed = ", ".join(sorted({*act.context.variables, *_KNOWN, "PYTHONPATH"}))
    told = f"{value!r} is no harmless value of {name}" if shape else f"{name} is not set before a command"
    raise Refused("variable", f"{told}; accepted: {listed}")


def _check_search_path(act: Act, value: str) -> None:
    for part in value.split(":"):
        act.read(Word(part))
        roots = [posixpath.normpath(posixpath.join(folder, part)) for folder in act.folders]
        written = {*act.written, *map(fold, act.writes)}
        shadows = {posixpath.join(fold(root), name) for root in roots for name in _SHADOWS}
        made = {path.rstrip("/").removesuffix("/__init__.py").removesuffix(".py") for path in written}
        if any(map(act.places.in_tmp, roots)) or made & shadows:
            raise Refused("variable", f"PYTHONPATH={value}: folders of the worktree that hide no module")
