"""Folds side by side: the results of `map`, in its order, whatever the threads do."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from samespace.parallel import all_of, side_by_side


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def slow_first(i: int) -> tuple[int, int]:
    time.sleep(0.02 * (3 - i % 4))
    return i, threading.get_ident()


@pytest.mark.parametrize("width", [64, 512, 2048])
def test_matrices_worth_it_go_to_threads_and_come_back_in_order(width):
    found = list(side_by_side(slow_first, range(8), width=width))
    assert [i for i, _ in found] == list(range(8))
    assert len({thread for _, thread in found}) > 1


@pytest.mark.parametrize("width", [1, 63, 2049])
def test_others_stay_on_the_callers_thread(width):
    found = list(side_by_side(slow_first, range(4), width=width))
    assert found == [(i, threading.get_ident()) for i in range(4)]


def test_one_core_needs_no_thread(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert list(side_by_side(slow_first, [3], width=512)) == [(3, threading.get_ident())]
    assert list(side_by_side(slow_first, [], width=512)) == []


def test_inside_blas_keeps_to_one_thread():
    def blas_threads(_: int) -> int:
        return max(i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas")

    assert set(side_by_side(blas_threads, range(4), width=512)) == {1}


def test_an_error_in_a_thread_reaches_the_caller():
    def fail(i: int) -> None:
        raise ArithmeticError(f"fold {i}")

    with pytest.raises(ArithmeticError, match="fold 0"):
        list(side_by_side(fail, range(4), width=512))


def test_threads_compute_what_the_loop_computes(rng):
    matrices = [a @ a.T for a in rng.standard_normal((6, 70, 70))]
    threaded = list(side_by_side(np.linalg.eigvalsh, matrices, width=70))
    looped = list(side_by_side(np.linalg.eigvalsh, matrices, width=1))
    assert np.array_equal(threaded, looped)


@pytest.mark.parametrize("width", [1, 512])
def test_different_tasks_give_their_values_in_order(width):
    assert all_of(lambda: 1, lambda: "two", lambda: None, width=width) == [1, "two", None]
