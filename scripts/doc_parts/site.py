"""A hook of MkDocs: README.md is the first page, and pages may show pictures from elsewhere in the repository.

Links to files that are no pages become their plain text, for a site has no repository beside it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PICTURE = re.compile(r"(!\[[^\]]*\]\()\.\./([^)]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^):#]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=re.sub(r"\((docs/)", "(", readme)))
    for page in (ROOT / "docs").glob("*.md"):
        for found in PICTURE.finditer(page.read_text(encoding="utf-8")):
            files.append(File.generated(config, f"elsewhere/{found.group(2)}", abs_src_path=str(ROOT / found.group(2))))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """With pictures where `on_files` put them, and no links out of the site."""
    known = {file.src_uri for file in files}
    markdown = PICTURE.sub(r"\1elsewhere/\2)", markdown)
    return LINK.sub(lambda link: link.group(0) if link.group(2) in known else link.group(1), markdown)
