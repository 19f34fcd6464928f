"""The forwarder as a process: it becomes the program it was given, and the program finds the outlet."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from autopilot.runner.network.inside import PORT, forwarder_file, proxy_environment, wrap
from autopilot.runner.network.line import Operator
from autopilot.runner.network.outlet import Gate, Outlet
from autopilot.runner.network.policy import Policy, reading_from, service_at
from tests.support.small_net import Pages, SmallNet
from tests.support.wait import wait_until

FETCH = """
import socket, sys
def fetch(port, ask):
    with socket.create_connection(("127.0.0.1", port), 20) as s:
        s.sendall(ask.encode())
        got = b""
        while piece := s.recv(65536):
            got += piece
    return got.decode().replace("\\r\\n", "|")
"""
PAGE = 'fetch({port}, "GET http://docs.example/a HTTP/1.1\\r\\nHost: docs.example\\r\\n\\r\\n")'

POST = '"POST /v1 HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nab"'


@pytest.fixture
def outlet(tmp_path: Path) -> Iterator[Outlet]:
    with ExitStack() as stack:
        pages = stack.enter_context(Pages())
        net = SmallNet(
            {"docs.example": ["93.184.216.34"], "127.0.0.1": ["127.0.0.1"]},
            {("93.184.216.34", 80): pages, ("127.0.0.1", 11434): pages},
        )
        service = service_at("http://127.0.0.1:11434/v1")
        assert service is not None
        policy = Policy((*reading_from(["docs.example"]), service))
        yield stack.enter_context(Outlet(tmp_path / "outlet.sock", Gate(policy, Operator(net))))


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in free:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in free]


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


def behind(outlet: Outlet, port: int, code: str, *, also: tuple[int, ...] = ()) -> list[str]:
    return list(wrap([sys.executable, "-I", "-c", FETCH + code], outlet.socket, port=port, also=also))


def carriers(outlet: Outlet) -> list[psutil.Process]:
    return [
        each
        for each in psutil.process_iter(["cmdline"])
        if str(outlet.socket) in (each.info["cmdline"] or [])
    ]


def run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )


def test_a_program_finds_the_outlet_at_a_port_of_its_loopback(outlet: Outlet, port: int) -> None:
    done = run(behind(outlet, port, f"print({PAGE.format(port=port)})"))
    assert done.stdout.startswith("HTTP/1.1 200")
    assert done.stdout.endswith("GET /a 0\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_many_connections_of_a_program_are_carried_side_by_side(outlet: Outlet, port: int) -> None:
    code = f"""
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(20) as pool:
    answers = list(pool.map(lambda _: {PAGE.format(port=port)}, range(60)))
print({{answer[-8:] for answer in answers}})
"""
    assert run(behind(outlet, port, code)).stdout == "{'GET /a 0'}\n"


def test_a_port_that_is_no_service_of_the_operators_is_cut_without_a_word(outlet: Outlet) -> None:
    port, inside = free_ports(2)
    # What was sent and never read makes the kernel reset the connection: cut all the same.
    code = f"""
try:
    print(fetch({inside}, {POST}))
except ConnectionResetError:
    print()
"""
    done = run(behind(outlet, port, code, also=(inside,)))
    assert (done.returncode, done.stdout) == (0, "\n")
    refused = list(outlet.refusals.counts())
    assert [(each.host, each.port, each.code) for each in refused] == [("127.0.0.1", inside, "ip-literal")]


@pytest.mark.needs(binary="bwrap", apt="bubblewrap")
def test_in_a_network_of_its_own_a_program_reaches_the_outlet_and_nothing_else(
    outlet: Outlet, tmp_path: Path
) -> None:
    code = f"""
import os
print({PAGE.format(port=PORT)}[-8:])
print(fetch(11434, {POST})[-10:])
ways = [("127.0.0.1", 22), ("1.1.1.1", 53), ("::1", 80)]
for what in [lambda way=way: socket.create_connection(way, 5) for way in ways] + [
    lambda: socket.getaddrinfo("docs.example", 80)
]:
    try:
        what()
    except OSError:
        print("no way")
print(sorted(name for _, name in socket.if_nameindex()))
"""
    argv = behind(outlet, PORT, code, also=(11434,))
    sandbox = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--unshare-all",
        "--die-with-parent",
    ]
    done = run([*sandbox, *argv])
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["GET /a 0", "POST /v1 2", *["no way"] * 4, "['lo']"]


@pytest.mark.parametrize(
    ("ending", "code"), [("sys.exit(7)", 7), ("os.kill(os.getpid(), 9)", -9), ("pass", 0)]
)
def test_the_programs_end_is_its_own(outlet: Outlet, port: int, ending: str, code: int) -> None:
    assert run(behind(outlet, port, f"import os\n{ending}")).returncode == code
    wait_until(lambda: not carriers(outlet), timeout_s=20, what="the carrier is gone")


def test_the_program_has_the_number_of_the_process_that_was_started_and_no_child(
    outlet: Outlet, port: int
) -> None:
    code = """
import os
print(os.getpid())
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("childless")
print(sorted(os.listdir("/proc/self/fd"))[:3] == ["0", "1", "2"] and len(os.listdir("/proc/self/fd")) <= 4)
"""
    with subprocess.Popen(behind(outlet, port, code), stdout=subprocess.PIPE, text=True) as process:
        out, _ = process.communicate(timeout=60)
    assert out.splitlines()[:2] == [str(process.pid), "childless"]
    assert sys.platform != "linux" or out.splitlines()[2] == "True"


def test_a_signal_is_the_programs_to_answer_and_the_carrier_carries_on_until_it_ends(
    outlet: Outlet, port: int
) -> None:
    code = f"""
import signal, os
def answer(*_):
    os.write(1, {PAGE.format(port=port)}[-8:].encode() + b"\\n")
    sys.exit(3)
signal.signal(signal.SIGTERM, answer)
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""
    argv = behind(outlet, port, code)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGTERM)
        assert process.stdout.readline() == "GET /a 0\n"
        assert process.wait(60) == 3
    wait_until(lambda: not carriers(outlet), timeout_s=20, what="the carrier is gone")


def test_the_carrier_holds_nothing_of_the_programs_output(outlet: Outlet, port: int) -> None:
    # A reader that waits for the end of the output would wait for the carrier.
    with subprocess.Popen(
        behind(outlet, port, "import os, signal; os.close(1); signal.pause()"), stdout=-1
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b""
        process.kill()


def test_a_program_that_is_not_there_is_told_as_a_shell_would(
    outlet: Outlet, port: int, tmp_path: Path
) -> None:
    done = run([*wrap(["/no/such/program"], outlet.socket, port=port)])
    assert (done.returncode, "/no/such/program" in done.stderr) == (127, True)
    plain = tmp_path / "plain"
    plain.write_text("")
    assert run([*wrap([str(plain)], outlet.socket, port=port)]).returncode == 126
    assert run([sys.executable, "-I", "-S", str(forwarder_file()), "x"]).returncode == 2
    wait_until(lambda: not carriers(outlet), timeout_s=20, what="the carriers are gone")


def test_an_outlet_that_is_gone_is_a_closed_connection(outlet: Outlet, port: int) -> None:
    outlet.__exit__(None, None, None)
    assert run(behind(outlet, port, f"print(repr({PAGE.format(port=port)}))")).stdout in {"''\n", ""}


def test_programs_are_told_of_the_proxy_by_every_name_they_know() -> None:
    told = proxy_environment(3128)
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        assert told[name] == "http://127.0.0.1:3128"
    assert told["NO_PROXY"] == told["no_proxy"] == "localhost,127.0.0.1,::1"
