"""The pull request's text: a fixed order of sections, Markdown only, written for a code reviewer.

Pure. Every word of the run's is cleaned here; what the forge gets is checked once more before it leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.detector import find
from autopilot.publish import marks
from autopilot.publish.cut import MAX_BODY_CHARS, Section, fit
from autopilot.schemas import outbound
from autopilot.schemas.units import MS_PER_S, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autopilot.publish.span import Change
    from autopilot.schemas.blocked import Blocked
    from autopilot.schemas.cell import OpenedKind
    from autopilot.schemas.gate import GateRecord, TestCounts

MAX_TITLE_CHARS = 200
_SHOWN_CHANGES = 200
_SHOWN_BLOCKED = 20
_CLAIM = "The run's own words, which nobody has checked; what was checked is under Verification:"


@dataclass(frozen=True, slots=True)
class BaseMoved:
    """How far the base went on since the run began; `conflicts` is None when that could not be told."""

    behind: int
    rewritten: bool = False
    conflicts: bool | None = False
    touched_by_both: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that the text is made of. `reasons` maps a path to why the run says it changed it."""

    title: str
    summary: str
    notes: Sequence[str]
    changes: Sequence[Change]
    reasons: dict[str, str]
    recorded: Sequence[GateRecord]
    rerun: Sequence[GateRecord]
    signals: Sequence[str]
    manifests: Sequence[str]
    blocked: Sequence[Blocked] = ()
    sandbox: OpenedKind | None = None
    sandbox_again: OpenedKind | None = None
    ticket_ref: str
    base: str
    base_sha: str
    head: str
    moved: BaseMoved
    roots: Sequence[str]
    key: str


def title_of(text: str, ticket_ref: str, *, roots: Sequence[str] = ()) -> str:
    """Make one harmless line of a title, or the ticket's name when nothing is left."""
    line = outbound.clean_line(text, roots=roots)
    short = line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 1].rstrip() + "…"
    return short or ticket_ref


def write(facts: Facts) -> str:
    """Write the text, at most 60,000 characters with its mark, evidence kept first."""
    sections = tuple(section for section in _sections(facts) if section.text.strip())
    return marks.marked(fit(sections, limit=MAX_BODY_CHARS - marks.MOST_CHARS), facts.key)


