"""What a page's script can reach in Chromium: its own world through its token, and nothing else."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from served import TOKEN, Served

from engine.serve.client import Client

VICTIM = """
function app(path) { data.set("visited", path); return "<title>victim</title><p id=secret>of the victim</p>" }
function tell() { return "the victim's" }
"""
# Logs the results of what it tries as JSON.
ATTACKER = """
function app(path, query, request) {
  if (path === "/font.woff2") return { headers: { "content-type": "font/woff2" }, body: { base64: "AAEC" } }
  if (path === "/own.js") return { headers: { "content-type": "text/javascript" }, body: "globalThis.own = 1" }
  if (path === "/own.css") return { headers: { "content-type": "text/css" }, body: "h1 { color: rgb(1, 2, 3) }" }
  if (path === "/own.svg") return { headers: { "content-type": "image/svg+xml" },
    body: "<svg xmlns='http://www.w3.org/2000/svg' width='7' height='5'/>" }
  if (path === "/own.json") return { headers: { "content-type": "application/json" }, body: "{}" }
  return `<!doctype html><link rel=stylesheet href=own.css><h1>attacker</h1><script src=own.js></script>
    <img id=own src=own.svg><script>
    const attempts = ${query.attempts}
    ;(async () => {
      const results = {}
      for (const [name, attempt] of Object.entries(attempts)) {
        const hung = new Promise(done => setTimeout(done, 5000, "nothing happened"))
        try { results[name] = await Promise.race([attempt(), hung]) }
        catch (error) { results[name] = "no: " + error.name }
      }
      console.log("results: " + JSON.stringify(results))
    })()
  </script>`
}
function mine(x) { return x + 1 }
function unlisted() { return 1 }
"""


@pytest.fixture(scope="module")
def victim(client: Client) -> str:
    world = client.create("victim").id
    client.develop(world, VICTIM)
    client.set_page(world, access="public", functions=["tell"])
    return world


@pytest.fixture(scope="module")
def attacker(client: Client) -> str:
    world = client.create("attacker").id
    client.develop(world, ATTACKER)
    client.set_page(world, access="public", functions=["mine"])
    return world


@pytest.fixture
def attempt(served: Served, victim: str, attacker: str, page: Any):
    """Run attempts in the attacker's page, `{name: body of an async function}`: their results by name."""

    def run(**bodies: str) -> dict[str, Any]:
        members = ",".join(f"{name}: async () => {{ {body} }}" for name, body in bodies.items())
        known = {"API": served.url, "PAGES": served.pages, "VICTIM": victim, "TOKEN": TOKEN}
        for name, text in known.items():
            members = members.replace(f"${name}", text)
        url = f"{served.pages}/w/{attacker}/?attempts=" + quote("{" + members + "}", safe="")
        # The console is heard also while a navigation that was refused still seems to go on.
        with page.expect_console_message(lambda message: message.text.startswith("results: ")) as heard:
            page.goto(url, wait_until="commit")
        return json.loads(heard.value.text.removeprefix("results: "))

    return run


def test_the_page_calls_its_own_world_and_only_what_is_listed(attempt: Any) -> None:
    assert attempt(
        mine="return await world.call('mine', 41)",
        unlisted="try { return await world.call('unlisted') } catch (e) { return e.failure + ': ' + e.message }",
        missing="try { return await world.call('a/b?c') } catch (e) { return e.failure }",
        frozen="world.call = 1; try { world = 1 } catch {}; return typeof world.call",
    ) == {
        "mine": 42,
        "unlisted": "refused: this page may not call unlisted",
        "missing": "refused",
        "frozen": "function",
    }


def test_scripts_styles_and_images_of_the_own_world_load(attempt: Any) -> None:
    assert attempt(
        script="return globalThis.own",
        style="return getComputedStyle(document.querySelector('h1')).color",
        image="await document.getElementById('own').decode(); return document.getElementById('own').naturalWidth",
        inline_image='const i = new Image(); i.src = \'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" '
        'width="3" height="3"/>\'; await i.decode(); return i.naturalWidth',
    ) == {"script": 1, "style": "rgb(1, 2, 3)", "image": 7, "inline_image": 3}


def test_a_font_may_cross_to_the_null_origin_and_nothing_else_may(attempt: Any) -> None:
    assert attempt(
        font="return (await (await fetch('font.woff2')).arrayBuffer()).byteLength",
        own_text="return await (await fetch('own.json')).text()",
        own_page="return await (await fetch('./')).text()",
    ) == {"font": 3, "own_text": "no: TypeError", "own_page": "no: TypeError"}


def test_there_is_no_origin_no_cookie_and_no_storage(attempt: Any) -> None:
    assert attempt(
        origin="return self.origin",
        cookie="return document.cookie",
        set_cookie="document.cookie = 'a=b'",
        local="return localStorage.length",
        session="return sessionStorage.length",
        database="return await new Promise((yes, no) => { const r = indexedDB.open('x'); r.onsuccess = () => yes(1);"
        " r.onerror = () => no(r.error) })",
        caches="return await caches.keys()",
        worker="return await navigator.serviceWorker.register('own.js')",
    ) == {
        "origin": "null",
        "cookie": "no: SecurityError",
        "set_cookie": "no: SecurityError",
        "local": "no: SecurityError",
        "session": "no: SecurityError",
        "database": "no: SecurityError",
        "caches": "no: SecurityError",
        "worker": "no: SecurityError",
    }


