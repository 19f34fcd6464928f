from __future__ import annotations

import pytest

from autopilot.config.gitfault import classify
from autopilot.schemas.errors import ExitCode

CASES = [
    ("fatal: write error: No space left on device\nfatal: early EOF", "git-disk-full"),
    ("fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process seems", "git-lock"),
    ("error: could not lock config file .git/config: File exists", "git-lock"),
    ("error: cannot lock ref 'refs/x': is at 12 but expected 34", "git-lock"),
    ("fatal: shallow file has changed since we read it", "git-lock"),
    ("error: cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create", "git-ref-conflict"),
    ("fatal: a branch named 'x' already exists", "git-ref-conflict"),
    ("fatal: detected dubious ownership in repository at '/r'", "git-owner"),
    ("Host key verification failed.\nfatal: Could not read from remote repository.", "git-host-key"),
    ("fatal: Authentication failed for 'https://x/'", "git-auth"),
    ("fatal: could not read Username for 'https://x': terminal prompts disabled", "git-auth"),
    ("git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.", "git-auth"),
    ("fatal: unable to access 'https://x/': The requested URL returned error: 403", "git-auth"),
    ("remote: Permission to o/r.git denied to someone.", "git-auth"),
    (
        (
            "remote: The `o' organization has enabled or enforced SAML SSO.\n"
            "fatal: unable to access 'https://x/': The requested URL returned error: 403"
        ),
        "git-sso",
    ),
    ("ERROR: The 'o' organization has enabled or enforced SAML SSO. To access", "git-sso"),
    ("fatal: unable to access 'https://x/': SSL certificate problem: unable to get local issuer", "git-tls"),
    ("fatal: unable to access 'https://x/': server certificate verification failed. CAfile", "git-tls"),
    ("fatal: unable to access 'https://x/': Received HTTP code 407 from proxy after CONNECT", "git-proxy"),
    ("fatal: unable to access 'https://x/': OpenSSL SSL_connect: Connection reset by peer", "git-network"),
    ("error: failed to push\n! [remote rejected] main -> main (pre-receive hook declined)", "git-rejected"),
    ("remote: error: GH006: Protected branch update failed", "git-rejected"),
    ("! [rejected] a -> a (stale info)", "git-rejected"),
    ("fatal: '/x' does not appear to be a git repository\nfatal: Could not read from remote", "git-no-repo"),
    ("remote: Repository not found.\nfatal: repository 'https://x/' not found", "git-no-repo"),
    ("fatal: not a git repository (or any of the parent directories): .git", "git-no-repo"),
    ("fatal: couldn't find remote ref fix-tls-handshake", "git-no-ref"),
    ("fatal: ambiguous argument 'x': unknown revision or path not in the working tree.", "git-no-ref"),
    ("fatal: Needed a single revision", "git-no-ref"),
    ("fatal: remote error: upload-pack: not our ref 0123", "git-no-ref"),
    ("fatal: unable to access 'https://x/': Could not resolve host: x", "git-network"),
    ("fatal: unable to access 'https://x/': The requested URL returned error: 502", "git-network"),
    ("ssh: connect to host x port 22: Connection refused\nfatal: Could not read from", "git-network"),
    ("error: RPC failed; curl 56\nfatal: the remote end hung up unexpectedly", "git-network"),
    ("git-lfs filter-process: git-lfs: command not found", "git-lfs-missing"),
    ("error: gpg failed to sign the data\nfatal: failed to write commit object", "git-signing"),
    ("fatal: transport 'ext' not allowed", "git-protocol"),
    ("error: object file .git/objects/aa/bb is empty\nfatal: loose object", "git-corrupt"),
    ("error: insufficient permission for adding an object to repository", "git-permission"),
    ("fatal: something about ssl in a file named git-lfs-notes.md", "git-failed"),
    ("", "git-failed"),
]


@pytest.mark.field_report("PUB-024")
@pytest.mark.parametrize(("said", "code"), CASES)
def test_what_git_says_becomes_one_code(said: str, code: str) -> None:
    fault = classify("git fetch", exit_code=128, stderr=said.encode())
    assert fault.code == code
    assert fault.git_exit_code == 128
    assert bool(fault.hint) == (code != "git-failed")


def test_only_what_may_pass_by_itself_is_transient() -> None:
    codes = {
        code: classify("git x", exit_code=128, stderr=said.encode()).is_transient for said, code in CASES
    }
    assert {code for code, is_transient in codes.items() if is_transient} == {
        "git-disk-full",
        "git-lock",
        "git-network",
    }
    assert classify("git x", exit_code=1, stderr=b"early EOF").exit_code == ExitCode.LATER


def test_a_fault_names_the_command_and_the_line_that_matters() -> None:
    said = b"remote: counting\nfatal: couldn't find remote ref nope\n\nhint: look elsewhere\n"
    assert classify("git fetch", exit_code=128, stderr=said).what == (
        "git fetch: fatal: couldn't find remote ref nope"
    )
    assert classify("git x", exit_code=129, stderr=b"").what == "git x: exit code 129"
    away = b"fatal: '/srv/r' does not appear to be a git repository\nfatal: Could not read from remote."
    assert classify("git fetch", exit_code=128, stderr=away).what == (
        "git fetch: fatal: '/srv/r' does not appear to be a git repository"
    )


def test_a_fault_shows_no_credential_and_no_control_character() -> None:
    said = b"fatal: Authentication failed for 'https://me:hunter2@x/\x1b[31m' \xff\xfe\x07"
    fault = classify("git fetch", exit_code=128, stderr=said)
    assert "hunter2" not in str(fault)
    assert "https://***@x/'" in fault.stderr_tail
    assert "\x1b" not in fault.stderr_tail
