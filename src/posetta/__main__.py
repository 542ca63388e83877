"""``python -m posetta``."""

import sys

from posetta.cli import main

sys.exit(main())
