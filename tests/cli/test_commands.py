"""The command line as a user meets it: results on stdout, the rest on stderr, exit codes, files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from samespace.cli import app
from samespace.maps import Map
from samespace.moments import Moments
from samespace.report.recipes import versions

N, D = 1500, 5


@pytest.fixture
def files(tmp_path, rng, monkeypatch):
    """A folder with an old and a new model's vectors (a rotation), as .npy, and as Parquet with ids."""
    X = rng.standard_normal((N, D)).astype(np.float32)
    turn = np.linalg.qr(rng.standard_normal((D, D)))[0].astype(np.float32)
    Y = 2 * X @ turn + 1 + 0.01 * rng.standard_normal((N, D)).astype(np.float32)
    np.save(tmp_path / "old.npy", X)
    np.save(tmp_path / "new.npy", Y)
    np.save(tmp_path / "noise.npy", rng.standard_normal((N, D)))
    order = rng.permutation(N)[: N - 10]
    parquet(tmp_path / "old.parquet", "item", range(N), X)
    parquet(tmp_path / "new.parquet", "doc", order, Y[order])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parquet(path, name, ids, X):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), D)
    pq.write_table(pa.table({name: [f"i{i}" for i in ids], "v": vectors, "w": vectors}), path)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def process(*arguments, folder):
    """The command in a process of its own, slowed down after every batch so that it can be interrupted."""
    code = (
        "import sys, time\n"
        "from samespace.cli import main, progress\n"
        "progress._silent = lambda *report: time.sleep(0.5)\n"
        f"sys.argv = {['samespace', *map(str, arguments)]!r}\n"
        "main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class TestCompare:
    def test_the_verdict_goes_to_stdout(self, files):
        result = run("compare", "old.npy", "new.npy")
        assert result.exit_code == 0
        assert "verdict: ORTHOGONAL" in result.stdout
        assert result.stderr == ""

    def test_json_is_all_there_is_on_stdout(self, files):
        result = run("compare", "old.npy", "new.npy", "--json", "--save-moments", "m.safetensors")
        said = json.loads(result.stdout)
        assert said["verdict"]["name"] == "orthogonal"
        assert said["names"] == ["old.npy", "new.npy"]
        assert "wrote moments to m.safetensors" in result.stderr

    def test_ids_and_columns_may_be_named_differently(self, files):
        result = run(
            "compare", "old.parquet", "new.parquet", "--on", "item,doc", "--column", "v,w", "--json"
        )
        said = json.loads(result.stdout)
        assert (said["n"], said["verdict"]["name"]) == (N - 10, "orthogonal")
        assert said["diagnostics"]["unmatched_x"] == 10
        assert said["diagnostics"]["paired_by"] == "id"

    def test_one_name_serves_both_sides(self, files):
        result = run(
            "compare", "old.parquet", "old.parquet", "--on", "item", "--column", "v", "--json"
        )
        assert json.loads(result.stdout)["verdict"]["name"] == "identity"

    def test_saved_moments_give_the_same_answer_without_the_files(self, files):
        first = run("compare", "old.npy", "new.npy", "--json", "--save-moments", "m.safetensors")
        assert Moments.load("m.safetensors").n == N
        (files / "old.npy").unlink()
        again = run("compare", "m.safetensors", "--json")
        assert json.loads(again.stdout) == json.loads(first.stdout)

    def test_options_reach_the_comparison(self, files):
        result = run(
            *("compare", "old.npy", "new.npy", "--json", "--tolerance", 0.05),
            *("--floor", 0.8, "--level", 0.9, "--folds", 4),
        )
        settings = json.loads(result.stdout)["settings"]
        assert (settings["tolerance"], settings["floor"]) == (0.05, 0.8)
        assert (settings["level"], settings["folds"]) == (0.9, 4)

    def test_reports_and_figures(self, files):
        options = ["--html", "r.html", "--markdown", "r.md", "--figures", "figures"]
        result = run("compare", "old.npy", "new.npy", *options)
        assert result.exit_code == 0
        assert "<html" in (files / "r.html").read_text(encoding="utf-8")
        assert "old.npy" in (files / "r.md").read_text(encoding="utf-8")
        assert {p.suffix for p in (files / "figures").iterdir()} == {".png", ".svg"}
        assert result.stderr.count("wrote ") == 2 + len(list((files / "figures").iterdir()))

    def test_the_verdicts_map_is_saved(self, files):
        result = run("compare", "old.npy", "new.npy", "--save-map", "map.safetensors")
        fitted = Map.load("map.safetensors")
        assert fitted.kind == "orthogonal"
        assert "wrote orthogonal map (5 -> 5) to map.safetensors" in result.stderr
        np.testing.assert_allclose(
            fitted.transform(np.load("old.npy")), np.load("new.npy"), atol=0.1
        )

    def test_another_class_of_map_can_be_saved(self, files):
        run("compare", "old.npy", "noise.npy", "--save-map", "map.safetensors", "--map", "affine")
        assert Map.load("map.safetensors").kind == "affine"

    def test_no_map_is_saved_for_the_verdict_none(self, files):
        result = run("compare", "old.npy", "noise.npy", "--save-map", "map.safetensors")
        assert result.exit_code == 2
        assert "verdict: NONE" in result.stdout
        assert "no map is saved: the verdict is none" in result.stderr
        assert "--map identity or permutation or orthogonal or affine" in result.stderr
        assert not (files / "map.safetensors").exists()

    def test_no_map_of_a_class_that_does_not_apply(self, files):
        np.save("narrow.npy", np.load("old.npy")[:, :3])
        arguments = ["compare", "old.npy", "narrow.npy", "--save-map", "m.safetensors"]
        result = run(*arguments, "--map", "identity")
        assert result.exit_code == 2
        assert "the identity class needs equal widths" in result.stderr


class TestGate:
    def test_it_passes_with_zero_and_saves_the_map(self, files):
        options = ["--require", "affine", "--min-score", 0.98, "--save-map", "map.safetensors"]
        result = run("gate", "old.npy", "new.npy", *options)
        assert result.exit_code == 0
        assert result.stdout.startswith(
            "pass: affine old-to-new (decided by orthogonal, held-out R^2 1.0000)"
        )
        assert Map.load("map.safetensors").kind == "orthogonal"

    def test_it_fails_with_one_and_saves_nothing(self, files):
        result = run(
            "gate", "old.npy", "noise.npy", "--save-map", "m.safetensors", "--html", "r.html"
        )
        assert result.exit_code == 1
        assert result.stdout.startswith("fail: affine")
        assert not (files / "m.safetensors").exists()
        assert (files / "r.html").exists()

    def test_it_cannot_tell_with_two(self, files, rng):
        X = rng.standard_normal((24, D))
        np.save("a.npy", X)
        np.save("b.npy", X + 0.3 * rng.standard_normal((24, D)))
        result = run("gate", "a.npy", "b.npy")
        assert result.exit_code == 2
        assert result.stdout.startswith("undecided: affine")

    def test_json_says_all(self, files):
        result = run("gate", "old.npy", "new.npy", "--side", "new-to-old", "--json")
        said = json.loads(result.stdout)
        assert (said["outcome"], said["side"]) == ("pass", "new-to-old")
        assert said["comparison"]["names"] == ["new.npy", "old.npy"]

    def test_saved_moments_are_enough(self, files):
        run("compare", "old.npy", "new.npy", "--save-moments", "m.safetensors")
        assert run("gate", "m.safetensors", "--require", "permutation").exit_code == 1

    def test_a_class_that_means_nothing(self, files):
        result = run("gate", "old.npy", "new.npy", "--require", "linear")
        assert result.exit_code == 2
        assert "orthogonal" in result.stderr


class TestApply:
    @pytest.fixture
    def fitted(self, files):
        run("compare", "old.npy", "new.npy", "--save-map", "map.safetensors")
        return "map.safetensors"

    def test_it_writes_what_the_new_model_would(self, files, fitted):
        result = run("apply", fitted, "old.npy", "mapped.npy")
        assert result.exit_code == 0
        assert result.stdout.startswith("wrote 1,500 rows to mapped.npy in ")
        np.testing.assert_allclose(np.load("mapped.npy"), np.load("new.npy"), atol=0.1)

    def test_it_says_what_is_not_kept(self, files, fitted):
        result = run("apply", fitted, "old.parquet", "m.npy", "--column", "v", "--dtype", "float16")
        assert "not kept in .npy: item, w" in result.stderr
        assert np.load("m.npy").dtype == np.float16

    def test_it_does_not_overwrite_without_force(self, files, fitted):
        result = run("apply", fitted, "old.npy", "new.npy")
        assert result.exit_code == 2
        assert "error: new.npy exists and would be overwritten" in result.stderr
        assert run("apply", fitted, "old.npy", "new.npy", "--force").exit_code == 0

    def test_ctrl_c_and_the_same_command_again(self, files, fitted):
        rows_in_all = 8_000_000  # a second or two of work, also where a busy machine looks late
        big = np.lib.format.open_memmap("big.npy", "w+", np.float32, (rows_in_all, D))
        big[:] = np.load("old.npy")[0]
        del big
        arguments = ["apply", fitted, "big.npy", "mapped.npy"]
        slow = process(*arguments, folder=files)
        rows = files / ".mapped.npy.partial" / "rows"
        deadline = time.monotonic() + 60
        # More than a batch of 16 MB / (8 bytes x 5 columns) rows of 20 bytes: the first one is done.
        while not (rows.exists() and rows.stat().st_size > 9e6) and slow.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        slow.send_signal(signal.SIGINT)
        out, err = slow.communicate(timeout=60)
        assert (slow.returncode, out) == (130, "")
        assert err.startswith("interrupted; nothing is half-written")
        assert not (files / "mapped.npy").exists()
        again = run(*arguments)
        assert "of them from an interrupted run" in again.stdout
        assert np.load("mapped.npy", mmap_mode="r").shape == (rows_in_all, D)


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["compare", "gone.npy", "new.npy"], "there is nothing at gone.npy"),
            (["compare", "old.npy"], "NEW is missing, and old.npy is not moments saved"),
            (["compare", "old.npy", "--on", "id"], "--on, --column and --groups need OLD and NEW"),
            (["compare", "old.npy", "new.npy", "--on", "id"], "ids cannot be read from 'id'"),
            (["compare", "old.parquet", "new.parquet"], "2 columns of vectors: v, w"),
            (["compare", "old.npy", "new.npy", "--column", "a,b,c"], "names 3 columns"),
            (["compare", "old.npy", "new.npy", "--floor", "2"], "floor=2.0"),
            (
                ["compare", "old.npy", "new.npy", "--html", "gone/r.html"],
                "no folder gone to write r.html",
            ),
            (
                ["compare", "old.npy", "new.npy", "--html", "."],
                "is a folder; needed is the name of a file",
            ),
            (["apply", "gone.safetensors", "old.npy", "x.npy"], "no file at 'gone.safetensors'"),
        ],
    )
    def test_one_line_and_two(self, files, arguments, message):
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
        assert message in result.stderr
        assert "Traceback" not in result.stderr

    def test_nothing_is_read_before_outputs_are_known_to_be_writable(self, files):
        result = run("compare", "gone.npy", "new.npy", "--save-map", "gone/map.safetensors")
        assert "no folder gone to write" in result.stderr

    def test_verbose_shows_the_traceback(self, files):
        result = run("compare", "gone.npy", "new.npy", "-v")
        assert "Traceback" in result.stderr
        assert "error: there is nothing at gone.npy" in result.stderr

    def test_verbose_is_forgotten_by_the_next_command(self, files):
        run("compare", "gone.npy", "new.npy", "-v")
        assert "Traceback" not in run("compare", "gone.npy", "new.npy").stderr

    @pytest.mark.parametrize(
        ("error", "code", "said"),
        [(PermissionError(13, "not yours"), 2, "error: "), (BrokenPipeError(32, "gone"), 1, "")],
    )
    def test_errors_of_the_system_have_no_traceback_either(
        self, files, monkeypatch, error, code, said
    ):
        def fail(*arguments, **options):
            raise error

        monkeypatch.setattr("samespace.moments.Moments.save", fail)
        result = run("compare", "old.npy", "new.npy", "--save-moments", "m.safetensors")
        assert result.exit_code == code
        assert result.stderr.startswith(said)
        assert "Traceback" not in result.stderr

    def test_ctrl_c_is_130(self, files, monkeypatch):
        def interrupted(*arguments, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr("samespace.moments.Moments.of", interrupted)
        result = run("compare", "old.npy", "new.npy")
        assert result.exit_code == 130
        assert "interrupted" in result.stderr


class TestHelp:
    @pytest.mark.parametrize("command", ["compare", "gate", "apply"])
    def test_help_teaches_with_examples(self, command):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert f"samespace {command} " in result.stdout.split("Examples:")[1]

    def test_all_commands_are_listed_without_any(self):
        shown = run().output
        assert all(command in shown for command in ("compare", "gate", "apply"))

    def test_the_version(self):
        result = run("--version")
        assert result.stdout == f"samespace {versions()['samespace']}\n"

    def test_help_loads_nothing_heavy(self, files):
        code = (
            "import sys; sys.argv = ['samespace', 'compare', '--help']\n"
            "try:\n    from samespace.cli import main; main()\nexcept SystemExit: pass\n"
            "heavy = {'torch', 'sklearn', 'pyarrow', 'matplotlib', 'jinja2'} & set(sys.modules)\n"
            "sys.exit(', '.join(sorted(heavy)) or 0)"
        )
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [["demo"], ["reproduce", "semantic-learners", "fig2a"]])
def test_a_command_that_needs_torch_says_so_where_there_is_none(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith("samespace.learn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert "needs torch" in result.stderr
    assert "pip install 'samespace[torch]'" in result.stderr
