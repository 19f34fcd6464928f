"""The branch is the one that the run recorded, and it is not protected.

Must not ask the forge: its own protection is looked at later, with the credential (`open_draft.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.publish.context import Context, Findings
from autopilot.schemas.ids import is_protected_branch, ref_name_fault

if TYPE_CHECKING:
    from collections.abc import Iterator


def check(ctx: Context) -> Findings:
    """Compare the branch, base and commit of our records with each other and with what the run claims."""
    return Findings(tuple(_faults(ctx)))


def _faults(ctx: Context) -> Iterator[str]:
    spec = ctx.spec
    for field, name in (("branch", spec.branch), ("base", spec.base)):
        if fault := ref_name_fault(name):
            yield f"the {field} {name!r} {fault}"
    if spec.branch != spec.recorded_branch:
        yield f"the branch {spec.branch!r} is not the one that the run recorded, {spec.recorded_branch!r}"
    if is_protected_branch(spec.branch):
        yield f"the branch {spec.branch!r} is protected by its name"
    if spec.branch.casefold() == spec.base.casefold():
        yield f"the branch {spec.branch!r} is the base itself"
    if ctx.request is None:
        return
    claims = (
        ("branch", ctx.request.branch, spec.branch),
        ("base", ctx.request.base, spec.base),
        ("head", ctx.request.head, spec.head),
    )
    for field, claimed, recorded in claims:
        if claimed != recorded:
            yield f"the request claims the {field} {claimed!r}; our record says {recorded!r}"
