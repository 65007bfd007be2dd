"""express-path policies: which statements would deny requests that are possible on the NAT path."""

from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from express_path.domain.network.resources import partition
from express_path.domain.policies.conditions import is_public_ipv4
from express_path.domain.policies.keys import KnownContext
from express_path_cli.aws import options
from express_path_cli.aws.account_options import OneAccount, taking
from express_path_cli.aws.judging import JudgedPolicies, denial_line, judge
from express_path_cli.aws.options import TextFormat
from express_path_cli.aws.policies import account_policies, policies_in_files
from express_path_cli.aws.sessions import AccountRegion, connect
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import OptionError, say, show_failures_and_notes
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.tables import Terminal
from express_path_cli.terminal.texts import count_text

SCHEMA_VERSION = 1
EXAMPLES = """
express-path policies bucket-policy.json scp.json  # in files, without AWS
express-path policies --account --vpc vpc-0a1b2c3d4e5f60718 --address 203.0.113.10  # those of this account
aws s3api get-bucket-policy --bucket data--use1-az4--x-s3 | express-path policies -  # what the AWS CLI prints
aws ec2 describe-vpc-endpoints | express-path policies -  # the policies of the endpoints for S3 Express
"""
_known = partial(typer.Option, rich_help_panel="What is known of the paths")


Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE", help="Policy documents in JSON, or what the AWS CLI prints of them; - is standard input."
    ),
]
OfAccount = Annotated[
    bool,
    options.where(
        "--account",
        help="Read the account's own: identity policies, and those of directory buckets and access points of the Region.",
    ),
]
VpcId = Annotated[str, _known("--vpc", metavar="VPC-ID", help="The VPC of the endpoint. Default: any.")]
EndpointId = Annotated[
    str,
    _known("--endpoint", metavar="VPCE-ID", help="The gateway endpoint. Default: any."),
]
Addresses = Annotated[
    list[str] | None,
    _known("--address", metavar="ADDRESS", help="A public IPv4 address of the NAT; repeatable. Default: any."),
]


@taking(signed_in=OneAccount)
def policies(
    *,
    files: Files = None,
    account: OfAccount = False,
    signed_in: OneAccount,
    vpc: VpcId = "",
    endpoint: EndpointId = "",
    address: Addresses = None,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Show which policy statements would deny requests after a heal.

    After a heal, requests to S3 Express use the gateway endpoint: they have no aws:SourceIp, but aws:SourceVpce, aws:SourceVpc, and aws:VpcSourceIp. Run this
    before you turn healing on. It evaluates bucket policies, access point policies, identity policies, SCPs, and RCPs.
    What is not given is unknown, and any value of it counts; --region is the endpoint's. This command changes nothing.

    Exit status: 0 nothing would be denied that was possible before, 1 something would, 2 a policy could not be read.
    """
    if not (files or account):
        raise OptionError("no policies are given", "give files, or --account to read those of your account")
    addresses = tuple(map(_public_address, address or ()))
    place = AccountRegion.of_caller(connect(signed_in.region, signed_in.profile)) if account else None
    region = place.region if place else signed_in.region or ""
    known = KnownContext(
        _id("--vpc", "vpc-", vpc),
        _id("--endpoint", "vpce-", endpoint),
        addresses,
        region,
        partition=partition(region) if region else "",
    )
    read = chain(policies_in_files(files or ()), account_policies(place) if place else ())
    judged = judge(read, known)
    show_failures_and_notes(judged.failures, quiet=quiet)
    if form is TextFormat.JSON:
        echo(as_json(judged), nl=False)
    else:
        Terminal().file.writelines(f"{denial_line(denial)}\n" for denial in judged.denials)
        if not quiet:
            say(_conclusion(judged))
    raise typer.Exit(judged.exit_status)


def _public_address(text: str) -> str:
    if not is_public_ipv4(text):
        raise OptionError(f"--address {text} is not a public IPv4 address", "give the public address of the NAT")
    return text


def _id(option: str, prefix: str, text: str) -> str:
    if text and not text.startswith(prefix):
        raise OptionError(f"{option} {text} does not begin with {prefix}", "give the ID that EC2 shows")
    return text


def _conclusion(found: JudgedPolicies) -> str:
    total = sum(len(policy.document.statements) for policy in found.policies)
    looked_at = f"{count_text(total, 'statement')} in {count_text(len(found.policies), 'document')}"
    outcome = "none would deny what was possible before"
    if found.denials:
        outcome = f"{len(found.denials):,} would deny requests through the endpoint that are possible through the NAT"
    failed = f"; {count_text(len(found.failures), 'document')} could not be evaluated" if found.failures else ""
    return f"{looked_at}: {outcome}{failed}" if found.policies or not failed else "no document could be evaluated"


def as_json(found: JudgedPolicies) -> str:
    """Return each statement with its outcome, and what could not be read."""
    not_read = [failure.fields() for failure in found.failures]
    return json_document(SCHEMA_VERSION, {"statements": found.rows(), "notRead": not_read})
