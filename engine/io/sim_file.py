"""One open file of a simulated disk: bytes to whole sectors and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.io.sim_faults import PowerLost
from engine.io.sim_media import Change, FileNode, Sync

if TYPE_CHECKING:
    from engine.io.sim_disk import SimDisk


class SimFile:
    """The File port on one file of a SimDisk."""

    def __init__(self, disk: SimDisk, number: int, path: str) -> None:
        self.number = number
        self.path = path
        self._disk = disk
        self._life = disk.life
        self._open = True

    def read_at(self, offset_bytes: int, length_bytes: int) -> bytes:
        node = self._node()
        assert offset_bytes >= 0 and length_bytes >= 0, "offsets and lengths are counts"
        length_bytes = min(length_bytes, node.size_bytes - offset_bytes)
        if length_bytes <= 0:
            return b""
        sector_bytes = self._disk.sector_bytes
        first, skip_bytes = divmod(offset_bytes, sector_bytes)
        last = (offset_bytes + length_bytes - 1) // sector_bytes
        content = b"".join([self._sector(node, index) for index in range(first, last + 1)])
        return content[skip_bytes : skip_bytes + length_bytes]

    def write_at(self, offset_bytes: int, content: bytes) -> None:
        """As the port says; on a full disk the sectors that fit are written before DiskFull comes."""
        node = self._node()
        assert offset_bytes >= 0, "an offset is a count"
        if not content:
            return
        disk = self._disk
        sectors = self._sectors_of(node, offset_bytes, bytes(content))
        new = sum(part is not None and node.sector(index) is None for index, part in sectors)
        if new > (free := disk.free_sectors()):
            sectors = self._fitting(node, sectors, free)
            end_bytes = (sectors[-1][0] + 1) * disk.sector_bytes if sectors else 0
            if end_bytes > offset_bytes:
                disk.perform(Change(self.number, sectors, max(node.size_bytes, end_bytes)))
            disk.refuse_full(self.path, f"write at byte {offset_bytes}")
        shift = disk.faults.misdirected.pop(disk.ops + 1, 0)
        size_bytes = max(node.size_bytes, offset_bytes + len(content))
        if shift:
            sectors = tuple((index + shift, part) for index, part in sectors if index + shift >= 0)
        disk.perform(Change(self.number, sectors, size_bytes))
        for index, _ in sectors:
            disk.faults.rot.pop((self.number, index), None)

    def truncate(self, size_bytes: int) -> None:
        node = self._node()
        assert size_bytes >= 0, "a size is a count"
        sector_bytes = self._disk.sector_bytes
        sectors: list[tuple[int, bytes | None]] = []
        if size_bytes < node.size_bytes:
            whole, rest_bytes = divmod(size_bytes, sector_bytes)
            for index in node.visible_sectors():
                if index == whole and rest_bytes:
                    kept = self._sector(node, index)[:rest_bytes]
                    sectors.append((index, kept + bytes(sector_bytes - rest_bytes)))
                elif index >= whole:
                    sectors.append((index, None))
        self._disk.perform(Change(self.number, tuple(sectors), size_bytes))

    def size(self) -> int:
        return self._node().size_bytes

    def sync(self) -> None:
        self._node()
        self._disk.perform_sync(self.path, lambda outcome: Sync(self.number, outcome))

    def close(self) -> None:
        if self._open and self._life == self._disk.life:
            self._disk.unpin(self.number)
        self._open = False

    def _node(self) -> FileNode:
        assert self._open, f"{self.path} is open"
        self._disk.check_alive()
        if self._life != self._disk.life:
            raise PowerLost(f"{self.path}: the process that opened it was killed")
        return self._disk.media.file(self.number)

    def _sector(self, node: FileNode, index: int) -> bytes:
        """What a reader gets of a sector, rot included."""
        content = node.sector(index)
        if content is None:
            content = self._disk.media.zero_sector
        mask = self._disk.faults.rot.get((self.number, index), 0)
        if mask:
            value = int.from_bytes(content, "little") ^ mask
            content = value.to_bytes(len(content), "little")
        return content

    def _sectors_of(
        self, node: FileNode, offset_bytes: int, content: bytes
    ) -> tuple[tuple[int, bytes | None], ...]:
        """The whole sectors that a write leaves, those it fills in part completed by what is there."""
        sector_bytes = self._disk.sector_bytes
        first, head_bytes = divmod(offset_bytes, sector_bytes)
        end_bytes = offset_bytes + len(content)
        last = (end_bytes - 1) // sector_bytes
        tail_bytes = (last + 1) * sector_bytes - end_bytes
        if head_bytes:
            content = self._sector(node, first)[:head_bytes] + content
        if tail_bytes:
            content += self._sector(node, last)[sector_bytes - tail_bytes :]
        return tuple(
            (index, content[(index - first) * sector_bytes : (index - first + 1) * sector_bytes])
            for index in range(first, last + 1)
        )

    @staticmethod
    def _fitting(
        node: FileNode, sectors: tuple[tuple[int, bytes | None], ...], free: int
    ) -> tuple[tuple[int, bytes | None], ...]:
        """The first sectors of a write, as many as there is room for."""
        fitting: list[tuple[int, bytes | None]] = []
        for index, part in sectors:
            if node.sector(index) is None:
                if free == 0:
                    break
                free -= 1
            fitting.append((index, part))
        return tuple(fitting)
