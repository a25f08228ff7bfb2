"""pw page"""

from __future__ import annotations

import click

from engine.cli.output import note, say
from engine.cli.shared import Pw, command

_WHO = {
    "private": "only by the address below, for a day",
    "link": "by everybody who has its link",
    "public": "by everybody",
}


@command()
@click.argument("world")
@click.option("--access", type=click.Choice(["private", "link", "public"]), help="Who may open the page.")
@click.option("--function", "allow", metavar="NAME", multiple=True, help="Let the page call NAME too.")
@click.option("--no-function", "deny", metavar="NAME", multiple=True, help="Let the page call NAME no more.")
@click.option("--new-link", is_flag=True, help="Make another link: the one before opens nothing any more.")
def page(
    pw: Pw, world: str, access: str | None, allow: tuple[str, ...], deny: tuple[str, ...], new_link: bool
) -> None:
    """Show who may open the page of WORLD, which functions it may call, and its addresses; or change them."""
    world = pw.world(world)
    now = pw.client.page(world)
    if access or allow or deny or new_link:
        functions = sorted({*now.functions, *allow} - {*deny}) if allow or deny else None
        now = pw.client.set_page(world, access=access, functions=functions, new_link=new_link)
    if pw.show_raw():
        return
    say(f"{now.access}: may be opened {_WHO[now.access]}")
    say(f"may call  {', '.join(now.functions) or 'nothing'}")
    if now.url is not None:
        say(f"address   {now.url}")
    elif now.access == "link":
        note("its link was made in another data directory and still works; --new-link makes another")
    if now.url is None or now.access == "link":
        say(f"for you   {now.preview}")
