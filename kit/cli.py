"""The command line. The only place that exits; what a verb does is imported when it runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

app = typer.Typer(
    name="monogpu-kit",
    help="Serve several small language models on one GPU, behind one OpenAI endpoint, from one YAML file.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

File = Annotated[Path, Argument(metavar="FILE", help="The manifest.", show_default=True)]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
CARD = "The card: a name such as 'RTX 4090', a size such as 16GiB, a recorded gpu.json, or live to ask the driver."
Card = Annotated[str | None, Option("--gpu", metavar="G", help=CARD)]
EXPERIMENTS = "all, or a list of router,sweep,contention,prefix,mps,memory-share,policy,startup."
CONCURRENCY = "The most requests at once; several, such as 1,8,48, are the steps of sweep, and others take the largest."
Out = Annotated[Path | None, Option("-o", "--output", help="Write to this path; - prints.")]
MANIFEST, RESULTS = Path("monogpu.yaml"), Path("bench")


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from kit import __version__

        print(f"monogpu-kit {__version__}")
        raise typer.Exit


def _run(verb: str, *args: Any, **options: Any) -> None:
    """Import the verb, run it, and exit with its code. SIGTERM interrupts it, so that it cleans up."""
    import signal
    from importlib import import_module

    from kit.output.console import Output

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    as_json = bool(options.pop("as_json", False))
    output = Output(sys.stdout, sys.stderr, as_json, os.environ, f"{verb} {_flags(verb)}".rstrip())
    raise typer.Exit(output.guard(lambda: import_module(f"kit.commands.{verb}").run(output, *args, **options)))


def _flags(verb: str) -> str:
    """The options that were typed, without their values."""
    command = getattr(typer.main.get_command(app), "commands", {}).get(verb)
    known = {name for option in command.params for name in option.opts} if command else set()
    return " ".join(word for word in (text.partition("=")[0] for text in sys.argv) if word in known)


@app.command()
def init(
    gpu: Card = None,
    output: Annotated[Path, Option("-o", "--output", help="Where to write it; - prints.")] = MANIFEST,
    force: Annotated[bool, Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented manifest that fits the card."""
    _run("init", gpu, output, force)


@app.command()
def check(file: File = MANIFEST, as_json: Json = False) -> None:
    """Read the manifest and print every problem at its line."""
    _run("check", file, as_json=as_json)


@app.command()
def plan(
    file: File = MANIFEST,
    gpu: Card = None,
    short: Annotated[bool, Option("--short", help="Leave out the lines of the bill.")] = False,
    as_json: Json = False,
) -> None:
    """Print the bill of the card's memory. Each line says what a worker needs, and why."""
    _run("plan", file, gpu, short, as_json=as_json)


@app.command()
def render(
    file: File = MANIFEST,
    gpu: Card = None,
    output: Out = None,
    target: Annotated[str, Option("--target", help="What to print for: compose or kubernetes.")] = "compose",
    check: Annotated[bool, Option("--check", help="Write nothing; fail when a file on disk differs.")] = False,
    force: Annotated[bool, Option("--force", help="Replace a file that was edited by hand.")] = False,
) -> None:
    """Write docker-compose.yaml beside FILE. The files that it mounts are written too."""
    _run("render", file, gpu, output, target, check, force)


@app.command()
def up(
    file: File = MANIFEST,
    gpu: Card = None,
    verify: Annotated[bool, Option("--verify/--no-verify", help="Ask every model once it runs.")] = True,
    timeout: Annotated[float, Option("--timeout", metavar="S", help="Seconds to wait for all services.")] = 3600,
    dry_run: Annotated[bool, Option("--dry-run", help="Print what would change, and stop.")] = False,
    prune: Annotated[bool, Option("--prune-volumes", help="Remove volumes that the manifest no longer needs.")] = False,
    as_json: Json = False,
) -> None:
    """Start the stack, one worker after another, and verify it."""
    _run("up", file, gpu, verify, timeout, dry_run, prune, as_json=as_json)


@app.command()
def verify(
    file: File = MANIFEST,
    url: Annotated[str | None, Option("--url", help="Another endpoint than the manifest's.")] = None,
    as_json: Json = False,
) -> None:
    """Ask every declared model for a real answer."""
    _run("verify", file, url, as_json=as_json)


@app.command()
def status(
    file: File = MANIFEST,
    watch: Annotated[bool, Option("--watch", help="Repeat until Ctrl-C.")] = False,
    interval: Annotated[float, Option("--interval", metavar="S", min=0.5, help="Seconds between updates.")] = 2,
    as_json: Json = False,
) -> None:
    """Show what runs, and how it is. Health, memory against the bill, load, and the models that are routed."""
    _run("status", file, watch, interval, as_json=as_json)


