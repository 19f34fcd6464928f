"""What is done with the branch, for everything that can be on the remote."""

import pytest

from autopilot.config.git import GitError
from autopilot.publish.askpass import NO_ACCESS, Access
from autopilot.publish.branch import Next, next_step, push_arguments, refusal
from autopilot.publish.forges.forge import Known
from autopilot.publish.remote import Remote
from autopilot.publish.stops import Stop
from tests.unit.publish.builders import BASE, HEAD, OTHER, pull_request, spec


def remote(branch: str | None) -> Remote:
    return Remote(branch=branch, base=BASE, default="main")


def known(head: str = OTHER, **other: object) -> Known:
    return Known(pull_request(**other), head, "main", "", "")


@pytest.mark.parametrize(
    ("on_remote", "pushed_last", "pull", "expected"),
    [
        (None, None, None, Next.PUSH),
        (HEAD, None, None, Next.PUSHED_ALREADY),
        (HEAD, OTHER, None, Next.PUSHED_ALREADY),
        (OTHER, OTHER, None, Next.PUSH),
        (OTHER, OTHER, known(OTHER), Next.PUSH),
        (HEAD, None, known(HEAD), Next.PUSHED_ALREADY),
        (HEAD, None, known(HEAD, draft=False), Next.PUSHED_ALREADY),
        (None, None, known(HEAD, state="merged"), Next.MERGED_ALREADY),
        (None, HEAD, known(HEAD, state="merged"), Next.MERGED_ALREADY),
        (HEAD, HEAD, known(HEAD, state="merged"), Next.MERGED_ALREADY),
    ],
)
def test_the_way_is_free(
    on_remote: str | None, pushed_last: str | None, pull: Known | None, expected: Next
) -> None:
    wanted = spec(expected_remote_head=pushed_last)
    assert next_step(wanted, remote(on_remote), pull) is expected


@pytest.mark.parametrize(
    ("on_remote", "pushed_last", "pull", "code"),
    [
        pytest.param(BASE, OTHER, known(BASE), "branch-conflict", marks=pytest.mark.field_report("PUB-012")),
        pytest.param(OTHER, None, None, "branch-conflict", marks=pytest.mark.field_report("PUB-013")),
        (None, OTHER, None, "branch-deleted"),
        (None, OTHER, known(OTHER), "branch-deleted"),
        pytest.param(
            None,
            OTHER,
            known(OTHER, state="merged"),
            "already-merged",
            marks=pytest.mark.field_report("PUB-014"),
        ),
        pytest.param(
            None,
            None,
            known(OTHER, state="merged"),
            "already-merged",
            marks=pytest.mark.field_report("PUB-014"),
        ),
        (OTHER, OTHER, known(OTHER, state="closed"), "pull-request-closed"),
        (HEAD, HEAD, known(HEAD, state="closed"), "pull-request-closed"),
        (OTHER, OTHER, known(OTHER, draft=False), "pull-request-left-draft"),
    ],
)
def test_a_persons_work_or_decision_is_in_the_way(
    on_remote: str | None, pushed_last: str | None, pull: Known | None, code: str
) -> None:
    with pytest.raises(Stop) as caught:
        next_step(spec(expected_remote_head=pushed_last), remote(on_remote), pull)
    assert (caught.value.code, caught.value.waiting_for) == (code, "branch-conflict")
    assert caught.value.pr == (pull.pr if pull else None)


@pytest.mark.parametrize("pushed_last", [None, BASE])
def test_a_commit_of_ours_whose_push_was_cut_short_is_in_nobodys_way(pushed_last: str | None) -> None:
    wanted = spec(expected_remote_head=pushed_last, attempted_heads=(OTHER,))
    assert next_step(wanted, remote(OTHER), None) is Next.PUSH
    with pytest.raises(Stop):
        next_step(wanted, remote("9" * 40), None)


@pytest.mark.field_report("PUB-013")
@pytest.mark.parametrize("pushed_last", [None, OTHER])
def test_a_push_names_one_commit_one_branch_and_the_expected_old_value(pushed_last: str | None) -> None:
    words = push_arguments(spec(expected_remote_head=pushed_last), over=pushed_last)
    ref = "refs/heads/autopilot/t-3-x"
    assert f"--force-with-lease={ref}:{pushed_last or ''}" in words
    assert words[-3:] == ("--", "/srv/demo.git", f"{HEAD}:{ref}")
    assert not [word for word in words if word in {"--force", "-f", "--mirror", "--all"} or word[0] == "+"]


@pytest.mark.parametrize(
    ("said", "code", "waits_for"),
    [
        ("error: GH006: Protected branch update failed", "branch-protected", "configuration"),
        ("error: GH013: ... Secret scanning found it", "push-found-secret", "verification-failed"),
        ("refusing to update workflow without `workflow` scope", "token-scope", "credential"),
        ("! [remote rejected] x (pre-receive hook declined)", "push-refused", "configuration"),
    ],
)
def test_a_refusal_says_who_can_lift_it(said: str, code: str, waits_for: str) -> None:
    stop = refusal(GitError("git-rejected", "git push: rejected", stderr_tail=said), NO_ACCESS)
    assert (stop.code, stop.waiting_for) == (code, waits_for)


def test_a_server_that_repeats_the_token_cannot_get_it_into_a_record() -> None:
    access = Access({}, "made-up-token")
    error = GitError("git-rejected", "git push", stderr_tail="remote: you sent made-up-token, no")
    assert "made-up-token" not in str(refusal(error, access))
    assert "[token]" in str(refusal(error, access))
    assert "made-up-token" not in repr(access)
