"""The parts of the code, what each is for, and what each may import.

tests/test_imports.py checks it, and docs/architecture.md shows it: python -m tests.docs.architecture writes that part of the
page again.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Package:
    """A package at the top of the repository. folder: where it is. imports: the other packages that it may import."""

    folder: str
    does: str
    imports: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that imports have."""
        return self.folder.rpartition("/")[2]


SANDBOX = Package("sandbox/config_rule_sandbox", "The AWS of tests and demo, which knows nothing of the product")
PACKAGES = (
    Package(
        "functions/express_path",
        "What the rule's Lambda functions run, and what only those of `integrations/` run of it",
    ),
    Package(
        "integrations/express_path_integrations", "Findings in Security Hub: a stack of its own", ("express_path",)
    ),
    Package("cli/express_path_cli", "The command `express-path`", ("express_path",)),
    Package(
        "instrument/express_path_instrument",
        "The subcommand `bench` and the lab, a distribution of its own",
        ("express_path", "express_path_cli"),
    ),
    Package("org", "The roll-out to an organization: its templates, and what packages the code for them"),
    SANDBOX,
    Package("demo", "What `make demo` and `make sandbox` show", ("org", SANDBOX.name)),
    Package(
        "acceptance", "The acceptance run, in the sandbox or in an account", ("demo", "express_path", SANDBOX.name)
    ),
    Package(
        "benchmarks",
        "What the rule costs, and how `bench` and scans compare with others",
        ("express_path", "express_path_cli", "express_path_instrument", SANDBOX.name, "tests"),
    ),
    Package(
        "tests",
        "The tests of the product, the pages, and the templates",
        (
            *("express_path", "express_path_cli", "express_path_instrument", "express_path_integrations"),
            *("org", SANDBOX.name, "demo", "acceptance", "benchmarks"),
        ),
    ),
)

_CORE = ("express_path.domain", "express_path.errors", "express_path.fields")
_AWS = ("boto3", "botocore")
_LAYERS = tuple(
    f"express_path.domain.{name}" for name in ("network", "path", "verdict", "policies", "heal", "remedy", "findings")
)
"""The packages of the domain. Each may import itself and those before it."""
_SHARED = (
    *_CORE,
    "express_path.events",
    "express_path.adapters.aws",
    "express_path.adapters.config_rule.stored_results",
    "express_path.adapters.event_bus",
)
"""What the integrations may import of the rule's code."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a package of the product.

    does: what it is for, empty for a part that the diagram of the page does not have. imports: what it may import besides the
    standard library. Types of AWS's clients (mypy_boto3_*, which only type checkers read) are allowed where the clients are.
    """

    does: str
    imports: tuple[str, ...]


