"""The page's data: rows and lists, meanings of reasons, rule parameters, and what the user added."""

import shlex
from typing import Any

from express_path.domain.path.reasons import NAT_REASONS, Reason
from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters
from express_path_cli.findings.formats.csv import COLUMNS
from express_path_cli.findings.formats.html.additions import NO_ADDITIONS, Additions, NatCosts, console_address
from express_path_cli.findings.formats.html.paths import LINE_STYLES
from express_path_cli.findings.formats.html.rows import Rows
from express_path_cli.findings.formats.html.trend import trend
from express_path_cli.findings.result import Result
from express_path_cli.findings.summary import COMPLIANCES
from express_path_cli.findings.wording import reason_text


def contents(result: Result, additions: Additions = NO_ADDITIONS) -> dict[str, Any]:
    """Return the data block: rows, lists, meanings of reasons, rule parameters, columns of the CSV, and additions."""
    return {
        "parameters": _parameters(result.parameters),
        "compliances": list(COMPLIANCES),
        "reasons": [
            [reason, reason_text(reason), LINE_STYLES[reason], int(reason in NAT_REASONS)] for reason in Reason
        ],
        **Rows(result).lists(),
        "csvColumns": [*COLUMNS, *(f"tag:{key}" for key in result.tag_keys)],
        "history": trend(result.history),
        "costs": _costs(additions.costs) if additions.costs else None,
        "consoles": _consoles(result) if additions.console_links else {},
        "explainOptions": shlex.join(additions.scan.explain_options()),
        "healOptions": shlex.join(additions.scan.heal_options()),
    }


def _costs(costs: NatCosts) -> dict[str, Any]:
    """Return the days, and for each NAT its Region, id, upper bound, measured cost, and 1 if that is only a part."""
    charges = [
        (*nat, charge.upper_bound, charge.measured, int(charge.at_least)) for nat, charge in costs.by_nat.items()
    ]
    return {"start": costs.start, "end": costs.end, "nats": charges}


def _consoles(result: Result) -> dict[str, str]:
    """Return the address of the VPC console of each Region that has one."""
    regions = sorted({verdict.region for verdict in result.verdicts})
    return {region: address for region in regions if (address := console_address(region))}


def _parameters(parameters: RuleParameters) -> list[tuple[str, str, int]]:
    """Return name and value of each rule parameter, and 1 if it is not the default."""
    default = RuleParameters()
    return [
        (name, _text(getattr(parameters, field)), int(getattr(parameters, field) != getattr(default, field)))
        for name, field in ((name, parameter.field) for name, parameter in PARAMETERS.items())
    ]


def _text(value: object) -> str:
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value or "")
