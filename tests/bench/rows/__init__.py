"""One module per family of rows; `tests.bench.registry` lists them."""
