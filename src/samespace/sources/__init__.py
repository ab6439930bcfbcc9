"""Where rows come from: arrays, ``.npy``, Parquet, safetensors, vector stores; one file for each kind.

A source (`Source`) knows its number of rows, its width and its element type, and yields its rows in
order. `open_source` finds the one that reads a path, `Representation` names it and checks its values;
users meet both through `samespace.representation`.
"""