PARTS = {
    "express_path": Part("", ()),
    "express_path.errors": Part("", ()),
    "express_path.fields": Part("how input is checked", ("express_path.errors", "express_path.domain.network")),
    "express_path.domain": Part("", ()),
    "express_path.domain.network": Part("what exists", ("express_path.errors", *_LAYERS[:1])),
    "express_path.domain.path": Part("where traffic goes", ("express_path.errors", *_LAYERS[:2])),
    "express_path.domain.verdict": Part("what that means for the rule", ("express_path.errors", *_LAYERS[:3])),
    "express_path.domain.policies": Part("what policies allow", ("express_path.errors", *_LAYERS[3:4])),
    "express_path.domain.heal": Part("what may be changed", ("express_path.errors", *_LAYERS[:5])),
    "express_path.domain.remedy": Part("what to do", ("express_path.errors", *_LAYERS[:6])),
    "express_path.domain.findings": Part("what Security Hub shows", ("express_path.errors", *_LAYERS)),
    "express_path.events": Part("what the rule publishes", (*_CORE, "express_path.events")),
    "express_path.adapters": Part(
        "AWS Config, EC2, EventBridge, DynamoDB, Systems Manager",
        (*_CORE, *_AWS, "mypy_boto3", "express_path.adapters", "express_path.events"),
    ),
    "express_path.adapters.config_rule": Part(
        "",
        (
            "express_path.errors",
            "express_path.adapters.aws",
            "express_path.adapters.memory",
            "express_path.adapters.config_rule",
            "express_path.fields",
            "mypy_boto3",
        ),
    ),
    "express_path.evaluation": Part("what an event makes the rule do", (*_CORE, "express_path.adapters")),
    "express_path.publishing": Part(
        "which events follow", (*_CORE, "express_path.adapters", "express_path.evaluation", "express_path.events")
    ),
    "express_path.healing": Part(
        "what a step of a runbook does", (*_CORE, "express_path.adapters", "express_path.healing")
    ),
    "express_path.handlers": Part(
        "parse, call, report",
        (
            *_CORE,
            "aws_lambda_powertools",
            "express_path.adapters",
            "express_path.evaluation",
            "express_path.events",
            "express_path.publishing",
            "express_path.healing",
            "express_path.handlers.gauges",
        ),
    ),
    "express_path_integrations": Part("Security Hub", (*_SHARED, "express_path_integrations")),
    "express_path_integrations.adapters": Part("", (*_SHARED, "mypy_boto3", "express_path_integrations")),
    "express_path_integrations.handlers": Part("", (*_SHARED, "aws_lambda_powertools", "express_path_integrations")),
    "express_path_cli": Part(
        "the command",
        (
            *_CORE,
            *_AWS,
            "mypy_boto3",
            "cfnlint",
            "matplotlib",
            "msgspec",
            "orjson",
            "plotille",
            "rich",
            "typer",
            "yaml",
            "express_path.adapters",
            "express_path.evaluation",  # org shadow judges as a sweep does
            "express_path_cli",
        ),
    ),
    "express_path_instrument": Part(
        "bench and the lab",
        (
            *(*_CORE, *_AWS, "hdrh", "matplotlib", "msgspec", "mypy_boto3", "pycurl", "rich", "s3transfer", "typer"),
            *("urllib3", "express_path.adapters", "express_path_cli", "express_path_instrument"),
        ),
    ),
}

RANKS = (
    {"terminal": "The console, tables, files, documents, progress, and errors"},
    {"aws": "Sessions, accounts, roles, and Regions"},
    {"sources": "Where a network is read from: accounts, an aggregator, a dump, or a plan"},
    {
        "findings": "What a scan found: read, selected, grouped, compared, and written in each format",
        "automation": "Runs of the runbooks, and what the ledger keeps of them",
        "installation": "What is installed in an account and Region",
        "nat": "The NATs that traffic crosses: metrics, prices, owners, and limits",
    },
    {
        "scan": "`scan`",
        "explain": "`explain`",
        "heal": "`heal`",
        "undo": "`undo` and `heals`",
        "stop": "`stop` and `start`",
        "doctor": "`doctor`",
        "traffic": "`cost` and `diagnose`",
        "org": "`org check`, `org status`, and `org shadow`",
        "collect": "`collect`",
        "comment": "`comment`: one comment on a pull request, kept current",
        "schema": "`schema`: JSON Schemas of what express-path writes",
        "policies": "`policies`: which policy statements would deny requests through the endpoint",
    },
    {"main": "The list of commands, the only module outside a room"},
)
"""The rooms of the command by rank, with what each is for. A room imports itself and those of lower ranks."""
INSTRUMENT_USES = ("terminal", "aws", "nat")
"""The rooms of the command that the instrument may import."""


def lies_in(module: str, name: str) -> bool:
    """Return whether a module is `name` or below it; mypy_boto3 covers all packages such as mypy_boto3_ec2."""
    return module == name or module.startswith((f"{name}.", "mypy_boto3_") if name == "mypy_boto3" else f"{name}.")
