"""``compare`` against cca-zoo's plain CCA and the bare products, on the same arrays in the same process.

    pip install cca-zoo && python benchmarks/bench_compare.py [--rows 20000] [--width 512] [--repeats 3]

``compare`` gives the whole lattice with folds, intervals and null; cca-zoo's ``CCA().fit`` gives
canonical directions and nothing held out. scikit-learn's iterative CCA is timed on request (--sklearn).
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import ratios

import samespace as ss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sklearn", action="store_true", help="time scikit-learn's CCA too")
    parser.add_argument("--quick", action="store_true", help="4,000 x 128, written nowhere")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.width = 4000, 128
    rng = np.random.default_rng(0)
    X = rng.standard_normal((options.rows, options.width))
    Y = X @ rng.standard_normal((options.width,) * 2) + rng.standard_normal(
        (options.rows, options.width)
    )
    peer = cca_zoo(X, Y, options.width)
    contestants: dict[str, Any] = {
        "bare products": lambda: (X.T @ X, X.T @ Y, Y.T @ Y),
        "samespace.compare": lambda: ss.compare(X, Y),
    }
    if peer is None:
        print(
            "cca-zoo is not installed (pip install cca-zoo): only the bare products are beside us."
        )
    else:
        contestants["cca-zoo CCA().fit"] = peer
    if options.sklearn:
        contestants["scikit-learn CCA, 8 components"] = scikit_learn(X, Y)
    seconds = ratios.interleaved(contestants, repeats=options.repeats)
    ratios.report(
        "compare",
        f"python benchmarks/bench_compare.py --rows {options.rows} --width {options.width}"
        f" --repeats {options.repeats}",
        {
            "rows": options.rows,
            "width": options.width,
            "verdict": ss.compare(X, Y).verdict.name,
            "compare_over_products": ratios.ratio(seconds, "samespace.compare", "bare products"),
            "times_faster_than": {
                name: ratios.ratio(seconds, name, "samespace.compare")
                for name in seconds
                if name not in ("bare products", "samespace.compare")
            },
            "seconds": seconds,
        },
        keep=not options.quick,
    )


def cca_zoo(X: np.ndarray, Y: np.ndarray, width: int) -> Any:
    """cca-zoo's plain CCA with all components, or None where it is not installed."""
    try:
        from cca_zoo.linear import CCA
    except ImportError:
        return None
    return lambda: CCA(n_components=width).fit([X, Y])


def scikit_learn(X: np.ndarray, Y: np.ndarray) -> Any:
    """scikit-learn's NIPALS, for a few components only."""
    from sklearn.cross_decomposition import CCA

    return lambda: CCA(n_components=8).fit(X, Y)


if __name__ == "__main__":
    main()