def minimal(facts: Facts) -> str:
    """Write the shortest text that still carries the evidence, for a forge with a smaller limit."""
    kept = tuple(each for each in _sections(facts) if each.heading in {"Verification", "Related"})
    return marks.marked(fit(kept, limit=MAX_BODY_CHARS // 10), facts.key)


def _sections(facts: Facts) -> tuple[Section, ...]:
    return (
        Section("Summary", _summary(facts), 3),
        Section("Changes", "\n".join(_changes(facts)), 5),
        Section("Verification", "\n".join(_verification(facts)), 1),
        Section("Risk and Security", "\n".join(f"- {signal}" for signal in facts.signals), 2),
        Section("What was blocked", "\n".join(_blocked(facts)), 4),
        Section("Dependencies", "\n".join(f"- {shown_path(path)} changes" for path in facts.manifests), 4),
        Section("Related", "\n".join(_related(facts)), 0),
    )


def _summary(facts: Facts) -> str:
    """Quote the run: whatever its text imitates, it cannot leave the quotation and pass for ours."""
    said = outbound.contained(outbound.clean(facts.summary, roots=facts.roots).text.strip())
    quoted = "\n".join(f"> {line}".rstrip() for line in said.splitlines())
    text = f"{_CLAIM}\n\n{quoted}" if said else "*The run left no summary.*"
    notes = [_in_line(note, roots=facts.roots) for note in facts.notes]
    listed = "\n".join(f"- {note}" for note in notes if note)
    return f"{text}\n\n{listed}" if listed else text


def _changes(facts: Facts) -> Iterator[str]:
    for change in facts.changes[:_SHOWN_CHANGES]:
        reason = _in_line(facts.reasons.get(change.path, ""), roots=facts.roots)
        added, removed = change.added_lines, change.removed_lines
        lines = "binary" if added is None or removed is None else f"+{added} -{removed}"
        told = f": {reason}" if reason else ""
        yield f"- {shown_path(change.path)} ({change.change}, {lines}){told}"
    if len(facts.changes) > _SHOWN_CHANGES:
        yield f"- and {len(facts.changes) - _SHOWN_CHANGES} more files"


def _blocked(facts: Facts) -> Iterator[str]:
    """Tell what the run tried in vain, in its own words: claims, and none of them got through."""
    named = [each for each in facts.blocked if each.what]
    if facts.blocked:
        yield "The run tried this and was not let do it:"
        yield ""
    for each in named[:_SHOWN_BLOCKED]:
        times = f", {each.count} times" if each.count > 1 else ""
        yield f"- {each.by}: {shown_path(each.what)} ({_in_line(each.code) or 'refused'}{times})"
    more = sum(
        each.count for each in (*named[_SHOWN_BLOCKED:], *(one for one in facts.blocked if not one.what))
    )
    if more:
        yield f"- and {more} more attempts"


def _verification(facts: Facts) -> Iterator[str]:
    yield f"Commit `{facts.head[:12]}` on `{facts.base_sha[:12]}`. Each gate ran twice: in the run, and again"
    yield "before publishing, by another process in a fresh checkout of exactly this commit."
    kinds = [kind or "not recorded" for kind in (facts.sandbox, facts.sandbox_again)]
    yield f"Sandbox: {kinds[0]} in the run, {kinds[1]} when the gates ran again."
    yield ""
    yield "| gate | in the run | before publishing | tests before publishing | command |"
    yield "|---|---|---|---|---|"
    first = {record.gate: record for record in facts.recorded if record.head == facts.head}
    again = {record.gate: record for record in facts.rerun if record.head == facts.head}
    for gate in dict.fromkeys((*first, *again)):
        run, publish = first.get(gate), again.get(gate)
        command = next((each.command_sha256 for each in (publish, run) if each), None)
        digest = f"sha256 `{command[:12]}`" if command else "none"
        counts = _counts(publish.counts if publish else None)
        said = (_verdict(run, facts.roots), _verdict(publish, facts.roots))
        yield f"| {gate} | {' | '.join(said)} | {counts} | {digest} |"


def _verdict(record: GateRecord | None, roots: Sequence[str]) -> str:
    if record is None:
        return "no verdict"
    reason = _in_line(record.reason, roots=roots).replace("|", "/")[:120]
    told = f": {reason}" if reason and record.verdict != "passed" else ""
    return f"{record.verdict} in {format_duration(record.duration_ms / MS_PER_S)}{told}"


def _counts(counts: TestCounts | None) -> str:
    if counts is None:
        return "none"
    bad = counts.failed + counts.errored
    return f"{counts.executed} executed, {counts.passed} passed, {bad} failed, {counts.skipped} skipped"


def _related(facts: Facts) -> Iterator[str]:
    yield f"Ref: {_in_line(facts.ticket_ref)}"
    moved = facts.moved
    if not moved.behind and not moved.rewritten:
        return
    yield ""
    base = shown_path(facts.base)
    if moved.rewritten:
        yield f"**Base moved:** the history of {base} was rewritten; this began at `{facts.base_sha[:12]}`."
    else:
        commits = "1 commit" if moved.behind == 1 else f"{moved.behind} commits"
        yield f"**Base moved:** {base} is {commits} ahead of `{facts.base_sha[:12]}`, where this began;"
        yield "the gates have not seen those."
    if moved.conflicts:
        paths = ", ".join(shown_path(path) for path in moved.touched_by_both[:20]) or "see the merge check"
        yield f"It does not merge cleanly. Changed on both sides: {paths}. Nothing was resolved by itself."
    elif moved.conflicts is None:
        yield "Whether it merges cleanly could not be told."


def _in_line(text: str, *, roots: Sequence[str] = ()) -> str:
    return outbound.contained(outbound.clean_line(text, roots=roots))


def shown_path(path: str) -> str:
    """Show a path as a code span that nothing in it can leave; one that holds a secret is not repeated."""
    if find(path.encode("utf-8", "surrogateescape")):
        return "`[a name that holds a secret]`"
    plain = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return f"`{outbound.clean_line(''.join(map(_shown_char, plain)))}`"


def _shown_char(char: str) -> str:
    if char in "`|":
        return f"\\x{ord(char):02x}"
    return char if char.isprintable() else ascii(char)[1:-1]
