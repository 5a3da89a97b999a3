"""`up`, `down` and `run`: nothing is left behind, whatever happens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from .support import SESSION, wait_for

ROOT = Path(__file__).resolve().parent.parent


def output(*command: str, **environment: str) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, timeout=120)
    if ran.returncode != 0:
        raise AssertionError(ran.stderr)
    return ran.stdout


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_fleet/process", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def port_of(exports: str) -> int:
    found = re.search(r"^export AWS_ENDPOINT_URL=http://127\.0\.0\.1:(\d+)$", exports, re.MULTILINE)
    assert found, exports
    return int(found[1])


class Up(unittest.TestCase):
    def test_up_takes_a_free_port_and_is_idempotent_and_down_ends_it(self) -> None:
        port = port_of(output(str(ROOT / "up"), "0"))
        try:
            self.assertTrue(answers(port))
            begun = time.monotonic()
            self.assertEqual(port_of(output(str(ROOT / "up"), str(port))), port)
            self.assertLess(time.monotonic() - begun, 2)
        finally:
            output(str(ROOT / "down"), str(port))
        self.assertFalse(answers(port))
        self.assertFalse((ROOT / ".local" / f"emulator-{port}").exists())

    def test_buckets_of_s3_are_in_the_emulators_folder_and_go_with_it(self) -> None:
        port = port_of(output(str(ROOT / "up"), "0"))
        folder = ROOT / ".local" / f"emulator-{port}"
        try:
            endpoint = f"http://127.0.0.1:{port}"
            keys = {"aws_access_key_id": "111111111111", "aws_secret_access_key": "test"}
            s3 = SESSION.create_client("s3", region_name="us-east-1", endpoint_url=endpoint, **keys)
            s3.create_bucket(Bucket="bucket")
            self.assertTrue((folder / "s3" / "bucket").is_dir())
        finally:
            output(str(ROOT / "down"), str(port))
        self.assertFalse(folder.exists())

    def test_the_emulator_ends_with_the_process_that_wanted_it(self) -> None:
        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as parent:
            port = port_of(output(str(ROOT / "up"), "0", FLEETCTL_LOCALSTACK_PARENT=str(parent.pid)))
            self.assertTrue(answers(port))
            parent.kill()
            parent.wait()
        wait_for(lambda: not answers(port), 5)
        self.assertFalse((ROOT / ".local" / f"emulator-{port}").exists())


class Run(unittest.TestCase):
    def test_the_exit_code_is_the_commands_and_everything_is_gone(self) -> None:
        script = 'echo "$AWS_ENDPOINT_URL $ARGOCD_SERVER $FLEETCTL_STATE"; exit 7'
        ran = subprocess.run([str(ROOT / "run"), "sh", "-c", script], capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 7, ran.stderr)
        endpoint, _, state = ran.stdout.split()
        self.assertFalse(answers(int(endpoint.rpartition(":")[2])))
        self.assertFalse(Path(state).parent.exists())

    def test_a_signal_reaches_the_command_and_everything_is_gone(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            note = Path(folder) / "note"
            script = f'trap "exit 5" TERM; echo "$AWS_ENDPOINT_URL" > {note}; while :; do sleep 0.05; done'
            with subprocess.Popen([str(ROOT / "run"), "sh", "-c", script]) as run:
                endpoint = wait_for(lambda: note.exists() and note.read_text().strip(), 60)
                run.send_signal(signal.SIGTERM)
                self.assertEqual(run.wait(30), 5)
            self.assertFalse(answers(int(str(endpoint).rpartition(":")[2])))

    def test_a_killed_run_leaves_nothing_behind(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            note = Path(folder) / "note"
            script = f'echo "$AWS_ENDPOINT_URL $FLEETCTL_STATE" > {note}; exec sleep 5'
            with subprocess.Popen([str(ROOT / "run"), "sh", "-c", script]) as run:
                text = str(wait_for(lambda: note.exists() and note.read_text().strip(), 60))
                run.kill()
                run.wait()
            endpoint, state = text.split()
            wait_for(lambda: not answers(int(endpoint.rpartition(":")[2])), 5)
            wait_for(lambda: not Path(state).parent.exists(), 5)
