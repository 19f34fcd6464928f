"""Plugins that the whole suite runs under."""

pytest_plugins = [
    "tests.support.features",
    "tests.support.needs",
    "tests.support.left_out",
    "tests.support.at_once",
    "tests.support.signals_kept",
    "tests.support.patience",
    "tests.support.kills",
    "tests.support.longest_first",
    "tests.support.planted",
    "tests.support.fixtures",
    "tests.support.run_fixtures",
    "tests.support.cell_fixtures",
    "tests.support.store_fixtures",
]
