"""safetensors files, read without the library and judged by what the library wrote."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from samespace.errors import DtypeError, FormatError, OptionError
from samespace.sources.checked import Representation


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.bool_])
def test_every_type_reads_back(tmp_path, rng, dtype):
    X = (10 * rng.standard_normal((12, 3))).astype(dtype)
    save_file({"x": X}, tmp_path / "x.safetensors")
    r = Representation.of(tmp_path / "x.safetensors")
    assert r.dtype == np.dtype(dtype).name
    np.testing.assert_array_equal(np.concatenate(list(r.batches(5))), X.astype(np.float64))


def test_bfloat16_is_widened_exactly(tmp_path, rng):
    torch = pytest.importorskip("torch", reason="needs torch, an optional library")
    from safetensors.torch import save_file as save_torch

    X = torch.asarray(rng.standard_normal((12, 3))).to(torch.bfloat16)
    save_torch({"x": X}, tmp_path / "x.safetensors")
    r = Representation.of(tmp_path / "x.safetensors")
    assert r.dtype == "bfloat16"
    np.testing.assert_array_equal(r.to_array(), X.float().numpy())
    np.testing.assert_array_equal(r.take(np.array([5, 2])), X.float().numpy()[[5, 2]])


def test_bfloat16_of_ml_dtypes_and_of_the_file_agree(tmp_path, rng):
    bits = rng.integers(0, 0x7F80, (40, 3)).astype(np.uint16)  # every finite positive bfloat16
    header = {"x": {"dtype": "BF16", "shape": [40, 3], "data_offsets": [0, bits.nbytes]}}
    write(tmp_path / "x.safetensors", header, bits.tobytes())
    expected = bits.view(ml_dtypes.bfloat16).astype(np.float32)
    values = Representation.of(tmp_path / "x.safetensors").to_array()
    np.testing.assert_array_equal(values, expected)


def write(path, header, data=b""):
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def test_shards_with_ids(tmp_path, rng):
    X = rng.standard_normal((20, 3)).astype(np.float32)
    for i in range(2):
        part = slice(10 * i, 10 * i + 10)
        save_file({"x": X[part], "ids": np.arange(100)[part]}, tmp_path / f"{i}.safetensors")
    r = Representation.of(tmp_path, id_column="ids")
    np.testing.assert_array_equal(r.to_array(), X)
    np.testing.assert_array_equal(r.ids, np.arange(20))


def test_the_only_matrix_is_found_and_two_need_a_name(tmp_path):
    path = tmp_path / "x.safetensors"
    save_file({"v": np.ones((3, 2)), "norms": np.ones(3)}, path)
    assert Representation.of(path).d == 2
    save_file({"v": np.ones((3, 2)), "w": np.zeros((3, 4))}, path)
    with pytest.raises(OptionError, match=r"holds 2 matrices.*v \[3, 2\].*--column"):
        Representation.of(path)
    assert Representation.of(path, column="w").d == 4


def test_a_tensor_that_is_not_there(tmp_path):
    save_file({"v": np.ones((3, 2))}, tmp_path / "x.safetensors")
    with pytest.raises(OptionError, match="has no tensor 'w'; it has v"):
        Representation.of(tmp_path / "x.safetensors", column="w")


def test_ids_that_cannot_be_ids(tmp_path):
    save_file({"v": np.ones((3, 2)), "id": np.ones(3)}, tmp_path / "x.safetensors")
    with pytest.raises(DtypeError, match=r"'id' of .* is F64 .*integers of shape"):
        Representation.of(tmp_path / "x.safetensors", id_column="id")


def test_a_type_that_is_not_a_number_we_read(tmp_path):
    header = {"x": {"dtype": "F8_E4M3", "shape": [2, 2], "data_offsets": [0, 4]}}
    path = write(tmp_path / "x.safetensors", header, bytes(4))
    with pytest.raises(DtypeError, match=r"'x' of .* holds F8_E4M3"):
        Representation.of(path, column="x")


@pytest.mark.parametrize("kept", [0, 5, 20])
def test_a_file_cut_in_its_header(tmp_path, kept):
    path = tmp_path / "x.safetensors"
    save_file({"v": np.ones((3, 2))}, path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(FormatError, match="not a safetensors file, or truncated"):
        Representation.of(path)


def test_a_file_cut_in_its_data(tmp_path):
    path = tmp_path / "x.safetensors"
    save_file({"v": np.ones((30, 2))}, path)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(FormatError, match="truncated: tensor 'v' ends at byte"):
        Representation.of(path)


def test_a_header_that_contradicts_itself(tmp_path):
    header = {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 16]}}
    path = write(tmp_path / "x.safetensors", header, bytes(16))
    with pytest.raises(
        FormatError, match=r"'x' of shape \[2, 3\] and type F32 cannot have 16 bytes"
    ):
        Representation.of(path)


@pytest.mark.parametrize("header", [[1, 2], {"x": {}}, {"x": 3}])
def test_a_header_that_is_not_the_formats(tmp_path, header):
    path = write(tmp_path / "x.safetensors", header)
    with pytest.raises(FormatError, match="header that is not safetensors' JSON"):
        Representation.of(path)
