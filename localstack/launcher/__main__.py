"""Run as a folder (`python localstack/launcher COMMAND`), so the package is found from any working directory."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from launcher.commands import main  # noqa: E402  (the path has to be set first)

sys.exit(main(sys.argv[1:]))
