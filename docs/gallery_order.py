"""The gallery's order: from the first comparison to the index in production."""

from __future__ import annotations

ORDER = (
    "compare_two_arrays.py",
    "in_sample_scores_on_noise.py",
    "close_losses_different_spaces.py",
    "one_pass_over_parquet.py",
    "merge_across_machines.py",
    "retrain_gate_apply_evaluate.py",
)


class GalleryOrder:
    """Sort key of one gallery folder; examples without a place of their own come last."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, name: str) -> tuple[int, str]:
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)
