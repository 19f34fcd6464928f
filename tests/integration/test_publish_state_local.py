"""What became of a pull request of the embedded forge is seen in the remote, by git alone."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from autopilot.publish.forges.local import read_records, record_path
from tests.support.gitcmd import git
from tests.support.publication import BRANCH, Publication, local_publication
from tests.support.publisher import branches, deliver_only, publisher_environment
from tests.support.pull_states import Question, ask_here, by_publication, finish_asking, start_asking
from tests.support.repo_traps import write_script
from tests.support.repos import commit_files, init_bare
from tests.support.wait import wait_until

OPEN, MERGED, CLOSED = (("open", ""), ("merged", ""), ("closed", ""))


@pytest.fixture
def publication(tmp_path: Path) -> Publication:
    """A draft that is open."""
    made = local_publication(tmp_path)
    assert deliver_only(made).verdict["outcome"] == "pr-opened"
    return made


def question(publication: Publication, **changed: object) -> Question:
    changed = {"mirror": str(publication.mirror), **changed}
    return Question(publication.root, publication.forge, {"P-3": (1, BRANCH)}, changed)


def ask(publication: Publication, **changed: object) -> tuple[str, str]:
    return ask_here(question(publication, **changed))["P-3"]


def merge(publication: Publication, *, onto: str = "main") -> None:
    """A person merges the branch into a base, with a merge commit."""
    remote = publication.remote
    tree = git(remote, "rev-parse", f"refs/heads/{BRANCH}^{{tree}}")
    base, head = (git(remote, "rev-parse", f"refs/heads/{name}") for name in (onto, BRANCH))
    sha = git(remote, "commit-tree", tree, "-p", base, "-p", head, "-m", "Merge it")
    git(remote, "update-ref", f"refs/heads/{onto}", sha)


def squash(publication: Publication) -> None:
    """A person merges the change, but not its commit."""
    remote = publication.remote
    tree = git(remote, "rev-parse", f"refs/heads/{BRANCH}^{{tree}}")
    sha = git(remote, "commit-tree", tree, "-p", publication.base_sha, "-m", "All in one")
    git(remote, "update-ref", "refs/heads/main", sha)


def delete_branch(publication: Publication) -> None:
    git(publication.remote, "update-ref", "-d", f"refs/heads/{BRANCH}")


def test_a_draft_that_nobody_touched_is_open_and_asking_changes_nothing(publication: Publication) -> None:
    before = branches(publication.remote), record_path(_records(publication), 1).read_bytes()
    assert ask(publication) == OPEN
    assert (branches(publication.remote), record_path(_records(publication), 1).read_bytes()) == before


def _records(publication: Publication) -> Path:
    return Path(publication.forge["record_dir"])


@pytest.mark.field_report("PUB-014")
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_merge_is_seen_whether_the_branch_is_still_there_or_not(
    publication: Publication, is_deleted: bool
) -> None:
    merge(publication)
    commit_files(publication.remote, "main", {"later.txt": "the base went on\n"})
    if is_deleted:
        delete_branch(publication)
    assert ask(publication) == MERGED


def test_a_fast_forward_is_a_merge_too(publication: Publication) -> None:
    git(publication.remote, "update-ref", "refs/heads/main", publication.head)
    assert ask(publication) == MERGED


def test_a_base_that_merely_went_on_is_no_merge(publication: Publication) -> None:
    commit_files(publication.remote, "main", {"other.txt": "somebody else's\n"})
    assert ask(publication) == OPEN


def test_a_merge_into_another_branch_than_the_base_is_no_merge(publication: Publication) -> None:
    git(publication.remote, "update-ref", "refs/heads/next", publication.base_sha)
    merge(publication, onto="next")
    assert ask(publication) == OPEN


def test_a_squashed_merge_cannot_be_seen_until_the_branch_is_deleted(publication: Publication) -> None:
    squash(publication)
    assert ask(publication) == OPEN
    delete_branch(publication)
    assert ask(publication) == CLOSED


def test_the_mirror_is_only_lent(publication: Publication, tmp_path: Path) -> None:
    merge(publication)
    assert ask(publication, mirror=None) == MERGED
    assert ask(publication, mirror=str(tmp_path / "nowhere")) == MERGED


@pytest.mark.parametrize("what", ["gone", "empty", "no base"])
def test_a_remote_that_is_not_what_it_was_tells_nothing_and_nothing_counts_as_closed(
    publication: Publication, what: str
) -> None:
    if what == "no base":
        git(publication.remote, "update-ref", "-d", "refs/heads/main")
    else:
        shutil.rmtree(publication.remote)
    if what == "empty":
        init_bare(publication.remote)
    state, code = ask(publication)
    assert state == "unknown"
    assert code in {"base-missing", "remote-unusable"}


def test_a_record_that_is_gone_or_of_another_branch_tells_nothing(publication: Publication) -> None:
    merge(publication)
    (record,) = read_records(_records(publication))
    other = record.model_copy(update={"branch": "autopilot/t-9-other"})
    record_path(_records(publication), 1).write_text(other.model_dump_json())
    assert ask(publication) == ("unknown", "another-pull-request")
    record_path(_records(publication), 1).unlink()
    assert ask(publication) == ("unknown", "record-unreadable")


@pytest.mark.field_report("SEC-005")
def test_branches_that_are_named_like_options_mislead_nobody_who_looks_after_a_draft(
    publication: Publication,
) -> None:
    heads = publication.remote / "refs" / "heads"
    for name in ("--upload-pack=touch OWNED", "-D", "--exec=touch OWNED", f"--delete={BRANCH}"):
        (heads / name).parent.mkdir(parents=True, exist_ok=True)
        (heads / name).write_text(f"{publication.base_sha}\n")
    before = branches(publication.remote)
    assert ask(publication) == OPEN
    assert branches(publication.remote) == before
    merge(publication)
    assert ask(publication) == MERGED
    delete_branch(publication)
    assert ask(publication) == MERGED
    assert not list(publication.root.rglob("OWNED"))


class TestProcess:
    @pytest.fixture
    def stuck(self, publication: Publication) -> Iterator[Question]:
        """A question whose remote never answers: git waits for a pipe, as long as the test runs."""
        pipe = publication.root / "never"
        os.mkfifo(pipe)
        entered = publication.root / "entered"
        program = publication.root / "slow-ssh"
        write_script(program, f"touch {entered}\nread -r line < {pipe}")
        write_script(publication.root / "bin" / "ssh", f"exec {program}")
        forge = {**publication.forge, "push_url": "ssh://forge.invalid/o/r.git"}
        yield Question(publication.root, forge, {"P-3": (1, BRANCH)})
        with suppress(OSError):  # nobody waits any more
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))

    @staticmethod
    def start(stuck: Question) -> "subprocess.Popen[str]":
        path = f"{stuck.root / 'bin'}:{os.environ['PATH']}"
        asking = start_asking(stuck, PATH=path)
        wait_until((stuck.root / "entered").exists, 60, "git waits for its server")
        return asking

    def test_told_to_stop_it_says_that_it_knows_nothing(self, stuck: Question) -> None:
        asking = self.start(stuck)
        asking.terminate()
        assert finish_asking(asking) == (0, "")
        assert by_publication(stuck.report().answers) == {"P-3": ("unknown", "stopped")}
        assert stuck.leftovers() == [".lock"]

    def test_killed_it_leaves_no_report_and_the_next_one_is_not_in_its_way(
        self, stuck: Question, publication: Publication
    ) -> None:
        asking = self.start(stuck)
        asking.send_signal(signal.SIGKILL)
        assert finish_asking(asking)[0] == -signal.SIGKILL
        assert not stuck.report_file.exists()
        merge(publication)
        assert finish_asking(start_asking(question(publication))) == (0, "")
        assert by_publication(question(publication).report().answers) == {"P-3": MERGED}
        assert stuck.leftovers() == [".lock"]

    def test_a_second_one_at_the_same_time_gives_way(self, stuck: Question, publication: Publication) -> None:
        asking = self.start(stuck)
        code, said = finish_asking(start_asking(question(publication)))
        assert code == 75
        assert "publisher-busy" in said
        asking.terminate()
        assert finish_asking(asking)[0] == 0

    def test_a_remote_that_never_answers_is_given_up_in_time(self, stuck: Question) -> None:
        hurried = Question(stuck.root, stuck.forge, stuck.pulls, {"wall_s": 1})
        assert finish_asking(self.start(hurried)) == (0, "")
        assert by_publication(hurried.report().answers) == {"P-3": ("unknown", "remote-unreachable")}

    def test_a_spec_that_cannot_be_read_is_a_configuration_fault(self, tmp_path: Path) -> None:
        (tmp_path / "spec.json").write_text('{"id": "Q"}')
        for spec in ("spec.json", "nowhere.json"):
            done = subprocess.run(
                [sys.executable, "-P", "-m", "autopilot.publish", "state", spec],
                cwd=tmp_path,
                env=publisher_environment(tmp_path / "home"),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 78
            assert "publish-spec-unreadable" in done.stderr
