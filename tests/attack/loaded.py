"""Everything that cases need: what the process that is forked for each of them imports."""

import altair  # noqa: F401
import pandas  # noqa: F401

from rbmviz.cli.options import all_commands
from tests.attack import commands, pages  # noqa: F401
from tests.attack.families import prepare

all_commands()
prepare()
