"""The log's meaning: records and their chains, heaps and data as blobs, the projection, verifying, backup."""

from typing import TYPE_CHECKING

from engine.lazily import attributes_of

if TYPE_CHECKING:
    from engine.record.chain import verify_chain
    from engine.record.checkpoints import DataBlobRefused, decode_data, encode_data
    from engine.record.heaps import (
        Heap,
        HeapRefused,
        Page,
        depth_of,
        encode_base,
        encode_delta,
        load,
        needs_base,
    )
    from engine.record.kinds import Body, Header
    from engine.record.lthash import LtHash
    from engine.record.problems import Problem
    from engine.record.records import (
        FIRST_SEQ,
        RecordForeign,
        RecordRefused,
        RecordRotten,
        decode,
        decode_header,
        encode,
        genesis_previous,
        kind_of,
        record_hash,
    )

__all__ = [
    "FIRST_SEQ",
    "Body",
    "DataBlobRefused",
    "Header",
    "Heap",
    "HeapRefused",
    "LtHash",
    "Page",
    "Problem",
    "RecordForeign",
    "RecordRefused",
    "RecordRotten",
    "decode",
    "decode_data",
    "decode_header",
    "depth_of",
    "encode",
    "encode_base",
    "encode_data",
    "encode_delta",
    "genesis_previous",
    "kind_of",
    "load",
    "needs_base",
    "record_hash",
    "verify_chain",
]

__getattr__ = attributes_of(
    globals(),
    {
        "Body": "kinds",
        "DataBlobRefused": "checkpoints",
        "FIRST_SEQ": "records",
        "Header": "kinds",
        "Heap": "heaps",
        "HeapRefused": "heaps",
        "LtHash": "lthash",
        "Page": "heaps",
        "Problem": "problems",
        "RecordForeign": "records",
        "RecordRefused": "records",
        "RecordRotten": "records",
        "decode": "records",
        "decode_data": "checkpoints",
        "decode_header": "records",
        "depth_of": "heaps",
        "encode": "records",
        "encode_base": "heaps",
        "encode_data": "checkpoints",
        "encode_delta": "heaps",
        "genesis_previous": "records",
        "kind_of": "records",
        "load": "heaps",
        "needs_base": "heaps",
        "record_hash": "records",
        "verify_chain": "chain",
    },
)
