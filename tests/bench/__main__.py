"""`python -m tests.bench`: measure everything, print the table and write docs/BENCHMARKS.md.

`--only engine|http|peers|sizes|replay|orders|faults` measures one group and prints it, writing nothing.
"""

from __future__ import annotations

import argparse
import time

from tests.bench import engine_rows, faults_rows, http_rows, orders_rows, peer_rows, replay_rows, size_rows
from tests.bench.table import PAGE, SCRATCH, machine, render


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", choices=("engine", "http", "peers", "sizes", "replay", "orders", "faults"))
    only = parser.parse_args().only
    SCRATCH.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    facts = machine()
    rows = []
    gzip_bytes = 0
    if only in (None, "engine", "sizes"):
        inside, gzip_bytes = engine_rows.rows()
        rows += inside if only != "sizes" else []
    if only in (None, "http"):
        rows += http_rows.rows()
    if only in (None, "peers"):
        rows += peer_rows.rows()
    if only in (None, "sizes"):
        rows += [
            size_rows.revision_bytes_row(gzip_bytes),
            *size_rows.large_world_rows(),
            *size_rows.many_worlds_rows(),
        ]
    if only in (None, "replay"):
        rows += replay_rows.rows()
    if only in (None, "orders"):
        rows += orders_rows.rows()
    if only in (None, "faults"):
        rows += faults_rows.rows()
    page = render(rows, facts, time.monotonic() - began)
    print(page)
    if only is None:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
