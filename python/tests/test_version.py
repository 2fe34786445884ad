"""The version has one home, CMakeLists.txt, and tools/version says so if another file states it."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import dynet as dy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def said(root: pathlib.Path, *arguments: str) -> tuple[int, list[str]]:
    """The exit status of tools/version, and its lines."""
    done = subprocess.run(
        [root / "tools" / "version", *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_the_module_has_the_version_of_its_sources():
    assert said(ROOT) == (0, [dy.__version__])


@pytest.fixture
def project(tmp_path: pathlib.Path) -> pathlib.Path:
    """A project of version 4.1.0, committed, with a heading for its release."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "version", tmp_path / "tools")
    (tmp_path / "CMakeLists.txt").write_text("project(dynet VERSION 4.1.0 LANGUAGES CXX)\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 4.1.0 (2 May 2027)\n\n## 4.0.2\n")
    (tmp_path / "other.txt").write_text("14.1.0 4.1.01 4.1.0.5 4.0.2\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(project: pathlib.Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=project, check=True)


def commit(project: pathlib.Path) -> None:
    git(project, "add", ".")
    git(project, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "change")


def test_a_commit_that_can_become_a_release(project):
    for asked in ("--check", "--release"):
        assert said(project, asked) == (0, ["4.1.0"])


def test_a_second_place_of_the_version_is_named(project):
    (project / "other.txt").write_text("nothing\ndynet-4.1.0.tar.gz\n")
    (project / "CMakeLists.txt").write_text("project(dynet VERSION 4.1.0 C)\nset(V 4.1.0)\n")
    assert said(project, "--check") == (
        1,
        [
            "CMakeLists.txt:2: the version belongs in CMakeLists.txt alone",
            "other.txt:2: the version belongs in CMakeLists.txt alone",
        ],
    )


def test_the_changes_begin_with_the_version(project):
    (project / "CHANGELOG.md").write_text("# Changes\n\n## 4.0.2\n")
    assert said(project, "--check") == (
        1,
        ["CHANGELOG.md: the first heading is '4.0.2'; want 4.1.0"],
    )


def test_a_release_has_a_date_and_no_tag_and_is_committed(project):
    git(project, "tag", "v4.1.0")
    assert said(project, "--release") == (1, ["the tag v4.1.0 is there already"])
    git(project, "tag", "-d", "v4.1.0")
    (project / "CHANGELOG.md").write_text("# Changes\n\n## 4.1.0 (not released)\n")
    assert said(project, "--release") == (
        1,
        [
            "CHANGELOG.md: want a heading like '4.1.0 (1 December 2026)'",
            "not committed: CHANGELOG.md",
        ],
    )
    commit(project)
    assert said(project, "--check") == (0, ["4.1.0"])
