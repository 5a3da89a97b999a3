"""Where things are: the sources beside this package, and the git-ignored folder for what is installed and written."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "pins"
PLUGIN = ROOT / "plugin"
ARGOCD = ROOT / "argocd"
TESTS = ROOT / "tests"
SETTINGS_FILE = ROOT / "fleetctl.yaml"

LOCAL = ROOT / ".local"


def emulator_home(port: int) -> Path:
    """The state folder of an emulator that `up` started."""
    return LOCAL / f"emulator-{port}"
