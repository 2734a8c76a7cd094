"""Models that are objects, on their way from the driver to its own replicas: Ray's pickle, as for all it sends.
What is read here comes from the same run, never from a file or a model folder."""

from __future__ import annotations

from unwaver.errors import ModelError
from unwaver.types import Model


def packed(model: Model) -> bytes:
    from ray import cloudpickle

    try:
        found: bytes = cloudpickle.dumps(model)
    except Exception as e:
        first_line = (str(e).strip() or type(e).__name__).split("\n", 1)[0][:200]
        hint = "give it by name (python/module:function), so that each replica opens it itself"
        raise ModelError(f"{model.name} cannot be sent to a replica: {first_line}", hint=hint) from e
    return found


def unpacked(data: bytes) -> Model:
    from ray import cloudpickle

    found: Model = cloudpickle.loads(data)
    return found
