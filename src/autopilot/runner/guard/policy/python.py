"""Python and its tools: tests, linters, type checkers, and restoring what the lock file names.

Must not accept a program on the command line or on standard input, nor anything that adds a package.
"""

from __future__ import annotations

import posixpath
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.elsewhere import anywhere
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.frameworks import DJANGO, run_script
from autopilot.runner.guard.policy.outward import TASK, check_program, check_task
from autopilot.runner.guard.policy.python_tools import TOOLS
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_INTERPRETER = Form("-BbdEIOPqRsSuvx -W:warning -X:word", "text*", stops=True)
_NO_INLINE = "no program on the command line or on standard input: put it into a test and run the tests"
_MODULE_FORMS: Mapping[str, Policy] = MappingProxyType(
    {
        "compileall": Form("-qfl -r:number -j:number -x:text", "read*"),
        "py_compile": Form("-q", "read+"),
        "json.tool": Form(
            "--sort-keys --indent=number --compact --json-lines --no-ensure-ascii --tab", "read? write?"
        ),
        "tabnanny": Form("-vq", "read+"),
        **same(Form("", "read?"), "ast", "dis", "tokenize"),
        "doctest": Form("-vf -o:word", "read+"),
        "django": DJANGO,
    }
)


def python(call: Call) -> None:
    """Judge an interpreter: a listed module, or a script of the repository.

    Raises:
        Refused: anything else.
    """
    args = call.args
    if len(args) == 1 and args[0].text in {"--version", "-V", "-VV"}:
        return
    for index, word in enumerate(args):
        if word.text == "-m" and index and args[index - 1].text.endswith(("W", "X")):
            raise Refused("inline-program", f"{call.name}: write the value of -W or -X right behind it")
        if word.text == "-m":
            _INTERPRETER.read(call._replace(args=args[:index]))
            _module(call.after(index + 1))
            return
        if not word.text.startswith("-") and not (index and args[index - 1].text in {"-W", "-X"}):
            break
    script = _INTERPRETER.read(call).operands
    if not script or script[0].text.startswith("-"):
        raise Refused("inline-program", f"{call.name}: {_NO_INLINE}")
    _script(call, len(args) - len(script))


def _module(call: Call) -> None:
    name = call.args[0].text if call.args else ""
    policy = _MODULE_FORMS.get(name) or TOOLS.get(name) or (_pip if name == "pip" else None)
    if policy is None and _is_own_module(call, name):
        policy = _own_module
    if policy is None:
        accepted = ", ".join(sorted({*_MODULE_FORMS, *TOOLS}))
        raise Refused("python-module", f"python -m {name} is not for a run; accepted: {accepted}")
    top = name.partition(".")[0]
    for folder in call.act.folders:
        if any(
            call.act.is_written(posixpath.join(folder, file)) for file in (f"{top}.py", f"{top}/__main__.py")
        ):
            raise Refused(
                "made-by-the-run", f"this run wrote a module named {top}, which would be run in its place"
            )
    policy(call.after(1, name))


def _is_own_module(call: Call, name: str) -> bool:
    """Whether a module lies in the worktree since before the run, in the folder that comes first."""
    top = name.partition(".")[0]
    if not name.replace(".", "").replace("_", "").isalnum() or top in sys.stdlib_module_names:
        return False
    path = name.replace(".", "/")
    files = (f"{path}.py", f"{path}/__main__.py", f"src/{path}.py", f"src/{path}/__main__.py")
    for file in files:
        if all(call.act.places.exists(posixpath.join(folder, file)) for folder in call.act.folders):
            call.act.execute(Word(file))
            check_program("python -m", path)
            return True
    return False


def _own_module(call: Call) -> None:
    Form("", "loose*").read(call._replace(args=(Word("--"), *call.args)))


def _script(call: Call, index: int) -> None:
    script = call.args[index]
    call.act.execute(script)
    run_script(call, script, call.args[index + 1 :])


_HASHED = Form(
    "-q -r:run --require-hashes --requirement=run --no-deps --quiet --disable-pip-version-check --no-input "
    "--only-binary=word --no-cache-dir",
    "",
)


def _pip_install(call: Call) -> None:
    """Judge a restore: only what a committed file names with its hash."""
    given = _HASHED.read(call)
    if not given.has("--require-hashes") or not given.has("-r", "--requirement"):
        raise Refused(
            "adds-a-package", "no package is added; a locked restore is pip install --require-hashes -r FILE"
        )


def _pip(call: Call) -> None:
    one_of(
        {
            "list": Form("--outdated --format=word --not-required -o", ""),
            "show": Form("-f --files", "word+"),
            "freeze": Form("--all", ""),
            "check": Form("", ""),
            "install": _pip_install,
            "--version": Form("", ""),
        },
        "what pip does in a run: it adds nothing; say in your summary which package is needed",
    )(call)


