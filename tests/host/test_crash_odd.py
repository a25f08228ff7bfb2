"""Power is lost at any write of a life; the server opens to what it had acknowledged, thrice. The other half."""

from __future__ import annotations

import pytest
from crashing import IMAGES_IN_SOAK, IMAGES_IN_TEST, SHARDS, survive_all


@pytest.mark.parametrize("shard", range(1, SHARDS, 2))
def test_every_crash_opens_to_a_committed_prefix_with_all_that_was_acknowledged(shard: int) -> None:
    survive_all(IMAGES_IN_TEST, shard, "test", thrice=False)


@pytest.mark.soak
@pytest.mark.parametrize("shard", range(1, SHARDS, 2))
def test_thousands_of_crashes_open_to_a_committed_prefix(shard: int) -> None:
    survive_all(IMAGES_IN_SOAK, shard, "soak", thrice=True)
