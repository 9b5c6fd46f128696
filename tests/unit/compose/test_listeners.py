"""Who listens on this host."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from kit.doctor.collect_listeners import listeners, listening

TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0
   2: 0100007F:7530 0100007F:C0DE 01 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0 0 10 0
"""
TABLE6 = """  sl  local_address remote_address st tx rx tr tm uid timeout inode
   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 14 1 0 100 0
"""


def test_the_kernels_table_is_read() -> None:
    assert listening(TABLE) == [("127.0.0.1", 30000, "11"), ("0.0.0.0", 22, "12")]
    assert listening(TABLE6)[0][:2] == ("::1", 8080)
    assert listening("") == []


def test_a_socket_of_this_process_is_found_with_its_name_and_pid() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        (found,) = listeners([port])
    assert (found.host_ip, found.port) == ("127.0.0.1", port)
    assert found.who.endswith(f"(pid {os.getpid()})")
    assert listeners([port]) == ()


def test_a_machine_without_proc_tells_nothing(tmp_path: Path) -> None:
    assert listeners([30000], tmp_path) == ()


def test_a_holder_that_cannot_be_seen_is_another_program(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(TABLE)
    assert [found.who for found in listeners([30000], tmp_path)] == ["another program (`ss -ltnp` names it)"]