def test_no_script_reaches_the_operator_api(served: Served, attempt: Any) -> None:
    served.logs.clear()
    results = attempt(
        read="return (await fetch('$API/api/worlds')).status",
        with_token="return (await fetch('$API/api/worlds', {headers: {authorization: 'Bearer $TOKEN'}})).status",
        blind="return (await fetch('$API/api/worlds', {mode: 'no-cors', method: 'POST', body: '{}'})).type",
        through_pages="return (await fetch('/api/worlds')).status",
        beacon="return await new Promise(done => { addEventListener('securitypolicyviolation', e => "
        "done('no: ' + e.effectiveDirective)); navigator.sendBeacon('$API/api/worlds', '{}') })",
        image="const i = new Image(); i.src = '$API/docs/static/favicon.png'; await i.decode(); return 'shown'",
        script="return await new Promise((yes, no) => { const s = document.createElement('script'); s.src = '$API/docs/"
        "static/swagger-ui-bundle.js'; s.onload = () => yes('ran'); s.onerror = () => no(new Error()); "
        "document.body.append(s) })",
        frame="const f = document.createElement('iframe'); f.src = '$API/docs'; document.body.append(f); "
        "await new Promise(r => setTimeout(r, 300)); return f.contentDocument === null ? 'no: empty' : 'open'",
        form="return await new Promise(done => { addEventListener('securitypolicyviolation', e => "
        "done('no: ' + e.effectiveDirective)); const f = document.createElement('form'); f.method = 'post'; "
        "f.action = '$API/api/worlds'; document.body.append(f); f.submit() })",
        popup="return open('$API/docs') === null ? 'no: null' : 'opened'",
        module="return await import('$API/docs/static/swagger-ui-bundle.js')",
        stream="return await new Promise((yes, no) => { const e = new EventSource('$API/api/worlds'); "
        "e.onopen = () => yes('open'); e.onerror = () => no(new Error()) })",
        code="return eval('1')",
    )
    assert {name: result for name, result in results.items() if not str(result).startswith("no: ")} == {}
    assert [line for line in served.logs if line.get("event") == "request" and "/api" in line["route"]] == []
    assert [line for line in served.logs if line.get("event") == "request" and line["route"] == "none"] == []


def test_no_script_reaches_another_worlds_page(
    served: Served, client: Client, victim: str, attempt: Any
) -> None:
    results = attempt(
        read="return await (await fetch('$PAGES/w/$VICTIM/')).text()",
        blind="return (await fetch('/w/$VICTIM/a', {mode: 'no-cors'})).type",
        blind_post="return (await fetch('/w/$VICTIM/b', {mode: 'no-cors', method: 'POST', body: 'x'})).type",
        dots="return (await fetch('../$VICTIM/c', {mode: 'no-cors'})).type",
        encoded="return (await fetch('./%2e%2e/$VICTIM/c', {mode: 'no-cors'})).type",
        call="return (await fetch('/call/$VICTIM/tell', {method: 'POST', body: '{}'})).status",
        image="const i = new Image(); i.src = '/w/$VICTIM/d'; await i.decode(); return 'shown'",
        script="return await new Promise((yes, no) => { const s = document.createElement('script'); "
        "s.src = '/w/$VICTIM/e'; s.onload = () => yes('ran'); s.onerror = () => no(new Error()); "
        "document.body.append(s) })",
        frame="const f = document.createElement('iframe'); f.src = '/w/$VICTIM/f'; document.body.append(f); "
        "await new Promise(r => setTimeout(r, 300)); return f.contentDocument === null ? 'no: empty' : 'open'",
        form="return await new Promise(done => { addEventListener('securitypolicyviolation', e => "
        "done('no: ' + e.effectiveDirective)); const f = document.createElement('form'); f.method = 'post'; "
        "f.action = '/w/$VICTIM/g'; document.body.append(f); f.submit() })",
        popup="return open('/w/$VICTIM/h') === null ? 'no: null' : 'opened'",
        base="const b = document.createElement('base'); b.href = '/w/$VICTIM/'; document.head.append(b); "
        "return new URL('x', document.baseURI).pathname.includes('$VICTIM') ? 'moved' : 'no: stays'",
    )
    assert {name: result for name, result in results.items() if not str(result).startswith("no: ")} == {}
    assert client.data(victim).items == []


def test_no_script_reaches_any_other_host(attempt: Any) -> None:
    results = attempt(
        fetch="return (await fetch('http://localhost:9/')).status",
        worker="return await new Promise((yes, no) => { const code = new Blob(['postMessage(1)']); "
        "const w = new Worker(URL.createObjectURL(code)); w.onmessage = () => yes('ran'); "
        "w.onerror = () => no(new Error()) })",
        image="const i = new Image(); i.src = 'http://localhost:9/x.png'; await i.decode(); return 'shown'",
        socket="return await new Promise((yes, no) => { const s = new WebSocket('ws://localhost:9/'); "
        "s.onopen = () => yes('open'); s.onerror = () => no(new Error()) })",
    )
    assert {name: result for name, result in results.items() if not str(result).startswith("no: ")} == {}
