"""A home with secrets in its surroundings, and a report of it, read and compared with its own manifest."""

from __future__ import annotations

import json
import stat
import tarfile
from pathlib import Path

from autopilot.schemas.errors import ExitCode
from tests.support import canary
from tests.support.cli import Cli
from tests.support.shop import CONFIG

FORM = "ghp_" + "Zq8Yx7Wv6Ut5Sr4Qp3On2Ml1Kj0Ih9Gf8Ed7"
TITLE = "Overhaul the merger of Initech and Globex"
RING = "a plain word kept in a ring"
CONFIGURED = "kT9vQ2xL7mPz4RwS"
OF_THE_PERSON = tuple(canary.ENVIRONMENT.values())
SECRETS = (*OF_THE_PERSON, FORM, RING, CONFIGURED)
PRIVATE = (
    *(TITLE, "Initech", "Globex", "pat@corp.example", "someone-at-home"),
    *("jira.hooli.example", "night@hooli.example", "NUCLEUS"),
)
OF_A_CREDENTIAL = f"""
{CONFIG.replace('url = "https://forge.example/o/till.git"', 'path = "/srv/Initech/till"')}
credential = "web"
[agents.mine]
kind = "command"
argv = ["/nowhere/agent", "--api-key", "{CONFIGURED}"]
[tracker.issues]
kind = "jira"
url = "https://jira.hooli.example"
account = "night@hooli.example"
credential = "web"
projects = {{ NUCLEUS = "till" }}
"""


def home_of(folder: Path) -> Cli:
    """A home below a person's, whose surroundings hold secrets."""
    env = {"AUTOPILOT_SECRET_WEB": RING, "USER": "someone-at-home", **canary.ENVIRONMENT}
    return Cli(folder / "someone-at-home" / "autopilot", config=OF_A_CREDENTIAL, env=env)


def files_of(path: Path) -> dict[str, str]:
    """What a report holds, by name."""
    with tarfile.open(path) as archive:
        held = {each.name.partition("/")[2]: archive.extractfile(each) for each in archive.getmembers()}
        return {name: file.read().decode() for name, file in held.items() if file is not None}


def made(cli: Cli, *words: str) -> dict[str, str]:
    """Make one, and see that what it says of itself is so."""
    where = () if "--output" in words else ("--output", str(cli.home))
    said = cli.call("report", "--json", *where, *words)
    assert said.code == ExitCode.OK, said
    told = said.json()["report"]
    path = Path(told["path"])
    status = path.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_size) == (0o600, told["size_bytes"])
    files = files_of(path)
    manifest = json.loads(files["MANIFEST.json"])
    assert told == {"path": str(path), "size_bytes": status.st_size} | manifest
    assert {file["name"]: file["size_bytes"] for file in manifest["files"]} == {
        name: len(text.encode()) for name, text in files.items() if name != "MANIFEST.json"
    }
    path.unlink()
    return files


def gaps(files: dict[str, str]) -> dict[str, str]:
    """What was left out, and why."""
    return {gap["what"]: gap["why"] for gap in json.loads(files["MANIFEST.json"])["left_out"]}
