"""Whether a token may read a repository, asked of a Hub on 127.0.0.1 by the Hub's own client."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from huggingface_hub import HfApi

from kit.doctor.collect import access
from kit.doctor.model import Access
from kit.facts.hub import Hub
from tests.fakes.hubserver import GOOD_TOKEN, STRANGER_TOKEN, HubServer
from tests.support.modelfiles import tiny_files


@pytest.fixture
def server() -> Iterator[HubServer]:
    with HubServer() as running:
        running.add("org/open", tiny_files())
        running.add("org/gated", tiny_files(), gated=True)
        yield running


def ask(server: HubServer, *names: str, token: str | bool = False) -> dict[str, Access]:
    with httpx.Client() as http:
        return access(names, Hub(HfApi(endpoint=server.url, token=token)), http)[0]


def test_what_may_be_read_may_be_read(server: HubServer) -> None:
    assert ask(server, "org/open", "org/gated", token=GOOD_TOKEN) == {"org/open": Access(), "org/gated": Access()}


def test_a_gated_repository_wants_its_terms_accepted(server: HubServer) -> None:
    for token in (False, STRANGER_TOKEN):
        found = ask(server, "org/gated", token=token)["org/gated"]
        assert (found.state, found.what) == (
            "refused", "org/gated: the repository is gated, and this account may not read it",
        )  # fmt: skip
        assert found.fix.startswith(f"accept its terms at {server.url}/org/gated")


def test_a_name_that_is_not_there_is_said(server: HubServer) -> None:
    found = ask(server, "org/opne")["org/opne"]
    assert (found.state, found.what) == ("refused", "org/opne: no such repository on the Hub")
    assert "spelling" in found.fix


def test_a_wrong_token_is_said(server: HubServer) -> None:
    found = ask(server, "org/open", token="hf_wrong")["org/open"]
    assert found.state == "refused"
    assert "token" in found.what
    assert "hf_wrong" not in found.what + found.fix


def test_a_hub_that_is_away_is_asked_once(server: HubServer) -> None:
    away = HfApi(endpoint="http://127.0.0.1:9")
    with httpx.Client() as http:
        found, ahead = access(["a/b", "c/d"], Hub(away), http)
    assert found["a/b"] == found["c/d"]
    assert found["a/b"].state == "away"
    assert found["a/b"].what.startswith("http://127.0.0.1:9 cannot be reached")
    assert ahead is None


def test_the_hubs_clock_is_compared_with_ours(server: HubServer) -> None:
    with httpx.Client() as http:
        _, ahead = access(["org/open"], Hub(HfApi(endpoint=server.url, token=False)), http)
    assert ahead is not None
    assert abs(ahead) < 5
