"""The Rust tools.

Must not accept `--config`, another toolchain's program, a new dependency or a publication. Source: cargo(1).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.outward import check_program, check_task
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_BUILD = (
    "-vqr -p:word -F:text -j:number --package=word --workspace --all --exclude=word --lib --bin=word "
    "--bins --example=word --examples --test=word --tests "
    "--bench=word --benches --all-targets --features=text --all-features --no-default-features "
    "--release --profile=word --locked --frozen --offline "
    "--verbose --quiet --message-format=word --color=word --no-fail-fast --jobs=number --keep-going "
    "--target=word --doc --no-run --manifest-path=read --target-dir=folder --timings"
)
_HARNESS = Form(
    "--nocapture --test-threads=number --ignored --include-ignored --exact --skip=text --list "
    "--show-output --color=word --format=word -q --quiet",
    "text*",
)
_WORDS = Form("", "loose*")
"""Words for a program of the project: what they mean is its own affair."""
_CLIPPY_LINTS = Form("-D:text -W:text -A:text -F:text --deny=text --warn=text --allow=text", "")


def _with_rest(form: Form, rest: Form | None) -> Policy:
    """Judge what stands before `--` by one row and what follows by another."""

    def judge(call: Call) -> None:
        texts = [word.text for word in call.args]
        cut = texts.index("--") if "--" in texts else len(texts)
        form.read(call._replace(args=call.args[:cut]))
        if cut < len(texts):
            if rest is None:
                raise Refused("operand", f"{call.name} takes nothing behind --")
            dashes = (Word("--"),) if rest is _WORDS else ()
            rest.read(call._replace(args=dashes + call.args[cut + 1 :]))

    return judge


def _run(call: Call) -> None:
    """Judge `cargo run`: the program is what the base commit's sources make, and gets only words."""
    call.act.unchanged(("*.rs",), call.name)
    _with_rest(Form(_BUILD, "loose*"), _WORDS)(call)
    texts = [word.text for word in call.args]
    before = call.args[: texts.index("--")] if "--" in texts else call.args
    given = Form(_BUILD, "loose*").read(call._replace(args=before))
    for word in given.values("--bin", "--example", "--package", "-p"):
        check_program("cargo run", word.text)


def _xtask(call: Call) -> None:
    """Judge `cargo xtask NAME`, by custom an alias of the project's own program for chores."""
    call.act.unchanged(("*.rs",), call.name)
    for word in Form("", "loose*").read(call._replace(args=(Word("--"), *call.args))).operands:
        check_task(call.name, word)
        if "dist" in word.text.lower():
            raise Refused("cargo-task", f"cargo xtask {word.text}: a run installs and publishes nothing")


_COMMANDS: Mapping[str, Policy] = MappingProxyType(
    {
        **same(_with_rest(Form(_BUILD, "text*"), _HARNESS), "test", "t", "bench"),
        **same(_with_rest(Form(_BUILD, ""), None), "build", "b", "check", "c"),
        **same(_run, "run", "r"),
        "doc": _with_rest(Form(f"{_BUILD} --no-deps --document-private-items", ""), None),
        "clippy": _with_rest(
            Form(f"{_BUILD} --no-deps --fix --allow-dirty --allow-staged", ""), _CLIPPY_LINTS
        ),
        "fmt": _with_rest(
            Form("-vq -p:word --all --check --quiet --verbose", ""),
            Form("-lv --check --files-with-diff --color=word", "rewrite*"),
        ),
        "fetch": Form("-vq --locked --target=word --offline --frozen --quiet", ""),
        "tree": Form(
            "-i:word -d -e:word -p:word --depth=number --invert=word --duplicates --edges=word "
            "--locked --offline --package=word",
            "word*",
        ),
        "metadata": Form("-q --format-version=number --no-deps --locked --offline", ""),
        "llvm-cov": Form(f"{_BUILD} --html --lcov --json --summary-only --output-path=write", ""),
        "nextest": one_of(
            {
                "run": Form(
                    f"{_BUILD} -E:text --no-capture --retries=number --test-threads=word --filter-expr=text",
                    "text*",
                ),
                "list": Form(_BUILD, "text*"),
            },
            "cargo nextest in a run",
        ),
        "help": Form("", "word?"),
        "insta": one_of(
            {
                "test": _with_rest(
                    Form(f"{_BUILD} --accept --check --review --unreferenced=word", "text*"), _HARNESS
                ),
                **same(Form("--workspace --all", ""), "accept", "reject", "pending-snapshots"),
            },
            "cargo insta in a run",
        ),
        "hack": one_of(
            same(
                Form(f"{_BUILD} --feature-powerset --each-feature --no-dev-deps", ""),
                "check",
                "test",
                "build",
                "clippy",
            ),
            "cargo hack in a run",
        ),
        "miri": one_of({"test": _with_rest(Form(_BUILD, "text*"), _HARNESS)}, "cargo miri in a run"),
        "machete": Form("", "read*"),
        "xtask": _xtask,
        "clean": Form("-p:word --package=word --release --doc", ""),
        "pkgid": Form("", "word*"),
        **same(Form("", ""), "--version", "-V", "--list", "locate-project"),
    }
)


def _cargo(call: Call) -> None:
    if call.args and call.args[0].text in {
        "-q",
        "-v",
        "--locked",
        "--offline",
        "--frozen",
        "+stable",
        "+nightly",
    }:
        _cargo(call.after(1))
        return
    one_of(_COMMANDS, "what cargo does in a run; dependencies are added by a person")(call)
    if (
        call.args[0].text == "fetch"
        and Word("--locked") not in call.args
        and Word("--frozen") not in call.args
    ):
        raise Refused("not-frozen", "cargo fetch may change the lock file; accepted: cargo fetch --locked")


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        "cargo": _cargo,
        "rustfmt": Form("--check --edition=number -lqv", "rewrite+"),
        "rustc": one_of(
            {**same(Form("-v --verbose", ""), "--version", "-V", "-vV"), "--explain": Form("", "word")},
            "rustc in a run",
        ),
        "rustup": one_of(
            {
                **same(Form("", ""), "show", "--version"),
                **same(
                    one_of({"list": Form("--installed", "")}, "rustup in a run"),
                    "toolchain",
                    "target",
                    "component",
                ),
            },
            "rustup in a run",
        ),
    }
)
