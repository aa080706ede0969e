"""Build and test the book: `python3 build.py`, `python3 build.py test`.

This file only finds a good enough Python. book/press/environment.py makes
the private environment and runs the command in it; book/press/commands.py
lists the commands.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "Python 3.11 or newer is needed and this is %d.%d; run build.py "
        "with a newer python3" % sys.version_info[:2]
    )

from book.press.environment import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
