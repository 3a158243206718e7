"""What the journeys share: commands as a user types them, and a script's own folder."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


def relaxwl(folder, *arguments, code=0):
    """Run a command in a folder; return what it printed as a result and as notes."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "relaxwl.cli", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=240, check=False, env=environment
    )
    assert done.returncode == code, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout, done.stderr


def walk(journey):
    """Run a journey as a script (PYTHONPATH=src:tests python tests/journeys/NAME.py) in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        journey(Path(folder))
    sys.stdout.write("done\n")
