"""`python -m demo.sessions`: the old name of `python -m demo.log`, which hosts have in their schedules."""

import sys

from demo.log.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
