"""`python -m faults.orders`: the same as `python -m faults orders`."""

import sys

from faults.orders.command import main

sys.exit(main(sys.argv[1:]))
