"""`python -m benchmarks [NAME]...`: run the named benchmarks, or all that install nothing; each prints what it measured."""

import sys
from importlib import import_module

BENCHMARKS = {
    "rule_cost": "the monthly cost of the rule itself, from what a sandbox counts and from prices.toml",
    "classifier": "what `bench` says about simulated sweeps and pairs of paths: two confusion matrices",
    "clients": "the client of `bench` beside wrk, vegeta, and botocore: speed, and what each says about a stall",
    "peers": "express-path beside other tools, which it installs: what each finds in the same network",
}
"""What each benchmark measures. Its module has the same name, and its `main()` prints the figures."""
ONLY_BY_NAME = ("peers",)


def main(names: list[str]) -> int:
    """Run benchmarks by name; return 2 if a name is unknown."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        known = "\n".join(f"  {name:12} {what}" for name, what in BENCHMARKS.items())
        print(f"no benchmark is called {', '.join(unknown)}; there are:\n{known}", file=sys.stderr)
        return 2
    for name in names or [name for name in BENCHMARKS if name not in ONLY_BY_NAME]:
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
