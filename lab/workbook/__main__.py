"""``python -m lab.workbook``."""

import sys

from lab.workbook.cli import main

if __name__ == "__main__":
    sys.exit(main())
