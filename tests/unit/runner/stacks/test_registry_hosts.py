"""Where packages come from, as the base commit's files say it."""

from __future__ import annotations

import json

import pytest

from autopilot.publish.checks.package_files import is_place_file
from autopilot.publish.checks.packages import hosts_in
from autopilot.runner.stacks.registry_hosts import MAX_PLACES, registry_places
from tests.support.memory_tree import memory_tree

P = "packages.example"
NPM = {
    "packages": {"": {}, "node_modules/p": {"resolved": f"https://{P}/p.tgz", "funding": "https://f.example"}}
}
OLD_NPM = {
    "dependencies": {
        "p": {
            "version": "1",
            "resolved": f"https://{P}/p.tgz",
            "dependencies": {"q": {"version": "1", "resolved": "https://deep.example/q.tgz"}},
        }
    }
}
UV = f"""
[[package]]
name = "p"
source = {{ registry = "https://{P}/simple" }}
sdist = {{ url = "https://files.example/p.tar.gz" }}
wheels = [{{ url = "https://wheels.example/p.whl" }}]
[[package]]
name = "g"
source = {{ git = "https://git.example/g?rev=1#2" }}
"""
POETRY = f"""
[[package]]
name = "p"
[package.source]
type = "legacy"
url = "https://{P}/simple"
[[package]]
name = "g"
[package.source]
type = "git"
url = "https://git.example/g.git"
"""
CARGO = f"""
[[package]]
name = "usual"
source = "registry+https://github.example/rust-lang/crates.io-index"
[[package]]
name = "p"
source = "registry+https://{P}/index"
[[package]]
name = "s"
source = "sparse+https://sparse.example/index/"
[[package]]
name = "g"
source = "git+https://git.example/x?rev=1#2"
"""
GEMS = f"""GIT
  remote: https://git.example/x.git
  revision: 1

GEM
  remote: https://{P}/
  specs:
    rake (13.0)
"""
COMPOSER = {
    "packages": [{"dist": {"url": f"https://{P}/p.zip"}, "source": {"url": "https://git.example/p.git"}}],
    "packages-dev": [{"dist": {"url": "https://dev.example/p.zip"}}],
}
POM = f"""<project xmlns="http://maven.example/POM"><url>https://home.example</url>
<!-- <repositories><repository><url>https://gone.example/m</url></repository></repositories> -->
<repositories><repository><id>x</id><url>https://{P}/maven</url></repository></repositories>
<distributionManagement><repository><url>https://upload.example/m</url></repository></distributionManagement>
</project>"""
NUGET = f"""<configuration><packageSources><clear />
<add key="x" value="https://{P}/v3/index.json" /></packageSources>
<packageSourceCredentials><add key="u" value="https://secret.example/" /></packageSourceCredentials>
</configuration>"""
GRADLE = f"""// maven {{ url "https://gone.example" }}
repositories {{
  mavenCentral()
  maven {{ url = uri("https://{P}/maven") }}
  maven("https://short.example/maven")
}}
pom {{ url = "https://home.example" }}
"""
REQUIREMENTS = f"""--index-url https://{P}/simple
-i https://short.example/simple
x @ https://direct.example/x.whl
y @ git+https://git.example/y
z==1  # https://prose.example
"""
FILES = [
    ("package-lock.json", json.dumps(NPM), {P}),
    ("npm-shrinkwrap.json", json.dumps(OLD_NPM), {P, "deep.example"}),
    ("yarn.lock", f'p@1:\n  version "1"\n  resolved "https://{P}/p.tgz#abc"\n', {P}),
    ("pnpm-lock.yaml", f"  /p@1:\n    resolution: {{tarball: https://{P}/p.tgz}}\n", {P}),
    (".npmrc", f"; https://prose.example\nregistry=https://{P}/\n@a:registry = https://scoped.example/\n",
     {P, "scoped.example"}),
    (".yarnrc.yml", f'npmRegistryServer: "https://{P}"\nplugins: https://plugins.example\n', {P}),
    ("uv.lock", UV, {P, "files.example", "wheels.example"}),
    ("poetry.lock", POETRY, {P}),
    ("Pipfile.lock", json.dumps({"_meta": {"sources": [{"url": f"https://{P}/simple"}]}}), {P}),
    ("Cargo.lock", CARGO, {P, "sparse.example"}),
    (".cargo/config.toml", f'[source.x]\nregistry = "sparse+https://{P}/"\n', {P}),
    ("Gemfile.lock", GEMS, {P}),
    ("composer.lock", json.dumps(COMPOSER), {P, "dev.example"}),
    ("pom.xml", POM, {P}),
    ("NuGet.Config", NUGET, {P}),
    ("build.gradle.kts", GRADLE, {P, "short.example"}),
    ("requirements-dev.txt", REQUIREMENTS, {P, "short.example", "direct.example"}),
    ("gradle/wrapper/gradle-wrapper.properties", f"distributionUrl=https\\://{P}/gradle.zip\n", {P}),
]  # fmt: skip


