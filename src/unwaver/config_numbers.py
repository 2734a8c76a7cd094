"""The numbers in a configuration, checked before anything is opened."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from unwaver.errors import UsageError, near

if TYPE_CHECKING:
    from unwaver.config import Config

ENGINES = ("local", "ray")


def check_numbers(c: Config) -> None:
    """Refuse numbers that no run can have; called if one is not the default."""
    for name in ("limit", "sample", "max_calls", "additive_cap", "k", "tries", "pilot"):
        value = getattr(c, name)
        if value is not None and value < 1:
            raise UsageError(
                f"--{name.replace('_', '-')} is {value}, expected 1 or more", hint="leave it out for all"
            )
    for name in ("max_cost", "price_in", "price_out"):
        value = getattr(c, name)
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise UsageError(f"--{name.replace('_', '-')} is {value}, expected 0 or more", hint="leave it out")
    check_theta(c.theta)
    check_engine(c.engine, c.replicas, c.gpus_per_replica, c.cpus_per_replica)
    if c.epsilon is not None and not 0 <= c.epsilon < 1:
        raise UsageError(f"--epsilon is {c.epsilon}, expected a share from 0 to below 1", hint="leave it out")
    if not 0 < c.alpha < 0.5:
        raise UsageError(
            f"--alpha is {c.alpha:g}, expected a share between 0 and 0.5", hint="leave it out for 0.05"
        )
    if c.replicates < 1 or c.shots < 0:
        raise UsageError("--replicates is at least 1 and --shots at least 0", hint="leave them out")


def check_theta(given: Iterable[float]) -> None:
    for theta in given:
        if not 0 < theta <= 1:
            raise UsageError(f"--theta is {theta:g}, expected a share above 0 and up to 1", hint="leave it out")


def check_engine(engine: object, replicas: object, gpus: object, cpus: object) -> None:
    """Refuse what no engine can do, before anything is opened."""
    if engine not in ENGINES:
        raise UsageError(f"--engine {engine}: unknown engine", hint=near(str(engine), ENGINES))
    given = {"--replicas": replicas, "--gpus-per-replica": gpus, "--cpus-per-replica": cpus}
    for option, value in given.items():
        if value is None:
            continue
        if engine == "local":
            raise UsageError(f"{option} needs --engine ray", hint=f"add --engine ray, or leave {option} out")
        least = 1 if option == "--replicas" else 0
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
            or value < least
        ):
            raise UsageError(f"{option} is {value}, expected {least} or more", hint="leave it out")
    if isinstance(gpus, float | int) and gpus > 1 and gpus != int(gpus):
        hint = "several replicas share one GPU with a share below 1: --gpus-per-replica 0.5"
        raise UsageError(f"--gpus-per-replica is {gpus:g}: above 1 it must be a whole number", hint=hint)
