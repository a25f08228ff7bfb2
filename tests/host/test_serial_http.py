"""The same 200 calls at once over HTTP, on a real directory, with threads and fsync."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import four_worlds as worlds
import httpx
import pytest

from tests.apart import run_apart
from tests.served import TOKEN, Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path / "home")
    yield served
    served.stop()


async def _all_at_once(url: str, seed: int) -> None:
    limits = httpx.Limits(max_connections=worlds.CALLS)
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(
        base_url=url, headers=headers, limits=limits, timeout=120, trust_env=False
    ) as client:
        ids = await _town(client)
        draw = random.Random(seed)
        calls = worlds.calls_of([draw.randrange(1 << 16) for _ in range(worlds.CALLS)], ids)

        async def call(asked: worlds.Asked) -> dict[str, Any]:
            path = f"/api/worlds/{ids[asked.world]}/call/{asked.function}"
            while (reply := await client.post(path, json={"args": asked.args})).status_code == 503:
                await asyncio.sleep(float(reply.headers["retry-after"]) / 4)
            return dict(reply.json())

        heard = await asyncio.gather(*[call(asked) for asked in calls])
        assert [answer for answer in heard if not answer["ok"]] == []
        wanted = worlds.parts_of(calls, ids)
        for name in worlds.NAMES:
            lived = worlds.live(await _records(client, ids[name]))
            page = (await client.get(f"/api/worlds/{ids[name]}/data?limit=1000")).json()
            assert {row["key"]: row["value"] for row in page["items"]} == lived.data
            assert lived.paid == wanted[name], f"each part in {name} is done once"


async def _town(client: httpx.AsyncClient) -> dict[str, str]:
    ids: dict[str, str] = {}
    for name in worlds.NAMES:
        ids[name] = (await client.post("/api/worlds", json={"name": name})).json()["id"]
        path = f"/api/worlds/{ids[name]}"
        source = {"source": worlds.SOURCE, "summary": "first"}
        assert (await client.post(f"{path}/develop", json=source)).status_code == 200
        granted = {"worlds": [ids[other] for other in worlds.GRANTS[name]]}
        assert (await client.put(f"{path}/grants", json=granted)).status_code == 200
    return ids


async def _records(client: httpx.AsyncClient, world: str) -> list[tuple[int, str, dict[str, Any] | None]]:
    rows: list[dict[str, Any]] = []
    more = True
    while more:
        after = rows[-1]["seq"] if rows else 0
        page = (await client.get(f"/api/worlds/{world}/log?after={after}&limit=500")).json()
        rows += page["records"]
        more = page["more"]
    return [(row["seq"], row["kind"], row.get("body")) for row in rows]


def test_200_calls_at_once_over_http_are_all_answered_and_serial_in_each_world(served: Served) -> None:
    run_apart(_all_at_once(served.url, seed=1))
