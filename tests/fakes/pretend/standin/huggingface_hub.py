"""Stands in for huggingface_hub in the pretend image: "downloads" the config of a model that pretend knows.

It lets the one-shot download services of a compose project run without a network. An id that pretend does not know
fails as the Hub fails. With `local_dir` an adapter is made there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pretend.models import KNOWN

COMMIT = "0" * 40
ADAPTER = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]}


class RepositoryNotFoundError(OSError):
    """404, as the Hub answers for an unknown or private repository."""


def snapshot_download(repo_id: str, revision: str | None = None, local_dir: str | None = None, **_ignored: Any) -> str:
    if local_dir:
        return str(_write(Path(local_dir) / "adapter_config.json", {**ADAPTER, "base_model_name_or_path": repo_id}))
    if repo_id not in KNOWN:
        url = f"https://huggingface.co/api/models/{repo_id}/revision/{revision or 'main'}"
        raise RepositoryNotFoundError(f"404 Client Error.\n\nRepository Not Found for url: {url}.")
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    root = home / "hub" / f"models--{repo_id.replace('/', '--')}"
    commit = revision or COMMIT
    (root / "refs").mkdir(parents=True, exist_ok=True)
    (root / "refs" / "main").write_text(commit, encoding="ascii")
    return str(_write(root / "snapshots" / commit / "config.json", KNOWN[repo_id]))


def _write(file: Path, data: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data), encoding="utf-8")
    return file.parent
