"""Arrays in memory: every library, every element type, every shape that cannot be meant."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from samespace.errors import DtypeError, NotFiniteError, OptionError, ShapeError
from samespace.sources.checked import Representation


def as_numpy(array):
    return array.double().numpy() if hasattr(array, "double") else np.asarray(array)


def library(name):
    return pytest.importorskip(name, reason=f"needs {name}, an optional library")


def torch_array(values):
    return library("torch").asarray(values)


def strict_array(values):
    return library("array_api_strict").asarray(values)


def jax_array(values):
    return library("jax.numpy").asarray(values)


LIBRARIES = [np.asarray, torch_array, strict_array, jax_array]


@pytest.mark.parametrize("make", LIBRARIES)
def test_batches_are_the_rows_in_their_own_library(make, rng):
    X = rng.standard_normal((25, 3)).astype(np.float32)
    array = make(X)
    r = Representation.of(array)
    batches = list(r.batches(10))
    assert [b.shape for b in batches] == [(10, 3), (10, 3), (5, 3)]
    assert {type(b) for b in batches} == {type(array)}
    assert (r.n, r.d, r.dtype) == (25, 3, "float32")
    np.testing.assert_array_equal(np.concatenate([as_numpy(b) for b in batches]), X)


@pytest.mark.parametrize("make", LIBRARIES)
def test_rows_can_be_gathered_and_streamed_from_the_middle(make, rng):
    X = rng.standard_normal((25, 3)).astype(np.float32)
    r = Representation.of(make(X))
    rows = np.array([7, 0, 24])
    np.testing.assert_array_equal(as_numpy(r.take(rows)), X[rows])
    rest = np.concatenate([as_numpy(b) for b in r.batches(4, start=18)])
    np.testing.assert_array_equal(rest, X[18:])
    np.testing.assert_array_equal(as_numpy(r.to_array()), X)


@pytest.mark.parametrize("make", [torch_array, strict_array, jax_array])
def test_integers_become_floating_point_on_the_device(make):
    r = Representation.of(make(np.arange(6, dtype=np.int32).reshape(3, 2)))
    assert r.dtype == "int32"
    np.testing.assert_array_equal(as_numpy(r.to_array()), np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_, np.longdouble])
def test_other_numbers_become_float64(dtype):
    X = np.array([[0, 1], [1, 0]], dtype)
    values = Representation.of(X).to_array()
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, [[0, 1], [1, 0]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floating_point_is_never_copied(dtype):
    X = np.ones((8, 2), dtype)
    assert all(np.shares_memory(batch, X) for batch in Representation.of(X).batches(3))


def test_bfloat16_of_numpy_is_widened_exactly(rng):
    X = rng.standard_normal((9, 4)).astype(ml_dtypes.bfloat16)
    r = Representation.of(X)
    assert r.dtype == "bfloat16"
    np.testing.assert_array_equal(r.to_array(), X.astype(np.float32))


def test_bfloat16_of_torch_stays_bfloat16():
    torch = library("torch")
    r = Representation.of(torch.ones(4, 2, dtype=torch.bfloat16, requires_grad=True))
    (batch,) = r.batches(10)
    assert r.dtype == "bfloat16"
    assert batch.dtype == torch.bfloat16
    assert not batch.requires_grad


def test_big_endian_numbers_are_turned_around():
    X = np.arange(6, dtype=">f4").reshape(3, 2)
    values = Representation.of(X).to_array()
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, X)


def test_lists_and_column_order_and_subclasses_are_read_as_they_look(rng):
    X = rng.standard_normal((6, 3))
    for form in (X.tolist(), np.asfortranarray(X), X[::-1][::-1], tuple(map(tuple, X))):
        np.testing.assert_array_equal(Representation.of(form).to_array(), X)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.float64(3), ShapeError, "0 dimensions.*not a representation"),
        (np.ones(5), ShapeError, r"1 dimensions, shape \(5,\).*reshape\(-1, 1\)"),
        (np.ones((5, 4, 3)), ShapeError, r"3 dimensions.*reshape\(len\(X\), -1\)"),
        (np.ones((0, 3)), ShapeError, r"is empty, shape \(0, 3\)"),
        (np.ones((3, 0)), ShapeError, r"is empty, shape \(3, 0\)"),
        ([[1.0, 2.0], [3.0]], ShapeError, "ragged list.*one length"),
        (np.array([["a", "b"]]), DtypeError, "holds strings.*needed are float16"),
        (np.array([[b"a"]]), DtypeError, "holds bytes"),
        (np.array([[1j]]), DtypeError, "complex numbers.*X.real, X.imag"),
        (np.array([[None, 1]], object), DtypeError, "Python objects.*np.stack"),
        (np.array([["2026-01-01"]], "M8[D]"), DtypeError, "elements of type datetime64"),
        (np.ma.masked_less(np.ones((3, 2)), 0), NotFiniteError, "masked array.*filled"),
    ],
)
def test_what_is_not_a_matrix_of_numbers_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        Representation.of(values)


def test_sparse_matrices_are_refused():
    from scipy import sparse

    with pytest.raises(DtypeError, match=r"sparse matrix.*toarray\(\)"):
        Representation.of(sparse.eye_array(3).tocsr())


def test_complex_tensors_are_refused():
    torch = library("torch")
    with pytest.raises(DtypeError, match="elements of type complex64"):
        Representation.of(torch.ones(3, 2, dtype=torch.complex64))


def test_an_array_has_no_columns_to_name():
    with pytest.raises(OptionError, match=r"no named columns, so 'v' cannot be picked"):
        Representation.of(np.ones((3, 2)), column="v")


def test_the_message_uses_the_name_given():
    with pytest.raises(ShapeError, match=r"^new has 1 dimensions"):
        Representation.of(np.ones(5), name="new")
