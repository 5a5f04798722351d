"""Fills in the variables of homeserver.yaml, and starts Synapse with it."""

import os
import subprocess
import sys
from pathlib import Path
from string import Template

config = Path(os.environ["DATA"], "homeserver.yaml")
template = Path(__file__).with_name("homeserver.yaml").read_text()
config.write_text(Template(template).substitute(os.environ))
synapse = [sys.executable, "-m", "synapse.app.homeserver", "-c", config]
subprocess.run([*synapse, "--generate-keys"], check=True)
os.execv(sys.executable, synapse)
