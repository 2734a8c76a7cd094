"""`unwaver show` on tables and logs of other tools: broken buckets with their wordings and answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from unwaver.logs.common import LogOptions

Call = Callable[..., tuple[int, str, str]]
ROWS = "bucket,variant,answer,gold\nb1,w1,Paris,Paris\nb1,w2,Rome,Paris\nb2,w1,Oslo,Oslo\nb2,w2,Oslo,Oslo\n"


def test_broken_buckets_of_a_table(call: Call) -> None:
    Path("t.csv").write_text(ROWS)
    code, out, err = call("show", "t.csv")
    assert code == 0, err
    assert "b1" in out
    assert "Rome" in out
    assert "w2" in out
    assert "b2" not in out
    assert "1 group" in out
    assert "b2" in call("show", "t.csv", "--all")[1]


def test_options_of_logs(call: Call) -> None:
    Path("t.csv").write_text(ROWS.replace("bucket,variant,answer", "q,how,reply"))
    code, out, err = call("show", "t.csv", "--bucket", "q", "--variant", "how", "--answer", "reply", "--json")
    assert code == 0, err
    (group,) = json.loads(out)["groups"]
    assert [answer["label"] for answer in group["answers"]] == ["Paris", "Rome"]
    assert LogOptions(strict=True) != LogOptions()


def test_failed_is_for_runs(call: Call) -> None:
    Path("t.csv").write_text(ROWS)
    code, _, err = call("show", "t.csv", "--failed")
    assert code == 2
    assert "--failed is for run folders" in err


def test_a_run_folder_takes_no_options_of_logs(call: Call) -> None:
    call(
        "run", "sample/snli/semantic", "--limit", "2", "--model", "fake/random", "--out", "r", "--no-report", "-q"
    )
    code, _, err = call("show", "r", "--bucket", "q")
    assert code == 2
    assert "--bucket has no effect: r is a run folder" in err
    assert call("show", "r")[0] == 0
