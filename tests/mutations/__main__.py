"""``python -m tests.mutations [ID …]``: break the lab, see it noticed."""

from __future__ import annotations

import argparse
import os
import sys

from tests.mutations import Outcome, read, replay


def main() -> int:
    """Return 0 when every mutation was noticed, 1 when one was not."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutations",
        description="Break the lab on purpose and run the tests that must"
        " notice. The checkout is not touched.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="ID",
        help="mutations (M-07) or contracts (C-07); all when none is named",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    mutations = read()
    wanted = [
        mutation
        for mutation in mutations
        if not given.names or {mutation.id, mutation.contract} & {*given.names}
    ]
    unknown = {*given.names} - {
        name for m in mutations for name in (m.id, m.contract)
    }
    if unknown:
        parser.error(f"no such mutation: {', '.join(sorted(unknown))}")
    outcomes = replay(wanted, max(1, given.workers), show)
    survivors = [o for o in outcomes if not o.noticed]
    print(f"{len(outcomes)} mutations, {len(survivors)} not noticed")
    return 1 if survivors else 0


def show(outcome: Outcome) -> None:
    """Print one line about one mutation."""
    mutation = outcome.mutation
    mark = "ok  " if outcome.noticed else "FAIL"
    what = outcome.what.removeprefix("FAILED ").partition(" - ")[0]
    print(f"{mark} {mutation.id} {mutation.contract} {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
