"""Plans as Terraform prints them, with only what the command reads. tests/terraform compares real ones."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

UNKNOWN = object()
"""A value that is known only after the apply."""
Values = Mapping[str, Any]


class PlanBuilder:
    """A plan that is being written: resources, and what their arguments refer to."""

    def __init__(self) -> None:
        """Start without resources."""
        self.document: dict[str, Any] = {
            "format_version": "1.2",
            "terraform_version": "1.11.4",
            "resource_changes": [],
            "relevant_attributes": [{"resource": "aws_vpc.this", "attribute": ["id"]}],
            "configuration": {
                "provider_config": {"aws": {"name": "aws", "expressions": {"region": {"constant_value": "us-east-1"}}}},
                "root_module": {"resources": []},
            },
        }
        self._blocks: dict[tuple[str, str, str], dict[str, Any]] = {}

    def add(
        self,
        address: str,
        after: Values | None,
        references: Mapping[str, Sequence[Any]] | None = None,
        *,
        before: Values | None = None,
        actions: Sequence[str] = ("create",),
        block: Values | None = None,
    ) -> "PlanBuilder":
        """Add a resource; after has UNKNOWN for what is known after the apply.

        references: of each argument. block: what else its block has in the configuration, such as for_each_expression.
        """
        *modules, kind, rest = re.findall(r"(?:module\.)?[\w-]+(?:\[[^]]*\])?", address)
        name, _, key = rest.partition("[")
        known = _known(after or {})
        change = {
            "actions": list(actions),
            "before": before,
            "after": None if after is None else known,
            "after_unknown": _marks(after or {}),
            "after_sensitive": {},
        }
        provider = f"registry.terraform.io/hashicorp/{kind.partition('_')[0]}"
        row = {"address": address, "mode": "managed", "type": kind, "name": name, "provider_name": provider}
        row["change"] = change
        if modules:
            row["module_address"] = ".".join(modules)
        if key:
            row["index"] = json.loads(key.removesuffix("]"))
        self.document["resource_changes"].append(row)
        calls = ".".join(module.partition("[")[0].removeprefix("module.") for module in modules)
        if (calls, kind, name) not in self._blocks:
            configured = {
                "address": f"{kind}.{name}",
                "mode": "managed",
                "type": kind,
                "name": name,
                "provider_config_key": "aws",
                "expressions": {
                    **{field: _constant(value) for field, value in known.items() if field != "id"},
                    **_expressions(references or {}),
                },
                **(block or {}),
            }
            self._blocks[calls, kind, name] = configured
            self._module(calls).setdefault("resources", []).append(configured)
        return self

    def _module(self, calls: str) -> dict[str, Any]:
        module: dict[str, Any] = self.document["configuration"]["root_module"]
        for name in filter(None, calls.split(".")):
            call = module.setdefault("module_calls", {}).setdefault(name, {"expressions": {}, "module": {}})
            module = call["module"]
        return module

    def subnet_with_table(self, name: str, vpc: str = "this") -> "PlanBuilder":
        """Add a subnet with a route table of its own to a VPC."""
        new = {"id": UNKNOWN, "vpc_id": UNKNOWN}
        to_vpc = {"vpc_id": [f"aws_vpc.{vpc}.id", f"aws_vpc.{vpc}"]}
        both = {
            "subnet_id": [f"aws_subnet.{name}.id", f"aws_subnet.{name}"],
            "route_table_id": [f"aws_route_table.{name}.id", f"aws_route_table.{name}"],
        }
        self.add(f"aws_subnet.{name}", new, to_vpc)
        self.add(f"aws_route_table.{name}", {**new, "route": UNKNOWN}, to_vpc)
        return self.add(f"aws_route_table_association.{name}", dict.fromkeys(both, UNKNOWN), both)

    def add_data(self, address: str, values: Values) -> "PlanBuilder":
        """Add a data source of the root module that was read while the plan was made."""
        kind, _, name = address.partition(".")
        row = {"address": f"data.{address}", "mode": "data", "type": kind, "name": name, "values": values}
        self.document["prior_state"] = {"values": {"root_module": {"resources": [row]}}}
        return self

    def pass_on(self, call: str, argument: str, references: Sequence[str]) -> "PlanBuilder":
        """Give an argument to a module that the root module calls."""
        self._module(call).setdefault("variables", {})[argument] = {}
        found = self.document["configuration"]["root_module"]["module_calls"][call]
        found["expressions"][argument] = {"references": list(references)}
        return self

    def output(self, call: str, name: str, references: Sequence[str]) -> "PlanBuilder":
        """Add an output to a module that the root module calls."""
        expression = {"references": list(references)}
        self._module(call).setdefault("outputs", {})[name] = {"expression": expression}
        return self

    def write(self, folder: Path, name: str = "plan.json") -> Path:
        """Write the plan into a folder."""
        file = folder / name
        file.write_text(json.dumps(self.document), encoding="utf-8")
        return file


def _known(values: Values) -> dict[str, Any]:
    """Return values without what is known after the apply, also in nested blocks."""
    return {
        name: [_known(row) for row in value] if _is_block(value) else value
        for name, value in values.items()
        if value is not UNKNOWN
    }


def _marks(values: Values) -> dict[str, Any]:
    """Return which values are known after the apply."""
    return {
        name: True if value is UNKNOWN else [_marks(row) for row in value]
        for name, value in values.items()
        if value is UNKNOWN or _is_block(value)
    }


def _is_block(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _expressions(references: Mapping[str, Any]) -> dict[str, Any]:
    """Return expressions that refer to something, also in nested blocks."""
    return {
        name: [_expressions(row) for row in names] if _is_block(names) else {"references": list(names)}
        for name, names in references.items()
    }


def _constant(value: Any) -> Any:
    """Return the expression of a constant, or of nested blocks with constants."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [{name: _constant(inner) for name, inner in row.items()} for row in value]
    return {"constant_value": value}


