"""Run as a folder (`python localstack/argocd OPTION...`), so the package is found from any working directory."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from argocd.main import main  # noqa: E402  (the path has to be set first)

sys.exit(main())
