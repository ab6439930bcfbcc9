"""The test-suite: mirrors ``src/samespace``; slow independent routes live in ``tests/oracles``."""