def network() -> PlanBuilder:
    """Return a plan of a new VPC with a private subnet, its route table, a NAT gateway, and a route to it."""
    return (
        PlanBuilder()
        .add("aws_vpc.this", {"id": UNKNOWN, "cidr_block": "10.0.0.0/16"})
        .subnet_with_table("private")
        .add(
            "aws_nat_gateway.this",
            {"id": UNKNOWN, "subnet_id": UNKNOWN, "connectivity_type": "public"},
            {"subnet_id": ["aws_subnet.public.id"]},
        )
    )


def nat_route(plan: PlanBuilder, destination: str = "0.0.0.0/0", name: str = "nat") -> PlanBuilder:
    """Add a route from the private table to the NAT gateway."""
    return plan.add(
        f"aws_route.{name}",
        {
            "route_table_id": UNKNOWN,
            "destination_cidr_block": destination,
            "nat_gateway_id": UNKNOWN,
            "network_interface_id": UNKNOWN,
        },
        {
            "route_table_id": ["aws_route_table.private.id", "aws_route_table.private"],
            "nat_gateway_id": ["aws_nat_gateway.this.id", "aws_nat_gateway.this"],
        },
    )


def endpoint(
    plan: PlanBuilder, tables: Sequence[str] = ("aws_route_table.private.id", "aws_route_table.private")
) -> PlanBuilder:
    """Add a gateway endpoint of S3 Express that lists route tables, if there are any."""
    return plan.add(
        "aws_vpc_endpoint.s3express",
        {
            "id": UNKNOWN,
            "vpc_id": UNKNOWN,
            "service_name": "com.amazonaws.us-east-1.s3express",
            "vpc_endpoint_type": "Gateway",
            "route_table_ids": UNKNOWN,
        },
        {"vpc_id": ["aws_vpc.this.id", "aws_vpc.this"], **({"route_table_ids": tables} if tables else {})},
    )
