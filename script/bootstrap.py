"""Makes `.venv` hold exactly what the lock says.

Standard library only: it runs before anything is installed. Start it through `script/bootstrap`,
which finds a Python that is new enough. It must not touch anything outside the checkout.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
# Per profile: the requirement files, installed in one go.
PROFILES = {
    "runtime": ("runtime.txt", "build.txt"),
    "dev": ("dev.txt",),
}


def main(argv: list[str]) -> int:
    """Bring the asked profile up to date; 0 when it is."""
    options = {f"--{name}": name for name in PROFILES}
    unknown = [word for word in argv if word not in options]
    if unknown:
        known = " ".join(options)
        print(f"script/bootstrap: unknown option {unknown[0]} (known: {known})", file=sys.stderr)
        return 2
    profile = options[argv[-1]] if argv else "dev"
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_current(profile):
            _install(profile)
    return 0


def _is_current(profile: str) -> bool:
    """Whether this profile, or the larger one, stands as the files now want it."""
    if not (VENV / "bin" / "python").exists():
        return False
    candidates = {profile, "dev"}
    return any(_read(_stamp_file(name)) == _stamp(name) for name in candidates)


def _install(profile: str) -> None:
    if _read(VENV / ".made-by") != _maker():
        print(f"Making {VENV} with Python {sys.version.split()[0]}", file=sys.stderr)
        shutil.rmtree(VENV, ignore_errors=True)
        venv.create(VENV, with_pip=True)
        (VENV / ".made-by").write_text(_maker())
    print(f"Installing the locked {profile} packages", file=sys.stderr)
    for name in PROFILES:
        _stamp_file(name).unlink(missing_ok=True)
    files = [f"--requirement={ROOT / 'requirements' / name}" for name in PROFILES[profile]]
    _pip("--require-hashes", *files)
    _pip("--no-deps", "--no-build-isolation", f"--editable={ROOT}")
    _stamp_file(profile).write_text(_stamp(profile))


def _pip(*arguments: str) -> None:
    python = str(VENV / "bin" / "python")
    # -P would be ours to pass, but pip's build hooks start Python themselves; the cwd is safe.
    command = [python, "-P", "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PIP_NO_INPUT": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run([*command, *arguments], cwd=VENV, env=environment, check=False)
    if done.returncode != 0:
        raise SystemExit(f"script/bootstrap: pip failed (exit {done.returncode}), see above")


def _stamp_file(profile: str) -> Path:
    return VENV / f".installed-{profile}"


def _stamp(profile: str) -> str:
    digest = hashlib.sha256(_maker().encode())
    files = [ROOT / "requirements" / name for name in PROFILES[profile]]
    for path in [*files, ROOT / "pyproject.toml"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _maker() -> str:
    """What a virtual environment is tied to: its place (scripts name it) and its Python."""
    return f"{VENV}\n{sys.base_prefix}\n{sys.version}\n"


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
