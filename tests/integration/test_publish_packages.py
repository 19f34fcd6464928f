"""A lock file or a registry's setting that names a new place does not leave the machine by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.publish.checks.package_files import is_place_file
from autopilot.publish.checks.packages import MAX_BLOB_BYTES, hosts_in
from autopilot.publish.context import Findings
from autopilot.schemas.network import NetworkSpec
from tests.support.publication import Publication, commit, local_publication
from tests.support.publisher import look

USUAL = NetworkSpec(registry_hosts=("packages.example", "files.pythonhosted.org"))


def npm_lock(*resolved: str) -> str:
    packages = {
        f"node_modules/p{number}": {"resolved": url, "funding": {"url": "https://money.example/p"}}
        for number, url in enumerate(resolved)
    }
    return json.dumps({"lockfileVersion": 3, "packages": packages}, indent=2)


@pytest.fixture
def publication(tmp_path: Path) -> Publication:
    return local_publication(tmp_path)


def packages(publication: Publication, files: dict[str, str]) -> Findings:
    """What the check says of a commit with these files."""
    publication.changed["network"] = USUAL.model_dump()
    return look(publication.with_head(commit(publication, files)), "staging", "packages")["packages"]


@pytest.mark.field_report("SEC-007")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("package-lock.json", npm_lock("https://evil.example/p/-/p-1.0.0.tgz")),
        ("web/package-lock.json", npm_lock("https://packages.example@evil.example/p.tgz")),
        ("yarn.lock", 'p@1:\n  resolved "https://EVIL.example/p.tgz#abc"\n'),
        (".npmrc", "registry=https://evil.example/\n"),
        ("requirements.txt", "--extra-index-url https://user:x@evil.example/simple\nrequests==2.0\n"),
        ("uv.lock", '[[package]]\nsource = { registry = "https://evil.example/simple" }\n'),
        ("Cargo.lock", 'source = "git+ssh://git@evil.example/x?rev=1#2"\n'),
        ("package-lock.json", npm_lock("git+ssh://git@evil.example/x.git#1")),
    ],
)
def test_a_new_place_for_packages_refuses_the_publication_and_is_named(
    publication: Publication, path: str, text: str
) -> None:
    (reason,) = packages(publication, {path: text}).reasons
    assert "evil.example" in reason
    assert path in reason


def test_places_that_were_named_before_or_are_listed_are_no_news(publication: Publication) -> None:
    ordinary = npm_lock("https://packages.example/p/-/p-1.0.0.tgz")
    assert packages(publication, {"package-lock.json": ordinary}).reasons == ()
    publication.changed["network"] = {"registry_hosts": []}
    first = commit(publication, {"package-lock.json": ordinary})
    assert (
        "packages.example" in look(publication.with_head(first), "staging", "packages")["packages"].reasons[0]
    )


def test_only_what_packages_are_taken_from_counts() -> None:
    assert hosts_in("package-lock.json", npm_lock("https://a.example/x").encode()) == {"a.example"}
    assert hosts_in("uv.lock", b'url = "https://B.example:8443/x"\n# //c.example/y') == {
        "b.example",
        "c.example",
    }
    assert hosts_in("requirements.txt", b"x @ git+https://t:o@d.example/x\ngit@e.example:x/y") == {
        "d.example",
        "e.example",
    }


@pytest.mark.field_report("SEC-007")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("package-lock.json", r'{"resolved": "https:\/\/evil.example\/x.tgz"}'),
        ("package-lock.json", r'{"resolved": "https:\u002f\u002fevil.example/x.tgz"}'),
        ("package-lock.json", r'{"res\u006flved": "https://evil.example/x.tgz"}'),
        ("package-lock.json", r'{"resolved": "https:\/\/evil.example\/x.tgz",}'),
        ("uv.lock", r'sdist = { url = "https:\u002F\u002Fevil.example/x.tar.gz" }'),
        ("poetry.lock", r'url = "https:\u002F\U0000002Fevil.example/x.tar.gz"'),
        ("requirements.txt", "--index-url https:/\\\n/evil.example/simple"),
        ("requirements/dev.txt", "--index-url https://evil.example/simple"),
        ("dev-requirements.txt", "x @ https://evil.example/x.whl"),
        ("constraints.txt", "x @ https://evil.example/x.whl"),
        ("yarn.lock", r'resolution: "https:\x2f\x2fevil.example/x"'),
        ("package.json", '{"dependencies": {"x": "https://evil.example/x.tgz"}}'),
        ("package.json", '{"overrides": {"a": {"repository": "git+https://evil.example/x"}}}'),
        ("pnpm-workspace.yaml", "overrides:\n  x: https://evil.example/x.tgz\n"),
        ("pyproject.toml", '[[tool.uv.index]]\nurl = "https://evil.example/simple"\n'),
        ("pyproject.toml", '[tool.uv.sources]\nurls = { git = "https://evil.example/x" }\n'),
        ("pyproject.toml", '[[tool.poetry.source]]\nurl = "https://evil.example/simple"\n'),
        ("pyproject.toml", '[project]\ndependencies = ["x @ https://evil.example/x.whl"]\n'),
        ("pylock.dev.toml", 'url = "https://evil.example/x.whl"\n'),
        ("bunfig.toml", '[install]\nregistry = "https://evil.example/"\n'),
        ("Cargo.toml", '[dependencies]\nx = { git = "https://evil.example/x" }\n'),
        ("Gemfile", 'source "https://evil.example"\n'),
        ("go.mod", "module m\nreplace a.example/x => evil.example/x v1.0.0\n"),
        ("pom.xml", "<repository><url>https://evil.example/m2</url></repository>"),
        ("pom.xml", "<repository><url>https:&#47;&#x2f;evil.example/m2</url></repository>"),
        ("pom.xml", "<repository ><url>https:/<!-- x -->/evil.example/m2</url></repository >"),
        ("pom.xml", "<repository><url>https:/<![CDATA[/evil.example/m2]]></url></repository>"),
        ("pom.xml", "<mirror><a><![CDATA[<!--]]></a><url>https://evil.example/m2</url></mirror>"),
        ("pom.xml", "<repository id='x'><url>https://evil.example/m2</url>"),
        ("nuget.config", '<add key="x" value="https:&#47;/evil.example/v3" />'),
        ("build.gradle", "maven { url 'https://evil.example/m2' }"),
        (".bundle/config", 'BUNDLE_MIRROR__ALL: "https://evil.example"\n'),
        ("composer.json", '{"repositories": [{"type": "vcs", "url": "https://evil.example/x"}]}'),
    ],
)
def test_a_place_is_read_however_it_is_written_and_wherever_a_tool_takes_it_from(
    path: str, text: str
) -> None:
    assert is_place_file(path)
    assert "evil.example" in hosts_in(path, text.encode())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("package.json", '{"homepage": "https://a.example", "scripts": {"open": "open http://b.example"}}'),
        (
            "pyproject.toml",
            '[project.urls]\nHome = "https://a.example"\n[tool.ruff]\nx = "https://b.example"\n',
        ),
        ("Cargo.toml", '[package]\nrepository = "https://a.example/x"\n'),
        ("composer.json", '{"homepage": "https://a.example"}'),
        ("pom.xml", "<url>https://a.example</url>"),
    ],
)
def test_a_home_page_is_no_place_for_packages(path: str, text: str) -> None:
    assert hosts_in(path, text.encode()) == frozenset()


def test_a_lock_file_that_is_nested_without_end_is_read_as_text() -> None:
    text = '{"resolved": "https://a.example/x", "x": ' + "[" * 200_000
    assert hosts_in("package-lock.json", text.encode()) == {"a.example"}


@pytest.mark.parametrize(
    ("path", "piece"),
    [
        ("requirements.txt", "a"),
        ("yarn.lock", "a."),
        ("pom.xml", "<repository>"),
        ("pom.xml", "<!--"),
        ("build.gradle", "a."),
        ("go.mod", "a."),
    ],
)
def test_five_megabytes_of_one_piece_are_read_once(path: str, piece: str) -> None:
    """The time went with the square: a publisher stood still until it was ended, and again at each try."""
    text = piece * (MAX_BLOB_BYTES // len(piece)) + " https://evil.example/x"
    assert hosts_in(path, text.encode()) <= {"evil.example"}
