"""What each of the two processes of ``test_metrics`` does; a module that a new process can import."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed


def evaluate_half(rank: int, meeting: str, X: torch.Tensor, Y: torch.Tensor, folder: str) -> None:
    """See every second row, and write down the metric of all of them."""
    from samespace.metrics import LinearCKA

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=2
    )
    metric = LinearCKA(3, 3)
    metric.update(X[rank::2], Y[rank::2])
    Path(folder, f"rank-{rank}").write_text(repr(float(metric.compute())))
    torch.distributed.destroy_process_group()
