"""``python -m rbmviz``: the command line."""

import sys

from rbmviz.cli import main

sys.exit(main())
