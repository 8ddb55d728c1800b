"""Put the root of the repository on the path, so that scripts of this folder can import `reproduction`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
