"""The routers: a module each, which offers what `Router` says, and one line in ROUTERS."""

from __future__ import annotations

from typing import Protocol

from kit.memory.bill import Plan
from kit.routers import smg, vllm_router
from kit.stack.model import File, Route, Service


class Router(Protocol):
    """What a router's module offers."""

    DEFAULT_IMAGE: str
    PORT: int

    def service(self, plan: Plan, workers: tuple[str, ...]) -> Service:
        """The router, which starts when `workers` are healthy."""

    def files(self, routes: tuple[Route, ...]) -> tuple[File, ...]:
        """What it reads: where each name is served."""


ROUTERS: dict[str, Router] = {"smg": smg, "vllm-router": vllm_router}
