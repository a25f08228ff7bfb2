"""Records are a format: what is written today is read for ever, and equal values give equal bytes."""

from __future__ import annotations

import typing

import msgspec
import pytest

from engine.record import kinds

FORMAT = """
genesis: name engine engine_blob prelude_version heap request=None origin=None definitions=[]
    sources=[]
revision: n parent cause summary source commonjs rewritten heap prelude_version changes definitions logs fuel
    target=None forced=False request=None blessed=None unlike=[]
unchanged: revision source commonjs summary logs fuel request=None blesses=None
rejection: n base cause source commonjs summary kind reason check logs fuel request=None counterexample=None
    generator=None input=None target=None seed=None
call: function args revision snapshot flick seed value failure writes logs fuel reruns incident=None
    request=None path=[] answers=[] abandoned=[] looks=[] retries=None admitted=None asks_as=None
preview: expression revision snapshot flick seed value failure undone logs fuel request=None function=None
    args=b'' path=[] answers=[] abandoned=[] looks=[] overlay=[]
interrupted: incident operation subject args revision admitted_flick work deaths quarantined request=None
    snapshot=0 seed=0 asks_as=None
data-edit: write reason request=None
describe: name=None archived=None frozen=None request=None read_bodies_kept_flicks=None
purge: reason request=None
checkpoint: revision heap data_blob data_digest rows snapshot
admitted: function args flick seed path request=None
incident-closed: incident how reason value request=None
check-enrolled: name expression counterexample generator inputs seed revision request=None
check-removed: name reason request=None
granted: worlds request=None
page-set: access functions link_hash request=None
data-restored: at prefix reason writes request=None
golden-pinned: n name call function args flick seed snapshot path asks looks outcome reason request=None
golden-unpinned: golden reason request=None
held: n base cause source commonjs summary target root changes goldens differs tried_until logs fuel
    replaces=None request=None
held-rejected: held reason request=None
data-copied: writes
imported: lineage records head
HeapRef: root blob
Request: id hash
Origin: world seq hash
Definition: name kind version params doc source
Developed: source commonjs
Changes: added=[] changed=[] removed=[] globals=[]
Blessed: held reason goldens
Failure: kind error hint=None
Write array: key value
PeerAnswer: ordinal world function ok value kind=''
Look: what world answer refused=None
Asked: world function args heard=None ok=False value=b'' kind=''
Outcome: value=None failure=None writes=[] logs=[] fuel=0 stopped=None large=None beginning='' size_bytes=0
Difference: call function args before after golden=None name=''
Header array: format world seq kind actor flick body_hash previous
"""
"""Kinds of records and their parts with their fields, in order, with the values that are left out.

A new kind and a new field at the end are added here; what stands here never changes.
"""


def line_of(struct: type[msgspec.Struct]) -> str:
    config = struct.__struct_config__
    as_array = " array" if config.array_like else ""
    fields = " ".join(_field(field) for field in msgspec.structs.fields(struct))
    return f"{config.tag or struct.__name__}{as_array}: {fields}"


def _field(field: msgspec.structs.FieldInfo) -> str:
    if field.default is not msgspec.NODEFAULT:
        return f"{field.encode_name}={field.default!r}"
    if field.default_factory is not msgspec.NODEFAULT:
        return f"{field.encode_name}={field.default_factory()!r}"
    return field.encode_name


def structs() -> list[type[msgspec.Struct]]:
    """All kinds of bodies, then all that they are made of."""
    found: dict[type[msgspec.Struct], None] = dict.fromkeys(typing.get_args(kinds.Body))
    left: list[typing.Any] = [*found, kinds.Header]
    while left:
        of_type = left.pop()
        if isinstance(of_type, type) and issubclass(of_type, msgspec.Struct):
            found[of_type] = None
            inside = [field.type for field in msgspec.structs.fields(of_type)]
            left += [each for each in inside if each not in found]
        else:
            left += typing.get_args(of_type)
    return list(found)


def test_every_kind_and_part_has_the_fields_that_it_always_had():
    assert sorted(map(line_of, structs())) == sorted(FORMAT.replace("\n    ", " ").strip().splitlines())


@pytest.mark.parametrize("struct", structs(), ids=lambda struct: struct.__name__)
def test_what_is_not_known_is_refused_and_never_skipped(struct: type[msgspec.Struct]):
    config = struct.__struct_config__
    assert config.frozen and config.forbid_unknown_fields
    assert config.array_like or config.omit_defaults, (
        "a later field leaves the bytes of old records as they were"
    )


def test_a_body_is_a_map_of_its_fields_in_their_order_without_those_that_hold_their_default():
    body = kinds.Describe(name="n", frozen=True)
    assert msgspec.msgpack.encode(body) == b"\x83\xa4type\xa8describe\xa4name\xa1n\xa6frozen\xc3"
