"""Tools for infrastructure, SQL, documents and hooks, as far as they only look at files of the worktree.

Must not accept what reaches a cluster, a cloud, a database or a registry.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.refusals import WHY_NOT
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION = frozenset({"--version", "-V", "version", "-version"})


def _only_version(call: Call) -> None:
    """Judge a program of which only the version is asked."""
    texts = [word.text for word in call.args]
    if call.name == "kubectl" and texts == ["version", "--client"]:
        return
    if len(texts) != 1 or texts[0] not in _VERSION - {"version"}:
        raise Refused("program", WHY_NOT.get(call.name) or f"{call.name}: only its version is asked")


_TERRAFORM: Mapping[str, Policy] = MappingProxyType(
    {
        "fmt": Form(
            "-check[={true|false}] -recursive[={true|false}] -diff[={true|false}] -list={true|false} "
            "-write={true|false} -no-color",
            "rewrite*",
            is_single=True,
        ),
        "validate": Form("-json -no-color -test-directory=read", "", is_single=True),
        **same(Form("-json", "", is_single=True), "version", "--version", "-version"),
    }
)


def _terraform(call: Call) -> None:
    folder = call.args[0].text if call.args else ""
    if folder.startswith("-chdir="):
        call = call.after(1)._replace(act=call.act.moved(call.args[0].tail(len("-chdir="))))
    if not call.args or call.args[0].text not in _TERRAFORM:
        raise Refused("subcommand", f"{WHY_NOT['terraform']}; accepted: terraform fmt, validate and version")
    one_of(_TERRAFORM, "what terraform does in a run")(call)


_HELM_VALUES = "-f:read --values=read --set=text --set-string=text -n:word --namespace=word --debug"
_TEMPLATE = Form(
    f"{_HELM_VALUES} -s:text --show-only=text --include-crds --skip-tests --kube-version=word", "text text?"
)


def _template(call: Call) -> None:
    """Judge `helm template [NAME] CHART`; a chart that is no path would be looked for in a repository."""
    chart = _TEMPLATE.read(call).operands[-1]
    if "/" not in chart.text and chart.text != ".":
        raise Refused("download", "helm template takes a chart of the worktree, e.g. ./chart")
    call.act.read(chart)


_HELM: Mapping[str, Policy] = MappingProxyType(
    {
        "lint": Form(f"{_HELM_VALUES} --strict --quiet --with-subcharts", "read+"),
        "template": _template,
        "version": Form("--short --client", ""),
    }
)


def _helm(call: Call) -> None:
    name = call.args[0].text if call.args else ""
    if name not in _HELM:
        raise Refused("subcommand", f"{WHY_NOT['helm']}; accepted: helm lint and helm template CHART")
    _HELM[name](call.after(1))


def _kustomize(call: Call) -> None:
    """Judge `kustomize build FOLDER`; what looks like a host is fetched."""
    for word in Form("", "read?").read(call).operands:
        first = word.text.partition("/")[0]
        if ("." in first.lstrip(".")) or "?" in word.text or ":" in word.text:
            raise Refused("download", f"{word.text!r}: kustomize builds a folder of the worktree")


_PRE_COMMIT = Form(
    "-av --all-files --verbose --show-diff-on-failure --files=read --color={always|auto|never} "
    "--hook-stage={commit|pre-commit|manual|pre-push} --from-ref=rev --to-ref=rev",
    "word?",
)
_SQL = "-d:word --dialect=word -q --disable-progress-bar -v -n --nocolor --rules=word --exclude-rules=word"
PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        **same(
            _only_version, "docker", "podman", "kubectl", "psql", "mysql", "gem", "elixir", "iex", "R", "brew"
        ),
        **same(_only_version, "protoc", "conda", "mise", "asdf", "aws", "gcloud", "minikube"),
        **same(_terraform, "terraform", "tofu"),
        "tflint": Form(
            "-v --version --chdir=read --recursive --format=word --minimum-failure-severity=word", ""
        ),
        "helm": _helm,
        "pre-commit": one_of({"run": _PRE_COMMIT, "--version": Form("", "")}, "pre-commit in a run"),
        "sqlfluff": one_of(
            {
                **same(Form(f"{_SQL} --format=word -f:word", "read+"), "lint", "parse"),
                **same(Form(f"{_SQL} -f --force", "rewrite+"), "fix", "format"),
                "version": Form("", ""),
            },
            "sqlfluff in a run",
        ),
        "clang-tidy": Form("-p:read --quiet --checks=text", "read+"),
        "cppcheck": Form(
            "-q -j:number --enable=word --std=word --quiet --error-exitcode=number --language=word", "read+"
        ),
        "ansible-lint": Form("-qv --offline --strict", "read*"),
        "tfsec": Form("--no-color --soft-fail", "read?"),
        "checkov": Form("-d:read -f:read --directory=read --quiet --compact --framework=word", ""),
        "kubeconform": Form("-strict -summary -verbose -ignore-missing-schemas", "read+", is_single=True),
        "kustomize": one_of({"build": _kustomize}, "kustomize in a run"),
        "opa": one_of(
            {**same(Form("-v", "read+"), "test", "check"), "fmt": Form("-dwl --diff --list", "rewrite+")},
            "opa in a run",
        ),
        "conftest": one_of({"test": Form("-p:read --policy=read", "read+")}, "conftest in a run"),
        "actionlint": Form("-verbose -color -no-color -oneline", "read*", is_single=True),
        "codespell": Form("-q:number -L:word -S:text --skip=text --ignore-words-list=word", "read*"),
        "typos": Form("--format=word --no-ignore --hidden", "read*"),
        "taplo": one_of(
            {"fmt": Form("--check --diff", "rewrite*"), **same(Form("", "read*"), "lint", "check")},
            "taplo in a run",
        ),
        "mkdocs": one_of(
            {"build": Form("-qsv -d:folder --strict --site-dir=folder --clean", "")}, "mkdocs in a run"
        ),
        "sphinx-build": Form("-WnqvEaT -b:word -j:word -c:settings --keep-going", "read folder"),
        "swiftformat": Form("--lint --quiet --config=settings --swiftversion=word --strict", "rewrite*"),
    }
)
