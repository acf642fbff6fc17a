"""Several devices give what one gives: eight virtual ones, in one process and in two."""

import os
import pathlib
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
PROGRAM = ROOT / "tests" / "programs" / "sharded.py"
AGREES = ["blocks agrees", "field agrees", "grid agrees"]


def start(devices, *arguments):
    flags = f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=0"
    environment = os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(run):
    printed, complaints = run.communicate(timeout=600)
    assert run.returncode == 0, complaints[-3000:]
    assert [line for line in printed.splitlines() if line.endswith("agrees")] == AGREES


def test_eight_devices_agree_with_one():
    finish(start(8))


def test_two_processes_with_four_devices_each_agree_with_one():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    runs = [start(4, process, 2, port) for process in range(2)]
    for run in runs:
        finish(run)
