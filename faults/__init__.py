"""Lives of whole servers under faults, drawn from a seed, judged from outside: `python -m faults SEED`.

A life is options and a list of steps (`steps`), drawn once (`workload`, from the table in `actions`) and then lived
(`lives`, `driver`) on the real host in simulated time, on a simulated disk. What must hold is checked by number
(`checking`), a failure is shortened (`shrinking`) and told (`telling`). `orders` explores orders instead.
"""