def hosts(files: dict[str, str]) -> set[str]:
    return {place.target.host for place in registry_places(memory_tree(files))}


@pytest.mark.covers("I07")
@pytest.mark.parametrize(("path", "text", "named"), FILES, ids=[path for path, *_ in FILES])
def test_a_file_names_the_places_that_packages_are_taken_from_and_no_other(
    path: str, text: str, named: set[str]
) -> None:
    assert hosts({path: text}) == named


@pytest.mark.parametrize(("path", "text", "named"), FILES, ids=[path for path, *_ in FILES])
def test_whatever_would_be_reached_is_news_to_the_publisher_when_a_run_writes_it(
    path: str, text: str, named: set[str]
) -> None:
    assert is_place_file(path)
    assert named <= hosts_in(path, text.encode())


@pytest.mark.parametrize(
    "address",
    [
        "http://plain.example/p.tgz",
        "https://user:word@login.example/p.tgz",
        "https://127.0.0.1/p.tgz",
        "https://[::1]/p.tgz",
        "https://0x7f.1/p.tgz",
        "https://2130706433/p.tgz",
        "https://dot.example./p.tgz",
        "https://b\u00fccher.example/p.tgz",
        "https://nul.example\x00.evil.example/p.tgz",
        "https://back.example\\@evil.example/p.tgz",
        "https://port.example:0/p.tgz",
        "https:///p.tgz",
        "git+ssh://git@git.example/p.git",
        "git+https://git.example/p.git",
        "file:../p",
        "//packages.example/p.tgz",
    ],
)
def test_what_is_no_plain_host_by_https_is_no_place(address: str) -> None:
    lock = json.dumps({"packages": {"node_modules/p": {"resolved": address}}})
    assert hosts({"package-lock.json": lock}) == set()


def test_a_name_in_capitals_and_a_port_are_read_as_a_client_reads_them() -> None:
    lock = json.dumps({"packages": {"node_modules/p": {"resolved": "HTTPS://Packages.Example:8443/p.tgz"}}})
    (place,) = registry_places(memory_tree({"package-lock.json": lock}))
    assert (place.target.host, place.target.port, place.file) == (P, 8443, "package-lock.json")


def test_files_below_the_root_name_nothing() -> None:
    assert (
        hosts({"tests/data/package-lock.json": json.dumps(NPM), "web/.npmrc": f"registry=https://{P}"})
        == set()
    )


@pytest.mark.parametrize("path", [path for path, *_ in FILES])
@pytest.mark.parametrize(
    "text", ["", "[", "[]", "null", '{"packages": 1}', "[package]\nx = 1", "[" * 100_000]
)
def test_a_file_that_is_no_such_file_names_nothing(path: str, text: str) -> None:
    assert hosts({path: text}) == set()


def test_bytes_that_are_no_text_name_nothing() -> None:
    assert registry_places(memory_tree({"yarn.lock": b'  resolved "https://packages.example/\xff"'})) == ()


def test_there_is_an_end_to_how_many_places_are_named() -> None:
    packages = {f"node_modules/p{n}": {"resolved": f"https://h{n}.example/p.tgz"} for n in range(100)}
    places = registry_places(memory_tree({"package-lock.json": json.dumps({"packages": packages})}))
    assert len(places) == MAX_PLACES
