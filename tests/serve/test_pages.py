"""The pages origin over a real host: addresses, what app is asked and may answer, calls of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import httpx
import pytest
from served import Served

from engine.serve.client import Client

SHOP = """
/** Says what it was asked. */
function app(path, query, request) {
  if (path === "/") return `<!doctype html><title>Shop</title><h1>Shop & more</h1>`
  if (path === "/asked") return { headers: { "Content-Type": "application/json" },
                                  body: JSON.stringify({ path, query, request }) }
  if (path === "/teapot") return { status: 418, headers: { "X-Robots-Tag": "none" }, body: "short and stout" }
  if (path === "/font.woff2") return { headers: { "content-type": "font/woff2", "cache-control": "max-age=60" },
                                       body: { base64: "AAEC/w==" } }
  if (path === "/go") return { status: 303, headers: { location: query.to } }
  if (path === "/boom") throw new Error("<b>no</b> stock")
  if (path === "/write") { data.set("seen", (data.get("seen") ?? 0) + 1); return 7 }
  if (path === "/given") return JSON.parse(query.result)
  return { status: 404, body: "nothing here" }
}
function add(a, b) { return a + b }
function boom() { console.log("secret log"); throw new Error("out of order") }
function hidden() { return 1 }
"""


@pytest.fixture(scope="module")
def shop(client: Client) -> str:
    """A world with a public page that may call add and boom."""
    world = client.create("shop").id
    client.develop(world, SHOP)
    client.set_page(world, access="public", functions=["boom", "add"])
    return world


@pytest.fixture(scope="module")
def web(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.pages, trust_env=False, timeout=60) as web:
        yield web


def token_in(page: httpx.Response) -> str:
    found = re.search(r'"token": "([^"]+)"', page.text)
    assert found, page.text
    return found[1]


def path_of(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]


# ---- what app is asked and answers -----------------------------------------------------------------------


def test_text_is_html_with_the_client_as_its_first_script(web: httpx.Client, shop: str) -> None:
    page = web.get(f"/w/{shop}/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.text.startswith("<!doctype html><script>")
    assert page.text.endswith("</script><title>Shop</title><h1>Shop & more</h1>")
    assert page.headers["cache-control"] == "no-store"


def test_the_policy_is_as_promised_and_narrowed_to_the_own_world(web: httpx.Client, shop: str) -> None:
    first, second = web.get(f"/w/{shop}/").headers.get_list("content-security-policy")
    assert first == (
        "sandbox allow-scripts allow-forms; default-src 'none'; script-src 'self' 'unsafe-inline'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'"
    )
    own = f"{str(web.base_url).rstrip('/')}/w/{shop}/"
    assert f"form-action {own}" in second and "'self'" not in second


@pytest.mark.parametrize("path", ["", "boom", "asked", "go?to=/", "nope", "go?to=javascript:1", "%ff"])
def test_nothing_under_a_world_is_without_the_policy(web: httpx.Client, shop: str, path: str) -> None:
    page = web.get(f"/w/{shop}/{path}")
    assert len(page.headers.get_list("content-security-policy")) == 2
    assert (page.headers["referrer-policy"], page.headers["x-content-type-options"]) == (
        "no-referrer",
        "nosniff",
    )
    assert "set-cookie" not in page.headers and "access-control-allow-origin" not in page.headers


def test_app_is_asked_path_query_and_request(web: httpx.Client, shop: str) -> None:
    page = web.get(
        f"/w/{shop}/asked?a=1&b=%C3%A9+x&a=2&empty=",
        headers={"accept": "text/html", "cookie": "a=b", "user-agent": "me"},
    )
    assert page.headers["content-type"] == "application/json"
    assert page.json() == {
        "path": "/asked",
        "query": {"a": "2", "b": "é x", "empty": ""},
        "request": {
            "method": "GET",
            "base": f"/w/{shop}",
            "headers": {"accept": "text/html"},
            "form": {},
            "body": "",
        },
    }


def test_a_form_is_read_by_post_the_last_value_of_each_name(web: httpx.Client, shop: str) -> None:
    sent = {"content-type": "application/x-www-form-urlencoded", "origin": "null"}
    asked = web.post(f"/w/{shop}/asked", content="who=me&who=you&what=%F0%9F%98%80", headers=sent).json()[
        "request"
    ]
    assert (asked["method"], asked["form"]) == ("POST", {"who": "you", "what": "😀"})
    assert asked["body"] == "who=me&who=you&what=%F0%9F%98%80"
    assert asked["headers"]["content-type"] == "application/x-www-form-urlencoded"


def test_status_headers_and_text_bodies_go_out(web: httpx.Client, shop: str) -> None:
    page = web.get(f"/w/{shop}/teapot")
    assert (page.status_code, page.headers["x-robots-tag"], page.text.partition("</script>")[2]) == (
        418,
        "none",
        "short and stout",
    )


def test_a_font_of_the_world_may_be_used_by_a_page_without_an_origin(web: httpx.Client, shop: str) -> None:
    font = web.get(f"/w/{shop}/font.woff2")
    assert (font.content, font.headers["content-type"]) == (b"\x00\x01\x02\xff", "font/woff2")
    assert (font.headers["access-control-allow-origin"], font.headers["cache-control"]) == (
        "null",
        "max-age=60",
    )


def test_head_asks_app_and_sends_no_body(web: httpx.Client, shop: str) -> None:
    page = web.head(f"/w/{shop}/")
    assert (page.status_code, page.content) == (200, b"")
    assert int(page.headers["content-length"]) > 100


@pytest.mark.parametrize(
    ("to", "location"),
    [
        ("/", "/w/{}/"),
        ("/a?b=c", "/w/{}/a?b=c"),
        ("./next", "./next"),
        ("https://example.org/x", "https://example.org/x"),
    ],
)
def test_a_location_is_a_path_of_the_world_or_elsewhere(
    web: httpx.Client, shop: str, to: str, location: str
) -> None:
    page = web.get(f"/w/{shop}/go", params={"to": to})
    assert (page.status_code, page.headers["location"]) == (303, location.format(shop))


@pytest.mark.parametrize(
    "to",
    [
        "../other/",
        "../../call/x",
        "./%2e%2e/other/",
        ".\\..\\other",
        "javascript:alert(1)",
        "{pages}/w/other/",
        "//{host}/w/other/",
    ],
)
def test_a_location_leads_to_no_other_world(web: httpx.Client, shop: str, to: str) -> None:
    pages = str(web.base_url).rstrip("/")
    to = to.replace("{pages}", pages).replace("{host}", pages.partition("//")[2])
    page = web.get(f"/w/{shop}/go", params={"to": to})
    assert page.status_code == 500 and "location" not in page.headers


def test_a_failure_is_500_with_an_incident_whose_error_the_operator_alone_sees(
    web: httpx.Client, client: Client, shop: str
) -> None:
    page = web.get(f"/w/{shop}/boom")
    newest = client.incidents(shop).incidents[0]
    assert (newest.function, newest.actor, newest.error.partition("\n")[0]) == (
        "app",
        "page",
        "Error: <b>no</b> stock",
    )
    assert page.status_code == 500
    assert f"Its owner can find out why. (incident {newest.n})" in page.text
    assert "stock" not in page.text
    own = web.get(path_of(client.page(shop).preview) + "boom")
    assert own.status_code == 500
    assert f"Error: &lt;b&gt;no&lt;/b&gt; stock (incident {newest.n + 1})" in own.text
    assert "<b>" not in own.text and " at " not in own.text


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ("7", "app returned a number"),
        ("null", "app returned null"),
        ("[]", "app returned an array"),
        ("{}", "app returned an object with no members"),
        ('{"html":"x"}', "app returned an object with the member 'html'"),
        ('{"status":99}', "app returned a status that is no whole number from 200 to 599"),
        ('{"status":204,"body":"x"}', "app returned a body with status 204, which has none"),
        ('{"body":{"base64":"*"}}', "app returned a body whose base64 is none"),
        ('{"headers":{"etag":"a\\r\\nb"}}', "app returned a header etag that is not"),
        ('{"headers":{"Set-Cookie":"a=b"}}', "app may not set the header 'Set-Cookie'"),
        ('{"headers":{"content-security-policy":"x"}}', "app may not set the header"),
        ('{"headers":{"access-control-allow-origin":"*"}}', "app may not set the header"),
    ],
)
def test_another_result_is_500_and_an_incident(
    web: httpx.Client, client: Client, shop: str, result: str, error: str
) -> None:
    page = web.get(f"/w/{shop}/given", params={"result": result})
    incident = client.incidents(shop).incidents[0]
    assert page.status_code == 500 and f"incident {incident.n}" in page.text
    assert incident.error.startswith(f"TypeError: {error}")


def test_what_app_wrote_before_a_bad_result_is_not_kept(web: httpx.Client, client: Client, shop: str) -> None:
    assert web.get(f"/w/{shop}/write").status_code == 500
    assert client.data(shop).items == []


# ---- who may open it --------------------------------------------------------------------------------------


def test_the_address_without_a_slash_redirects_and_keeps_the_query(web: httpx.Client, shop: str) -> None:
    page = web.get(f"/w/{shop}?a=1")
    assert (page.status_code, page.headers["location"]) == (307, f"/w/{shop}/?a=1")


def test_no_app_no_world_and_no_permission_are_404(web: httpx.Client, client: Client) -> None:
    bare = client.create("bare").id
    private = web.get(f"/w/{bare}/")
    unknown = web.get("/w/nothing-000000/")
    assert private.status_code == unknown.status_code == 404
    assert private.text == unknown.text
    client.set_page(bare, access="public")
    assert web.get(f"/w/{bare}/").status_code == 404
    assert (
        web.get("/").status_code
        == web.get("/w/UPPER/").status_code
        == web.get("/api/worlds").status_code
        == 404
    )


def test_a_private_page_is_opened_by_the_operators_address_alone(
    web: httpx.Client, client: Client, served: Served
) -> None:
    world = client.create("diary").id
    client.develop(world, 'function app(path, q, r) { return path + " under " + r.base }')
    page = client.page(world)
    assert (page.access, page.functions, page.url) == ("private", [], None)
    assert page.preview.startswith(f"{served.pages}/w/{world}/~")
    assert web.get(f"/w/{world}/").status_code == 404
    opened = web.get(path_of(page.preview) + "entry")
    assert opened.status_code == 200
    assert opened.text.partition("</script>")[2] == f"/entry under {path_of(page.preview).rstrip('/')}"
    other = client.create("other").id
    assert web.get(path_of(page.preview).replace(world, other)).status_code == 404


def test_a_link_is_shown_again_and_a_new_one_ends_the_old(web: httpx.Client, client: Client) -> None:
    world = client.create("album").id
    client.develop(world, 'function app() { return "album" }')
    first = client.set_page(world, access="link").url
    assert first is not None and web.get(path_of(first)).status_code == 200
    assert client.page(world).url == first
    assert web.get(f"/w/{world}/").status_code == 404
    client.set_page(world, access="private")
    assert web.get(path_of(first)).status_code == 404
    assert client.set_page(world, access="link").url == first
    second = client.set_page(world, new_link=True).url
    assert second is not None and second != first
    assert (web.get(path_of(first)).status_code, web.get(path_of(second)).status_code) == (404, 200)


@pytest.mark.parametrize(
    "body", [b'{"access":"all"}', b'{"functions":["a b"]}', b'{"functions":"add"}', b"{}"]
)
def test_a_bad_page_setting_is_400_and_changes_nothing(
    served: Served, client: Client, shop: str, body: bytes
) -> None:
    before = client.page(shop)
    assert served.ask("PUT", f"/api/worlds/{shop}/page", body).status_code == 400
    after = client.page(shop)
    assert (after.access, after.functions, after.url) == (before.access, before.functions, before.url)


def test_functions_that_are_not_defined_are_refused_by_name(
    served: Served, client: Client, shop: str
) -> None:
    before = client.page(shop)
    response = served.ask("PUT", f"/api/worlds/{shop}/page", b'{"functions":["add","ad","soon"]}')
    assert response.status_code == 400
    assert response.json()["error"] == f"functions: not defined in world {shop}: ad, soon"
    assert client.page(shop).functions == before.functions


def test_a_wrong_access_is_told_what_there_is(served: Served, shop: str) -> None:
    response = served.ask("PUT", f"/api/worlds/{shop}/page", b'{"access":"all"}')
    assert response.json()["error"] == "access: must be private, link or public"


def test_another_host_name_and_another_sites_form_are_refused(web: httpx.Client, shop: str) -> None:
    for host in (
        "evil.example",
        "127.0.0.1:1; script-src *",
        "127.0.0.1:x",
        "localhost.evil.example",
        "127.0.0.1@evil",
    ):
        assert web.get(f"/w/{shop}/", headers={"host": host}).status_code == 403
    assert web.post(f"/w/{shop}/", headers={"origin": "http://evil.example"}).status_code == 403
    assert web.post(f"/w/{shop}/", headers={"origin": "null"}).status_code == 200
    wrong = web.put(f"/w/{shop}/")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD, POST")


def test_the_operator_api_is_not_at_the_pages_origin(web: httpx.Client, served: Served) -> None:
    for path in ("/api/worlds", "/docs", "/openapi.json", "/metrics", "/healthz"):
        assert web.get(path, headers={"authorization": "Bearer a-token-of-the-tests"}).status_code == 404


# ---- calls of a page --------------------------------------------------------------------------------------


def called(
    web: httpx.Client, world: str, function: str, token: str, *args: object, **headers: str
) -> httpx.Response:
    content = json.dumps({"token": token, "args": args})
    return web.post(f"/call/{world}/{function}", content=content, headers={"origin": "null"} | headers)


def test_a_page_calls_the_functions_that_are_listed(web: httpx.Client, shop: str) -> None:
    answer = called(web, shop, "add", token_in(web.get(f"/w/{shop}/")), 20, 22)
    assert (answer.status_code, answer.json()) == (200, {"ok": True, "value": 42})
    assert answer.headers["access-control-allow-origin"] == "null"


def test_a_failure_shows_a_visitor_neither_stack_nor_logs(
    web: httpx.Client, client: Client, shop: str
) -> None:
    answer = called(web, shop, "boom", token_in(web.get(f"/w/{shop}/")))
    n = client.incidents(shop).incidents[0].n
    assert answer.status_code == 422
    assert answer.json() == {
        "ok": False,
        "failure": "threw",
        "error": "Error: out of order",
        "logs": [],
        "incident": n,
    }


def test_other_functions_tokens_worlds_and_origins_are_refused(
    web: httpx.Client, client: Client, shop: str
) -> None:
    token = token_in(web.get(f"/w/{shop}/"))
    other = client.create("other").id
    client.develop(other, 'function app() { return "x" } function add() { return "reached" }')
    client.set_page(other, access="public", functions=["add"])
    assert called(web, shop, "hidden", token).status_code == 403
    assert called(web, shop, "app", token).status_code == 403
    assert called(web, other, "add", token).status_code == 403
    assert called(web, "nothing-000000", "add", token).status_code == 403
    assert called(web, shop, "add", token[:-1] + ("0" if token[-1] != "0" else "1")).status_code == 403
    assert called(web, shop, "add", "").status_code == 403
    assert called(web, shop, "add", token, origin="http://evil.example").status_code == 403
    assert web.get(f"/call/{shop}/add").status_code == 405
    assert web.post(f"/call/{shop}/add", content=b"{}").status_code == 400


def test_a_token_ends_with_the_way_its_page_was_opened_by(web: httpx.Client, client: Client) -> None:
    world = client.create("closing").id
    client.develop(world, 'function app() { return "x" } function one() { return 1 }')
    client.set_page(world, access="public", functions=["one"])
    visitor, operator = (
        token_in(web.get(path)) for path in (f"/w/{world}/", path_of(client.page(world).preview))
    )
    client.set_page(world, access="private")
    assert called(web, world, "one", visitor).status_code == 403
    assert called(web, world, "one", operator).json() == {"ok": True, "value": 1}


def test_neither_keys_nor_tokens_are_in_the_log(
    served: Served, web: httpx.Client, client: Client, shop: str
) -> None:
    key = path_of(client.page(shop).preview)
    called(web, shop, "add", token_in(web.get(key)), 1, 2)
    logged = json.dumps(served.logs)
    assert "/call/{world}/{function}" in logged and "/w/{world}" in logged
    assert "~" not in logged and shop not in logged.replace(f'"world": "{shop}"', "")
