"""The subcommands that the instrument adds to express-path, by the entry point `bench` in its pyproject.toml."""

from express_path_cli.terminal.command_line import Listed

COMMANDS = {
    "bench get": Listed(
        "express_path_instrument.bench.measure_commands",
        "Measure reads from a bucket: throughput and latency by the number of connections.",
    ),
    "bench put": Listed(
        "express_path_instrument.bench.measure_commands",
        "Measure writes to a bucket: throughput and latency by the number of connections.",
    ),
    "bench open": Listed(
        "express_path_instrument.bench.measure_commands",
        "Measure latency and throttling at constant request rates, as when users do not wait for each other.",
    ),
    "bench add": Listed(
        "express_path_instrument.bench.add_command",
        "Add what several machines measured at the same time into one result.",
    ),
    "bench compare": Listed(
        "express_path_instrument.bench.compare_command",
        "Compare measurements: what limits each, and how throughput and latency differ, with charts.",
    ),
}
"""Every subcommand, in the order of --help."""
