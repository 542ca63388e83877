"""``posetta simulate``: traces and the order behind them, as files."""

from __future__ import annotations

from typing import Annotated

import typer

from posetta.cli import options


def simulate(
    out: Annotated[str, typer.Option(help="Folder for train.jsonl, test.jsonl and order.json.")],
    items: Annotated[int | None, typer.Option(help="Number of items of a random order.")] = None,
    order: Annotated[
        str | None, typer.Option(help="Order file to draw traces of, instead of a random order.")
    ] = None,
    dim: Annotated[int | None, typer.Option(help="Latent dimension (4).")] = None,
    rho: Annotated[float | None, typer.Option(help="Latent correlation (0.5).")] = None,
    beta: Annotated[float, typer.Option(help="Inverse temperature of the frontier.")] = 1.0,
    traces: Annotated[int | None, typer.Option(help="Number of training traces.")] = None,
    test: Annotated[int | None, typer.Option(help="Number of test traces.")] = None,
    ip_cov: Annotated[
        str, typer.Option(help="Target incomparable-pair coverage, or `none` for i.i.d. traces.")
    ] = "1",
    lengths: Annotated[
        str | None,
        typer.Option(help="Items per trace: a number, a fraction such as 0.5, or a range 3-7."),
    ] = None,
    noise: Annotated[float, typer.Option(help="Share of steps that ignore the order.")] = 0.0,
    force: options.Force = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Simulate an order and traces of it.

    Example: `posetta simulate --items 8 --rho 0.9 --seed 7 --out sim`
    """
    import json as json_module

    from posetta.data import write_traces
    from posetta.errors import SettingError
    from posetta.model.simulate import simulate as run_simulate
    from posetta.order import read_order, write_order
    from posetta.posterior.folder import SIMULATION_FILES, staged_folder

    if items is None and order is None:
        raise SettingError("name --items N for a random order, or --order FILE for a given one.")
    if order is not None and not (items is None and dim is None and rho is None):
        raise SettingError("--order leaves no use for --items, --dim and --rho: drop them.")
    sim = run_simulate(
        items,
        order=None if order is None else read_order(order),
        dim=dim,
        rho=rho,
        beta=beta,
        seed=seed,
        n_traces=traces,
        n_test=test,
        ip_cov=None if ip_cov == "none" else _real(ip_cov, "--ip-cov", "a number or `none`"),
        lengths=None if lengths is None else _lengths(lengths),
        noise=noise,
    )
    with staged_folder(out, ours=SIMULATION_FILES, overwrite=force) as folder:
        write_traces(sim.train, folder / "train.jsonl")
        write_traces(sim.test, folder / "test.jsonl")
        write_order(sim.order, folder / "order.json")
    facts = {
        "items": sim.order.n_items,
        "relations": sim.order.n_relations,
        "train": len(sim.train),
        "test": len(sim.test),
        "ip_cov": sim.ip_cov,
    }
    if json:
        print(json_module.dumps({**facts, "out": out}))
    else:
        print(
            f"Simulated {facts['items']} items with {facts['relations']} precedences: "
            f"{facts['train']} training and {facts['test']} test traces, IP-Cov {sim.ip_cov:.3f}."
        )
        print(f"Wrote train.jsonl, test.jsonl and order.json to {out}")


def _real(text: str, option: str, expected: str) -> float:
    from posetta.errors import SettingError

    try:
        return float(text)
    except ValueError:
        raise SettingError(f"{option} {text}: expected {expected}.") from None


def _lengths(text: str) -> int | float | tuple[int, int]:
    expected = "a whole number, a fraction such as 0.5, or a range such as 3-7"
    if "-" in text:
        low, high = (_whole(part, expected) for part in text.split("-", 1))
        return low, high
    return _real(text, "--lengths", expected) if "." in text else _whole(text, expected)


def _whole(text: str, expected: str) -> int:
    from posetta.errors import SettingError

    if not text.isascii() or not text.isdigit():
        raise SettingError(f"--lengths {text}: expected {expected}.")
    return int(text)