def _uv(call: Call) -> None:
    one_of(
        {
            "run": _uv_run,
            "sync": _frozen(
                Form(
                    "-q --frozen --locked --all-extras --all-groups --no-dev --dev --extra=word "
                    "--group=word --all-packages "
                    "--package=word --no-install-project --quiet --offline --no-progress",
                    "",
                ),
                "--frozen",
                "--locked",
            ),
            "lock": _frozen(Form("--check --locked --offline", ""), "--check", "--locked"),
            "tree": Form("--frozen --depth=number", ""),
            "pip": one_of(
                {
                    "list": Form("--format=word", ""),
                    "show": Form("", "word+"),
                    "freeze": Form("", ""),
                    "check": Form("", ""),
                },
                "uv pip in a run",
            ),
            "--version": Form("", ""),
            "version": Form("", ""),
        },
        "what uv does in a run; packages are restored by uv sync --frozen",
    )(call)


def _frozen(form: Form, *words: str) -> Policy:
    """Judge by a row, and insist that the lock file stays as it is."""

    def judge(call: Call) -> None:
        if not form.read(call).has(*words):
            raise Refused(
                "not-frozen", f"{call.name} may change the lock file; accepted: {call.name} {words[0]}"
            )

    return judge


_UV_RUN = Form(
    "-q --frozen --locked --no-sync --offline --all-extras --dev --no-dev --extra=word --group=word "
    "--package=word --quiet",
    "text+",
    stops=True,
)


def _uv_run(call: Call) -> None:
    given = _UV_RUN.read(call)
    if not given.has("--frozen", "--locked", "--no-sync"):
        raise Refused("not-frozen", "uv run may change the lock file; accepted: uv run --frozen COMMAND")
    _inner(call, len(call.args) - len(given.operands))


def _inner(call: Call, start: int) -> None:
    name = call.args[start].text
    policy = PROGRAMS.get(name)
    if policy is None or name in {"uv", "poetry", "pdm", "hatch", "pipenv"}:
        accepted = ", ".join(sorted({*TOOLS, "python"}))
        raise Refused("program", f"{call.name} {name}: accepted are {accepted}")
    policy(call.after(start + 1, name))


def _runner(*, restore: Mapping[str, Policy], files: tuple[str, ...] = ()) -> Policy:
    """Judge poetry and its kin: `run COMMAND`, or a task of the project's own; looking; and a restore."""

    def run(call: Call) -> None:
        if not call.args or call.args[0].text.startswith("-"):
            raise Refused("operand-missing", f"{call.name} takes a command")
        if files and call.args[0].text not in PROGRAMS and TASK.fullmatch(call.args[0].text):
            call.act.unchanged(files, call.name)
            check_task(call.name, call.args[0])
            words = (Word("--"), *call.args[1:])
            Form("", "loose*").read(call._replace(args=words, act=anywhere(call.act)))
            return
        _inner(call, 0)

    looking: dict[str, Policy] = {
        "show": Form("--tree", "word*"),
        "check": Form("--lock", ""),
        "--version": Form("", ""),
        "env": one_of({"info": Form("-p --path", ""), "list": Form("", "")}, "what env does in a run"),
    }
    return one_of({"run": run, **looking, **restore}, "what it does in a run; nothing is added")


_POETRY_FLAGS = (
    "-nq --no-interaction --sync --no-root --all-extras --with=word --without=word --only=word "
    "--quiet --no-ansi --extras=word -E:word"
)
PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        **TOOLS,
        **same(python, "python", "python3", *(f"python3.{minor}" for minor in range(8, 16))),
        **same(_pip, "pip", "pip3"),
        "uv": _uv,
        "django-admin": DJANGO,
        "poetry": _runner(restore={"install": Form(_POETRY_FLAGS, ""), "sync": Form(_POETRY_FLAGS, "")}),
        "pdm": _runner(
            files=("pyproject.toml",),
            restore={
                "install": _frozen(
                    Form("--frozen-lockfile --check --no-self -G:word", ""), "--frozen-lockfile", "--check"
                ),
                "sync": Form("--no-self --clean -G:word", ""),
            },
        ),
        "pipenv": _runner(restore={"sync": Form("-d --dev", ""), "verify": Form("", "")}),
        "hatch": _runner(
            files=("pyproject.toml", "hatch.toml"),
            restore={
                "test": Form("-acp --all --cover --parallel", "read*"),
                "fmt": Form("--check -lf", "read*"),
            },
        ),
    }
)