@app.command()
def logs(
    name: Annotated[str, Argument(metavar="NAME", help="The name of a model or service.")],
    file: File = MANIFEST,
    follow: Annotated[bool, Option("-f", "--follow", help="Follow the log.")] = False,
    tail: Annotated[int, Option("-n", "--tail", help="Number of lines to show from the end.")] = 200,
) -> None:
    """Show the log of a service, and why it failed."""
    _run("logs", name, file, follow, tail)


@app.command()
def down(
    file: File = MANIFEST,
    volumes: Annotated[bool, Option("-v", "--volumes", help="Remove the volumes too: downloads and caches.")] = False,
    as_json: Json = False,
) -> None:
    """Stop and remove what `up` created."""
    _run("down", file, volumes, as_json=as_json)


@app.command()
def doctor(file: File = MANIFEST, as_json: Json = False) -> None:
    """Check what this machine lacks. Each finding names the command that fixes it."""
    _run("doctor", file, as_json=as_json)


@app.command()
def calibrate(
    file: File = MANIFEST,
    timeout: Annotated[float, Option("--timeout", metavar="S", help="Seconds to wait for one worker.")] = 1800,
    as_json: Json = False,
) -> None:
    """Measure each worker alone on the card. `plan` then uses the result, monogpu.lock.yaml."""
    _run("calibrate", file, timeout, as_json=as_json)


@app.command()
def bench(
    name: Annotated[str, Argument(metavar="NAME", help=EXPERIMENTS)] = "all",
    file: File = MANIFEST,
    profile: Annotated[str, Option("--profile", help="How much is done: quick, standard or full.")] = "standard",
    output: Annotated[Path | None, Option("-o", "--output", help="The folder to write to; bench beside FILE.")] = None,
    model: Annotated[str, Option("--model", help="For experiments with one model. Default: the first.")] = "",
    goodput: Annotated[list[str] | None, Option("--goodput", help="Limits of a good request in ms: ttft:500.")] = None,
    rates: Annotated[str, Option("--rates", help="sweep: requests a second, such as 1,2,4.")] = "",
    policies: Annotated[str, Option("--policies", help="policy: only these, with commas.")] = "",
    concurrency: Annotated[str, Option("--concurrency", metavar="N[,N...]", help=CONCURRENCY)] = "",
    seconds: Annotated[float | None, Option("--seconds", min=0.5, help="How long a run should send.")] = None,
    rounds: Annotated[int | None, Option("--rounds", min=1, help="How often each arm is measured.")] = None,
    starts: Annotated[int | None, Option("--starts", min=1, help="startup: how often each is measured.")] = None,
    allow_restart: Annotated[bool, Option("--allow-restart", help="Allow stopping the running stack a while.")] = False,
    fresh: Annotated[bool, Option("--fresh", help="Discard earlier results and measure again.")] = False,
    timeout: Annotated[float, Option("--timeout", metavar="S", help="Seconds to wait for a stack.")] = 3600,
) -> None:
    """Measure the stack. Router overhead, load sweeps, contention, prefixes, memory, policies, MPS, startup."""
    from kit.bench.design import BenchOptions

    options = BenchOptions(
        name, profile, output, model, tuple(goodput or ()), rates, policies, concurrency, seconds, rounds, starts,
        allow_restart, fresh, timeout,
    )  # fmt: skip
    _run("bench", file, options)


@app.command()
def gpu(device: Annotated[str, Argument(metavar="DEVICE", help="Index or UUID.")] = "0", output: Out = None) -> None:
    """Record the card: print gpu.json as the driver shows it now."""
    _run("gpu", device, output)


@app.command()
def facts(file: File = MANIFEST, output: Out = None) -> None:
    """Record the models' facts, so that plans need no network."""
    _run("facts", file, output)


@app.command()
def cost(
    price: Annotated[float, Option("--price-per-hour", metavar="P", min=0, help="The price of one card an hour.")],
    file: File = MANIFEST,
    gpu: Card = None,
    as_json: Json = False,
) -> None:
    """Compare what the models cost an hour. A card each, cards shared, one base with adapters; kept or swapped."""
    _run("cost", file, gpu, price, as_json=as_json)


@app.command()
def report(
    results: Annotated[Path, Argument(metavar="RESULTS", help="The folder that `bench` wrote.")] = RESULTS,
    output: Out = None,
    as_json: Json = False,
) -> None:
    """Write a page about a benchmark. It is RESULTS/report.html; its charts are PNGs in pictures/ beside it."""
    _run("report", results, output, as_json=as_json)


@app.command()
def schema() -> None:
    """Print the manifest's JSON Schema."""
    _run("schema")


def main() -> None:
    """The console script."""
    app()


if __name__ == "__main__":
    main()
