"""What a Dask client really sends and receives: the bytes on its connections, counted as they pass.

Schedulers, nannies and workers of the same process have connections of their own, which are not
counted; neither is the client's regular question after who is there, which takes its time and not
that of the work.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

_CHATTER = {"identity", "heartbeat-client"}
_LENGTH = 8  # bytes that tell how long a message is


@dataclass
class Traffic:
    """Bytes of one client, by pass: from one graph handed to the scheduler up to the next."""

    received: list[int] = field(default_factory=lambda: [0])
    sent: list[int] = field(default_factory=lambda: [0])

    @property
    def n_passes(self) -> int:
        """Number of passes; bytes before the first one do not count."""
        return len(self.sent) - 1

    def begin_pass(self) -> None:
        """What is counted from now on belongs to the next pass."""
        self.received.append(0)
        self.sent.append(0)


@contextlib.contextmanager
def meter_traffic(client: Any) -> Iterator[Traffic]:
    """The traffic of a client with a cluster over TCP, counted while this lasts."""
    from distributed.comm import tcp

    write, read = tcp.TCP.write, tcp.read_bytes_rw
    if not isinstance(client.scheduler_comm.comm, tcp.TCP):
        raise ValueError("only what passes over TCP can be counted; this client does not use it.")
    counted: dict[Any, bool] = {}  # by stream: the last that was said on it is work
    traffic = Traffic()

    async def counted_write(comm: Any, message: Any, *args: Any, **options: Any) -> int:
        stream, own = comm.stream, _is_own(client, comm)
        operations = _operations(message)
        if own:
            counted[stream] = not operations <= _CHATTER
        if own and "update-graph" in operations:
            traffic.begin_pass()
        n_bytes: int = await write(comm, message, *args, **options)
        if own and counted[stream]:
            traffic.sent[-1] += n_bytes
        return n_bytes

    async def counted_read(stream: Any, n: int) -> Any:
        # A stream on which nothing was said is the one on which the scheduler reports by itself.
        if counted.get(stream, stream is getattr(client.scheduler_comm.comm, "stream", None)):
            traffic.received[-1] += n + _LENGTH
        return await read(stream, n)

    with (
        mock.patch.object(tcp.TCP, "write", counted_write),
        mock.patch.object(tcp, "read_bytes_rw", counted_read),
    ):
        yield traffic


def _is_own(client: Any, comm: Any) -> bool:
    """Whether a connection is the client's: its stream to the scheduler, or one of its calls."""
    calls = client.rpc.occupied.values()
    return comm is client.scheduler_comm.comm or any(comm in comms for comms in calls)


def _operations(message: Any) -> set[str]:
    """What a message asks for; several are sent together."""
    several = message if isinstance(message, list | tuple) else [message]
    return {str(each.get("op")) for each in several if isinstance(each, dict)}
