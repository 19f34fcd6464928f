"""Build and test again, in a fresh checkout, by another process that no token is within reach of.

Must not run anything of the repository itself, and must be over before the credential is read.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

import autopilot
from autopilot.config import environ, proc
from autopilot.config.atomic import write_atomically
from autopilot.config.plain import one_line
from autopilot.config.shortage import DISK_FULL, FULL_CODES, shortage
from autopilot.publish.checks.ledger import why
from autopilot.publish.context import Context, Findings
from autopilot.schemas.errors import ExitCode, TransientError
from autopilot.schemas.gate import ungreen
from autopilot.schemas.run import VerifyResult, VerifySpec

if TYPE_CHECKING:
    from collections.abc import Iterator

_GATE_COMMANDS = 4  # restore, build, test, and one that repeats
_MARGIN_S = 600.0


def check(ctx: Context) -> Findings:
    """Have the gates run again and compare them with what the run recorded.

    Raises:
        TransientError: they, or their result, found no room on the disk: nothing is known.
    """
    folder = ctx.folder / "verify"
    folder.mkdir(mode=0o700)
    result_file = folder / "result.json"
    ended = _spawn(ctx, folder, result_file)
    try:
        result = VerifyResult.model_validate_json(result_file.read_bytes())
    except (OSError, ValidationError) as exc:
        if short := shortage((folder,)):
            raise short.error("the gates that ran again left no result") from exc
        if ended.code == ExitCode.LATER and f"[{DISK_FULL}]".encode() in ended.tail:  # our own child's word
            raise TransientError(DISK_FULL, one_line(ended.tail), hint="free disk space") from exc
        how = ended.spawn_error or ended.stopped or f"code {ended.code}, signal {ended.signal}"
        return Findings((f"the gates could not be run again: {type(exc).__name__} ({how})",))
    if result.code in FULL_CODES:
        raise TransientError(DISK_FULL, result.error, hint="free disk space")
    return Findings(tuple(_differences(ctx, result)), gates=result.gates, sandbox=result.sandbox)


def _spawn(ctx: Context, folder: Path, result_file: Path) -> proc.Exit:
    spec = VerifySpec(
        ticket_id=ctx.spec.ticket_id,
        repository=ctx.staging,
        head=ctx.spec.head,
        base_sha=ctx.spec.base_sha,
        workdir=folder / "work",
        env_pass=ctx.spec.env_pass,
        sandbox=ctx.spec.sandbox,
        network=ctx.spec.network,
        gate_s=ctx.spec.gate_s,
        git_s=ctx.spec.git_s,
        kill_grace_s=ctx.spec.kill_grace_s,
    )
    spec.workdir.mkdir(mode=0o700)
    spec_file = folder / "spec.json"
    write_atomically(spec_file, spec.model_dump_json().encode())
    argv = (sys.executable, "-P", "-m", "autopilot.runner", "verify", str(spec_file), str(result_file))
    ours = {"PYTHONPATH": str(Path(autopilot.__file__).parents[1])}
    return proc.run(
        argv,
        cwd=folder,
        env=environ.verifier_environment(None, passed=ctx.spec.env_pass, extra=ours),
        output=folder / "verify.log",
        clock=ctx.clock,
        wall_s=ctx.spec.gate_s * _GATE_COMMANDS + _MARGIN_S,
        grace_s=ctx.spec.kill_grace_s,
    )


def _differences(ctx: Context, result: VerifyResult) -> Iterator[str]:
    head = ctx.spec.head
    if result.error:
        yield f"the gates could not be run again: {result.error}"
    if result.head != head:
        yield f"the gates ran again for {result.head[:12]}, not for {head[:12]}"
    if any(record.producer != "publish" for record in result.gates):
        yield "the second run handed back verdicts of the first"
    ours = tuple(record for record in result.gates if record.base == ctx.spec.base_sha)
    yield from (f"again: {why(gate, ours, head)}" for gate in ungreen(ours, head=head))
    recorded = {record.gate: record for record in ctx.spec.recorded_gates if record.head == head}
    for record in ours:
        first = recorded.get(record.gate)
        before, now = first.counts if first else None, record.counts
        if before and (now is None or now.executed < before.executed):
            executed = now.executed if now else 0
            yield f"again: the gate {record.gate} executed {executed} tests, the run {before.executed}"
