"""`python -m demo.sessions` is `python -m demo.log`: hosts have written the old name into their schedules."""

import sys

from demo.log.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
