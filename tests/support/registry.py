"""A registry of packages on loopback, by TLS, with a certificate of its own making.

It is a stand-in for a registry on the internet: what it hands out are real packages, and npm is real.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import ssl
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Final

from tests.support.loopback import LoopbackHandler, LoopbackServer

HOST: Final = "localhost"


class Registry(LoopbackServer):
    """Hands out one package, `left`; `asked` holds the paths it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        self.certificate, key = _certificate(folder)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(self.certificate, key)
        self.package = _package()
        super().__init__(_PackageHandler)

    def get_request(self) -> tuple[Any, Any]:
        """Accept a client; the handshake is made by its own thread."""
        plain, address = super().get_request()
        return self._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    @property
    def tarball(self) -> str:
        """Where the package lies."""
        return f"https://{HOST}:{self.server_port}/left/-/left-1.0.0.tgz"

    def npm_lock(self, tarball: str | None = None) -> str:
        """A lock file that takes the package from here, or from another place."""
        digest = base64.b64encode(hashlib.sha512(self.package).digest()).decode()
        left = {
            "version": "1.0.0",
            "resolved": tarball or self.tarball,
            "integrity": f"sha512-{digest}",
        }
        root = {"name": "shop", "version": "1.0.0", "dependencies": {"left": "1.0.0"}}
        packages = {"": root, "node_modules/left": left}
        return json.dumps(
            {"name": "shop", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": packages}
        )


class _PackageHandler(LoopbackHandler):
    server: Registry

    def do_GET(self) -> None:  # noqa: N802 - name of the base
        self.server.asked.append(self.path)
        if self.path.endswith(".tgz"):
            self.send_bytes(200, {"Content-Type": "application/octet-stream"}, self.server.package)
        else:
            self.send_bytes(404, {}, b"{}")


def _certificate(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "registry.pem", folder / "registry.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "7300"),
            *("-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def _package() -> bytes:
    """The same bytes each time: the lock file names their digest."""
    files = {
        "package/package.json": json.dumps({"name": "left", "version": "1.0.0", "main": "index.js"}),
        "package/index.js": "module.exports = 'left';\n",
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(packed.getvalue(), mtime=0)
