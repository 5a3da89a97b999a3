"""Where LocalStack keeps the buckets of S3: below its own folder, which goes with it, and not in one folder for all of them."""

from __future__ import annotations

import os
from pathlib import Path

from localstack.services.s3 import provider


def install() -> None:
    """Before the first request: the provider reads the name when it is made."""
    root = os.environ.get("FILESYSTEM_ROOT")
    if root:
        provider.DEFAULT_S3_TMP_DIR = str(Path(root) / "s3")
