"""The private virtual environment: LocalStack community from PyPI, by this project's pins, and the project's plug-in."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import paths
from .locking import exclusive


@dataclass(frozen=True)
class Release:
    """A LocalStack release, and the Pythons that it is pinned for."""

    version: str
    pythons: tuple[tuple[int, int], ...]

    @property
    def pins(self) -> Path:
        return paths.PINS / f"localstack-{self.version}.txt"

    @property
    def venv(self) -> Path:
        return paths.LOCAL / f"venv-{self.version}"


# 2026.3.0 imports what only Python 3.13 has, and 4.13.1 what only 3.11 has, whatever their metadata say.
RELEASES = (
    Release("2026.3.0", ((3, 13),)),
    Release("4.13.1", ((3, 12), (3, 11))),
)

# Where LocalStack looks for what was built ahead, below its FILESYSTEM_ROOT.
STATIC_LIBRARIES = Path("usr/lib/localstack")


class InstallError(Exception):
    """The environment could not be made; the message says why."""


def ensure_installed() -> Path:
    """Installs what is missing or out of date and returns the environment's Python. Safe to call at the same time."""
    wanted = os.environ.get("FLEETCTL_LOCALSTACK_PYTHON")
    with exclusive(paths.LOCAL / "install.lock"):
        installed = None if wanted else next(filter(_has_packages, RELEASES), None)
        release = installed or _install_packages(*_choose(wanted))
        _install_plugin(release)
    return _python_of(release.venv)


def _choose(wanted: str | None) -> tuple[Release, str]:
    candidates = [wanted] if wanted else _candidates()
    found = {version: python for python in candidates if (version := _version(python))}
    for release in RELEASES:
        for version in release.pythons:
            if version in found:
                return release, found[version]
    raise InstallError("no Python 3.11 to 3.13 with the venv module in PATH or ~/.pyenv")


def _candidates() -> list[str]:
    """Pythons by preference, the most preferred last (it wins in `_choose`)."""
    names = [f"python{major}.{minor}" for release in RELEASES for major, minor in release.pythons]
    pyenv = sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))
    return [str(path) for path in pyenv] + [sys.executable, "python3", *names]


def _version(python: str) -> tuple[int, int] | None:
    # ensurepip is what distributions split off: without it `-m venv` makes an environment without pip.
    probe = "import ensurepip, sys, venv; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([python, "-c", probe], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = answer.stdout.split()
    return int(major), int(minor)


def _python_of(venv: Path) -> Path:
    return venv / "bin" / "python"


def _has_packages(release: Release) -> bool:
    return _matches(release.venv / "packages.stamp", _pins_fingerprint(release)) and _python_of(release.venv).exists()


def _pins_fingerprint(release: Release) -> str:
    return hashlib.sha256(release.pins.read_bytes()).hexdigest()


def _install_packages(release: Release, python: str) -> Release:
    if not _has_packages(release):
        print(f"localstack: installing LocalStack {release.version} (once)", file=sys.stderr)
        # An environment cannot be moved, so it is made in place; the stamp, written last, is what makes it valid.
        shutil.rmtree(release.venv, ignore_errors=True)
        _run([python, "-m", "venv", str(release.venv)])
        _pip(release, "--requirement", str(release.pins))
        _build_catalogue(release)
        (release.venv / "packages.stamp").write_text(_pins_fingerprint(release))
    return release


def _build_catalogue(release: Release) -> None:
    """LocalStack's index of all AWS services: without it every first start takes two seconds to make it."""
    folder = catalogue_of(release.venv)
    folder.mkdir(parents=True)
    environment = os.environ | {"FILESYSTEM_ROOT": str(release.venv / "filesystem"), "OVERRIDE_IN_DOCKER": "0"}
    _run([str(_python_of(release.venv)), "-m", "localstack.aws.spec"], environment)


def catalogue_of(venv: Path) -> Path:
    return venv / "filesystem" / STATIC_LIBRARIES


def _install_plugin(release: Release) -> None:
    stamp = release.venv / "plugin.stamp"
    fingerprint = _fingerprint(paths.PLUGIN)
    if _matches(stamp, fingerprint):
        return
    stamp.unlink(missing_ok=True)
    _pip(release, "--no-deps", "--no-build-isolation", "--no-index", "--force-reinstall", str(paths.PLUGIN))
    stamp.write_text(fingerprint)


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    sources = (path for pattern in ("*.py", "*.toml") for path in folder.rglob(pattern))
    for path in sorted(sources):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _matches(stamp: Path, fingerprint: str) -> bool:
    return stamp.is_file() and stamp.read_text() == fingerprint


def _pip(release: Release, *arguments: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    _run([str(_python_of(release.venv)), "-m", "pip", "install", *quiet, *arguments])


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    # Standard output belongs to the export lines.
    if subprocess.run(command, stdout=sys.stderr, env=environment).returncode != 0:
        raise InstallError(f"failed: {' '.join(command)}")
