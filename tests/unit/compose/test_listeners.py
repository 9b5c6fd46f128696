"""Who listens on this host."""

from __future__ import annotations

import os
import socket

from kit.compose.observe import listeners


def test_a_socket_of_this_process_is_found_with_its_name_and_pid() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        (found,) = listeners([port])
    assert (found.host_ip, found.port) == ("127.0.0.1", port)
    assert found.who.endswith(f"(pid {os.getpid()})")
    assert listeners([port]) == ()


def test_both_families_are_found_and_other_ports_are_not() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as held, socket.create_server(("127.0.0.1", 0)):
        port = held.getsockname()[1]
        assert [(found.host_ip, found.port) for found in listeners([port])] == [("::1", port)]
