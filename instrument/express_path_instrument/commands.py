"""The subcommands that the instrument adds to express-path, by the entry point `bench` in its pyproject.toml."""

from express_path_cli.terminal.command_line import Listed

COMMANDS = {
    "bench get": Listed(
        "express_path_instrument.bench.measure_commands",
        "Measure reads from a bucket: throughput and latency.",
    ),
    "bench put": Listed(
        "express_path_instrument.bench.measure_commands",
        "Measure writes to a bucket: throughput and latency.",
    ),
    "bench open": Listed(
        "express_path_instrument.bench.measure_commands",
        "Measure latency and throttling at constant request rates.",
    ),
    "bench add": Listed(
        "express_path_instrument.bench.add_command",
        "Add what several machines measured into one result.",
    ),
    "bench compare": Listed(
        "express_path_instrument.bench.compare_command",
        "Compare measurements: what limits each, and how they differ.",
    ),
}
"""Every subcommand, in the order of --help."""
