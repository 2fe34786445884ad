"""bench/gpu/check tells programs whose tests ran from programs that ran nothing. The programs here
are scripts that print what the test framework prints on a machine with and without a GPU."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

PASSES = """[ RUN      ] Rows.Pass
[       OK ] Rows.Pass (3 ms)
[ RUN      ] Rows.AreSkipped
rows_test.cc:7: Skipped
needs two devices
[  SKIPPED ] Rows.AreSkipped (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Rows.AreSkipped
"""
SKIPS = """[ RUN      ] DeviceRows.Compute
device_rows_test.cc:72: Skipped
no CUDA device

[  SKIPPED ] DeviceRows.Compute (0 ms)
[  PASSED  ] 0 tests.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] DeviceRows.Compute
"""
NO_DRIVER = """unknown file: Failure
C++ exception with description "the driver is not loaded" thrown in auxiliary test code (environments).
"""
FAILS = """[ RUN      ] Rows.Fail
rows_test.cc:9: Failure
[  FAILED  ] Rows.Fail (3 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Rows.Fail
"""


def check(tmp_path: pathlib.Path, **programs: tuple[str, int]) -> tuple[int, list[str]]:
    """Runs the check with these programs, each an output and a status: its own status and report."""
    tests = tmp_path / "tests"
    tests.mkdir(parents=True)
    shutil.copy(ROOT / "bench" / "gpu" / "check", tmp_path)
    for name, (output, status) in programs.items():
        (tests / name).write_text(f"#!/bin/sh\ncat <<'END'\n{output}END\nexit {status}\n")
        (tests / name).chmod(0o755)
    (tests / "list").write_text("".join(f"{name}\n" for name in programs))
    report = tmp_path / "report.md"
    done = subprocess.run(
        [tmp_path / "check", report],
        env={"PATH": "/usr/bin:/bin", "DYNET_CHECK_SECONDS": "20"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    return done.returncode, report.read_text().splitlines()


def test_programs_that_pass(tmp_path):
    status, report = check(tmp_path, rows_test=(PASSES, 0))
    assert "| rows_test | 1 | 0 | 1 | ok |" in report
    assert "1 of 1 programs ran their tests and ended well." in report
    assert status == 0


def test_programs_that_run_nothing_or_fail(tmp_path):
    status, report = check(
        tmp_path,
        a_test=(PASSES, 0),
        b_test=(SKIPS, 0),
        c_test=(NO_DRIVER, 1),
        d_test=(PASSES + FAILS, 1),
        e_test=("", 0),
        f_test=(PASSES, 134),
    )
    assert [line for line in report if "_test |" in line] == [
        "| a_test | 1 | 0 | 1 | ok |",
        "| b_test | 0 | 0 | 1 | ends with 0, nothing ran: no CUDA device |",
        "| c_test | 0 | 0 | 0 | ends with 1, nothing ran: the driver is not loaded |",
        "| d_test | 1 | 1 | 1 | ends with 1 |",
        "| e_test | 0 | 0 | 0 | ends with 0, nothing ran |",
        "| f_test | 1 | 0 | 1 | ends with 134 |",
    ]
    assert "1 of 6 programs ran their tests and ended well." in report
    assert report[-1] == "**5 of 6 test programs did not end well, or ran nothing.**"
    assert status == 1
