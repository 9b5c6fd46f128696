"""The command line. The only place that prints or exits; what a verb does is imported when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="monogpu-kit",
    help="Several small language models on one GPU, behind one OpenAI endpoint, from one YAML file.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Argument(metavar="[FILE]", help="The manifest.", show_default=True)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Card = Annotated[
    str | None,
    typer.Option(
        "--gpu", metavar="G", help="The card: a recorded gpu.json, a size such as 16GiB, or live to ask the driver."
    ),
]
MANIFEST = Path("monogpu.yaml")
RESULTS = Path("bench")


def _version(wanted: bool) -> None:
    if wanted:
        from kit import __version__

        print(f"monogpu-kit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _run(verb: str, *args: Any, **options: Any) -> None:
    """Import the verb, walk, print what it returns, and exit with its code. To be terminated is to be interrupted:
    what a verb has begun is put away."""
    import signal
    from importlib import import_module

    from kit.output.console import Output

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    output = Output(sys.stdout, sys.stderr, as_json=bool(options.pop("as_json", False)))
    raise typer.Exit(output.guard(lambda: import_module(f"kit.commands.{verb}").run(output, *args, **options)))


@app.command()
def init(
    gpu: Card = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write it.")] = MANIFEST,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
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
    short: Annotated[bool, typer.Option("--short", help="Leave out the lines of the bill.")] = False,
    as_json: Json = False,
) -> None:
    """Print the bill: what each worker costs on the card, and why."""
    _run("plan", file, gpu, short, as_json=as_json)


@app.command()
def render(
    file: File = MANIFEST,
    gpu: Card = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Default: docker-compose.yaml beside FILE; - prints.")
    ] = None,
    target: Annotated[str, typer.Option("--target", help="What to print for: compose.")] = "compose",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail when the file on disk differs.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that was edited by hand.")] = False,
) -> None:
    """Write docker-compose.yaml, and what it mounts."""
    _run("render", file, gpu, output, target, check, force)


@app.command()
def up(
    file: File = MANIFEST,
    gpu: Card = None,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Ask every name once it runs.")] = True,
    timeout: Annotated[float, typer.Option("--timeout", metavar="S", help="Seconds to wait for all services.")] = 3600,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and stop.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune-volumes", help="Also remove volumes that the manifest no longer needs.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Start the stack as printed, one worker after another, and verify it."""
    _run("up", file, gpu, verify, timeout, dry_run, prune, as_json=as_json)


@app.command()
def verify(
    file: File = MANIFEST,
    url: Annotated[str | None, typer.Option("--url", help="Another endpoint than the manifest's.")] = None,
    as_json: Json = False,
) -> None:
    """Ask every declared name for a real answer."""
    _run("verify", file, url, as_json=as_json)


@app.command()
def status(
    file: File = MANIFEST,
    watch: Annotated[bool, typer.Option("--watch", help="Again and again, until Ctrl-C.")] = False,
    interval: Annotated[float, typer.Option("--interval", metavar="S", min=0.5, help="Seconds between looks.")] = 2,
    as_json: Json = False,
) -> None:
    """What runs, and how it is: health, memory against the bill, load, and the router's view."""
    _run("status", file, watch, interval, as_json=as_json)


@app.command()
def logs(
    name: Annotated[str, typer.Argument(help="A model's or service's name.")],
    file: Annotated[Path, typer.Option("-f", "--file", help="The manifest.")] = MANIFEST,
    follow: Annotated[bool, typer.Option("--follow", help="Go on as more comes.")] = False,
    tail: Annotated[int, typer.Option("--tail", help="How many lines.")] = 200,
) -> None:
    """What a service said."""
    _run("logs", file, name, follow, tail)


@app.command()
def down(
    file: File = MANIFEST,
    volumes: Annotated[bool, typer.Option("--volumes", help="Remove the volumes too: downloads and caches.")] = False,
    as_json: Json = False,
) -> None:
    """Stop and remove what `up` made."""
    _run("down", file, volumes, as_json=as_json)


@app.command()
def doctor(file: File = MANIFEST, as_json: Json = False) -> None:
    """Look at this machine: what it lacks for the manifest, each with the command that fixes it."""
    _run("doctor", file, as_json=as_json)


@app.command()
def calibrate(
    file: File = MANIFEST,
    timeout: Annotated[float, typer.Option("--timeout", metavar="S", help="Seconds to wait for one worker.")] = 1800,
    as_json: Json = False,
) -> None:
    """Measure each worker alone on the card and write monogpu.lock.yaml, which `plan` then uses."""
    _run("calibrate", file, timeout, as_json=as_json)


@app.command()
def bench(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]", help="all, or some of router,sweep,together,prefix,split,policy,mps,start, with commas."
        ),
    ] = "all",
    file: File = MANIFEST,
    profile: Annotated[str, typer.Option("--profile", help="How much is done: quick, standard or full.")] = "standard",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The results' folder. Default: bench beside FILE.")
    ] = None,
    model: Annotated[str, typer.Option("--model", help="For experiments with one model. Default: the first.")] = "",
    goodput: Annotated[
        list[str] | None, typer.Option("--goodput", help="What a good request keeps, in ms: ttft:500, tpot:50.")
    ] = None,
    rates: Annotated[str, typer.Option("--rates", help="sweep: requests a second, such as 1,2,4.")] = "",
    levels: Annotated[str, typer.Option("--levels", help="sweep: requests at once, such as 1,8,48.")] = "",
    policies: Annotated[str, typer.Option("--policies", help="policy: only these, with commas.")] = "",
    concurrency: Annotated[int | None, typer.Option("--concurrency", min=1, help="The most requests at once.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0.5, help="How long a run should send.")] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", min=1, help="How often each arm is measured.")] = None,
    starts: Annotated[int | None, typer.Option("--starts", min=1, help="start: how often each is measured.")] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Allow to stop the stack that runs now; it is brought back at the end.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Forget what was measured before.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", metavar="S", help="Seconds to wait for a stack.")] = 3600,
) -> None:
    """Measure: the router's cost, load sweeps, models together, prefixes, memory, policies, MPS, starts."""
    from kit.bench.design import BenchOptions

    _run(
        "bench",
        file,
        BenchOptions(
            name, profile, output, model, tuple(goodput or ()), rates, policies, levels, concurrency, seconds,
            rounds, starts, restart, again, timeout,
        ),
    )  # fmt: skip


@app.command()
def gpu(
    device: Annotated[str, typer.Argument(help="Index or UUID.")] = "0",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it here, as a gpu.json.")] = None,
) -> None:
    """Record the card: print gpu.json as the driver shows it now."""
    _run("gpu", device, output)


@app.command()
def facts(
    file: File = MANIFEST,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it here, as a facts.json.")] = None,
) -> None:
    """Record the models' facts, so that plans need no network."""
    _run("facts", file, output)


@app.command()
def cost(
    price: Annotated[
        float,
        typer.Option("--price-per-hour", metavar="P", min=0, help="What one card costs an hour.", show_default=False),
    ],
    file: File = MANIFEST,
    gpu: Card = None,
    as_json: Json = False,
) -> None:
    """What the names cost: a card each, cards shared, one base with adapters; and kept or swapped."""
    _run("cost", file, gpu, price, as_json=as_json)


@app.command()
def report(
    results: Annotated[Path, typer.Argument(metavar="[RESULTS]", help="The folder that bench wrote.")] = RESULTS,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Default: report.html in RESULTS; pictures/ lies beside it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what `bench` found: one HTML page with charts, and the charts as PNGs."""
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
