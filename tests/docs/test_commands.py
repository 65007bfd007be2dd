"""Every command in the documents can be copied: express-path runs it, the AWS CLI accepts it, and make has the target.

The shell code of a page is run line by line in a sandbox that has what the pages talk about. Where a page says
`subnet-...`, `<run>`, or `$OU`, the command gets the name of something that is there.
"""

import json
import os
import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import cycle, product
from pathlib import Path

import pytest
from botocore import xform_name
from botocore.session import Session

from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Reason
from express_path_cli.main import SUBCOMMANDS
from express_path_instrument.bench.results import as_bench_json
from instrument.tests.bench import published
from tests.cli.heal.healing_stack import deployed
from tests.cli.org.deployed import DeployedOrganization
from tests.cli.org.organizations import REGIONS
from tests.cli.traffic.flow_records import FlowLogs
from tests.docs import generated
from tests.support.command import invoke
from tests.support.config_aggregator import Aggregator, answering
from tests.support.heals import Vpc
from tests.support.network import Builder
from tests.support.plans import nat_route, network

ROOT = Path(__file__).parents[2]
PAGES = [*sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]), *generated.PAGES]
BLOCK = re.compile(r"^(?P<indent> *)```sh\n(?P<code>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`(express-path|make|aws) ([^`\n]+)`(?!`)")
AWS = re.compile(r"\baws (?P<service>[a-z0-9-]+) (?P<command>[a-z]+(?:-[a-z]+)*)(?P<rest>.*)")
AWS_NAMES = {"configservice": "config", "s3api": "s3"}
"""Names that the AWS CLI spells otherwise: https://docs.aws.amazon.com/cli/latest/reference/."""
AWS_GLOBAL = {"--output", "--profile", "--query", "--region"}
"""Options of every command: https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-options.html."""
AWS_CUSTOM = {
    "sns subscribe",
    "cloudformation deploy",
    "cloudformation wait",
    "dynamodb wait",
    "s3 cp",
    "s3 rm",
    "s3 sync",
}
"""Commands of the AWS CLI that are no operations of an API, or have options of their own."""
MEASUREMENTS = {"bench get", "bench put", "bench open", "bench add"}
"""Commands that send requests for minutes, or need the histograms of such a run. Only their options are parsed."""
RUN_IN_A_SHELL = ROOT / "docs" / "organization.md"
"""The page that test_organization_page.py runs, with every command of it."""
NEED_STACKS = ("org shadow", "stop", "start", "heals", "undo")
"""Commands that, for an organization, need stacks in its accounts: tests/cli/ and tests/organization/ run them."""
RUN = r"<run>|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@cache
def text_of(page: Path) -> str:
    """Return the text of a page, also if it is made only when the site is built."""
    return generated.PAGES[page]() if page in generated.PAGES else page.read_text(encoding="utf-8")


def code_of(page: Path) -> str:
    """Return the shell code of a page; continued lines are joined."""
    return "\n".join(textwrap.dedent(block["code"]) for block in BLOCK.finditer(text_of(page))).replace("\\\n", " ")


def lines(page: Path) -> list[str]:
    """Return the lines of shell code of a page, without comments."""
    return [line for line in map(str.strip, code_of(page).splitlines()) if line and not line.startswith("#")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_comment_does_nothing_where_it_is_none(page: Path) -> None:
    """An interactive zsh, the shell of macOS, takes # for a command unless INTERACTIVE_COMMENTS is set.

    So a comment has a line of its own, and plain words: no quote that stays open, and nothing that begins a second command.
    https://zsh.sourceforge.io/Doc/Release/Options.html#Input_002fOutput
    """
    for line in code_of(page).splitlines():
        if "#" in re.sub(r"'[^']*'|\"[^\"]*\"|\S#", "", line):
            assert re.fullmatch(r"\s*# \w[\w ,.:/%+-]*", line), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_code_means_the_same_in_bash_and_zsh(page: Path) -> None:
    """Zsh does not split a variable into words, and stops at a pattern that matches no file.

    https://zsh.sourceforge.io/FAQ/zshfaq03.html#l17
    """
    for line in lines(page):
        unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", line)
        assert not re.search(r"\bfor \w+ in \$\{?\w", unquoted), line
        assert not re.search(r"[*?\[]|(^|\s)=", unquoted), line


def mentioned(page: Path, program: str) -> list[str]:
    """Return the arguments that sentences of a page show with a program."""
    return [rest for name, rest in INLINE.findall(text_of(page)) if name == program]


def by_page(path: Path) -> str:
    """Return the name of a page for the name of its test."""
    return str(path.relative_to(ROOT))


def _run_id(shown: str) -> str:
    """Return the run in the undo command that a heal prints."""
    return next(line.split()[4] for line in shown.splitlines() if line.strip().startswith("to undo: "))


class Place:
    """A sandbox in which the rule is deployed to an organization and heals ran, and a folder with the pages' files."""

    def __init__(self, sandbox: Sandbox, builder: Builder, page: Path) -> None:
        """Make the network, the files, and a heal for each run that the page names."""
        vpc = Vpc(builder, tables=2 + sum(len(re.findall(RUN, line)) for line in lines(page)))
        FlowLogs(Account(sandbox)).publish(vpc.id)
        builder.tag(vpc.tables[0], "Name", "data-private")
        runs = [_run_id(invoke(["heal", subnet, "--yes"]).stdout) for subnet in vpc.subnets[2:]]
        self._names = {
            r"subnet-(\.\.\.|0a1b2c3d4e5f60718)|<subnet>|SUBNET": cycle(vpc.subnets[:1]),
            r"rtb-(\.\.\.|\w{17})": cycle(vpc.tables[:2]),
            r"vpc-0a1b2c3d4e5f60718": cycle([vpc.id]),
            r"ou-ab12-\w+": cycle([os.environ["OU"]]),
            RUN: cycle(runs),
        }
        invoke(["collect", "dump"])
        for name in ("bucket-policy.json", "scp.json"):
            Path(name).write_text(json.dumps({"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}))
        for name in ("scan.json", "last.json", "express-path.json", "express-path-baseline.json"):
            invoke(["scan", "--format", "json", "--output", name])
        nat_route(network()).write(Path())
        Path("template.yaml").write_text("Resources: {Topic: {Type: AWS::SNS::Topic}}\n", encoding="utf-8")
        Path("changes.json").write_text('{"ChangeSetName": "next", "Changes": []}', encoding="utf-8")
        Path("main.tf").write_text('resource "aws_subnet" "private" {}\n', encoding="utf-8")
        for number, name in enumerate(("nat-1", "endpoint-1", "nat-2", "endpoint-2", "before", "after", "cold", "hot")):
            Path(f"{name}.json").write_text(as_bench_json(published.endpoint() if number % 2 else published.nat()))

    def arguments(self, line: str) -> list[str]:
        """Return the arguments of a command line with names of this place, without what its output goes to."""
        for pattern, names in self._names.items():
            line = re.sub(pattern, lambda _, names=names: next(names), line)
        words = shlex.split(os.path.expandvars(re.split(r" [|>]", line)[0]))[1:]
        asks = words[0] in ("heal", "undo", "start")
        return [*words, "--yes"] if asks and "--dry-run" not in words else words


@pytest.fixture
def place(
    sandbox: Sandbox, builder: Builder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, page: Path
) -> Iterator[Place]:
    """Return the place, in which the current folder and the environment are those of the page."""
    monkeypatch.chdir(tmp_path)
    aggregator = Aggregator(sandbox)
    with deployed(sandbox, monkeypatch) as made, Remediation(sandbox, made.automation), answering(aggregator):
        organization = DeployedOrganization(sandbox, aggregator)
        monkeypatch.setenv("OU", organization.workloads)
        monkeypatch.setenv("PREFIX", "example-artifacts")
        monkeypatch.setenv("NETWORK_ROLE", organization.network_role("data", {}))
        for number, (account, region) in enumerate(product(("data", "web"), REGIONS)):
            organization.result(account, region, f"subnet-{number}000", Reason.ENDPOINT, [f"vpce-{number}"])
            organization.sweep(account, region, Compliant=1)
        yield Place(sandbox, builder, page)


def shows_express_path(page: Path) -> bool:
    """Return whether a page has a command to run."""
    return any(line.startswith("express-path ") for line in lines(page))


@pytest.mark.long
@pytest.mark.parametrize(
    "page", [page for page in filter(shows_express_path, PAGES) if page != RUN_IN_A_SHELL], ids=by_page
)
def test_express_path_runs_every_command(page: Path, place: Place) -> None:
    """The command does what the page shows: it exits with 0, or with 1 if something has to be fixed."""
    for line in lines(page):
        if not line.startswith("express-path "):
            continue
        arguments = place.arguments(line)
        if arguments[:1] == ["collect"]:
            shutil.rmtree(arguments[1], ignore_errors=True)
        name = " ".join(arguments[:2])
        name = name if name in SUBCOMMANDS.all() else arguments[0]
        if name in MEASUREMENTS or (name in NEED_STACKS and {"--organization", "--role-name"} & set(arguments)):
            SUBCOMMANDS.load(name).make_context(name, arguments[len(name.split()) :])
            continue
        result = invoke(arguments)
        assert result.exit_code in (0, 1), f"{line}: {result.stderr}"
        if arguments[0] == "stop":  # the lines after it do not depend on it
            invoke(["start", "--yes"])


@pytest.mark.parametrize("page", PAGES, ids=by_page)
def test_sentences_show_commands_that_exist(page: Path) -> None:
    """A command in a sentence may be incomplete, but the command and its options exist."""
    for rest in mentioned(page, "express-path"):
        words = rest.split()
        name = " ".join(words[: 2 if words[0] in SUBCOMMANDS.groups else 1])
        if name in {**SUBCOMMANDS.all(), **SUBCOMMANDS.groups}:
            options = {option for parameter in SUBCOMMANDS.load(name).params for option in parameter.opts}
            assert set(re.findall(r"(?<= )--[a-z-]+", rest)) <= {*options, "--help"}, rest
        else:
            assert name in {"--help", "--install-completion"}, rest


@cache
def operations(service: str) -> dict[str, set[str]]:
    """Return the commands of a service of the AWS CLI, each with its options, from botocore's model.

    A boolean has a second option that begins with --no (https://docs.aws.amazon.com/cli/latest/userguide/cli-usage-parameters-types.html).
    """
    model = Session().get_service_model(AWS_NAMES.get(service, service))
    shapes = {name: model.operation_model(name).input_shape for name in model.operation_names}
    return {
        xform_name(name, "-"): {
            f"--{no}{xform_name(member, '-')}"
            for member, given in (shape.members.items() if shape else ())
            for no in (("", "no-") if given.type_name == "boolean" else ("",))
        }
        for name, shape in shapes.items()
    }


def aws_commands(page: Path) -> Iterator[re.Match[str]]:
    """Yield each command of the AWS CLI on a page; a shell function `ec2` stands for `aws ec2`."""
    for line in [*lines(page), *(f"aws {rest}" for rest in mentioned(page, "aws"))]:
        parts = re.sub(r"^ec2 (?=[a-z])", "aws ec2 ", line).split("$(")
        yield from (found for part in parts for found in AWS.finditer(part))


@pytest.mark.parametrize("page", PAGES, ids=by_page)
def test_the_aws_cli_has_every_command(page: Path) -> None:
    """Every command of the AWS CLI exists, with its options."""
    for found in aws_commands(page):
        if f"{found['service']} {found['command']}" in AWS_CUSTOM:
            continue
        known = operations(found["service"])
        assert found["command"] in known, found[0]
        assert set(re.findall(r"(?<= )--[a-z-]+", found["rest"])) <= known[found["command"]] | AWS_GLOBAL, found[0]


@pytest.mark.parametrize("page", PAGES, ids=by_page)
def test_commands_about_stack_sets_say_who_calls(page: Path) -> None:
    """A delegated administrator finds no StackSet without --call-as.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-orgs-delegated-admin.html
    """
    for found in aws_commands(page):
        if "-stack-set" in found["command"] or "-stack-instances" in found["command"]:
            assert "--call-as " in found["rest"] or "--stack-set-name" not in found["rest"], found[0]


@pytest.mark.parametrize("page", PAGES, ids=by_page)
def test_make_and_python_find_what_they_run(page: Path) -> None:
    """Every make target and every Python module that a page runs exists."""
    code = "\n".join([*lines(page), *(f"make {rest}" for rest in mentioned(page, "make"))])
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", code)) <= targets
    assert all(find_spec(module) for module in re.findall(r"\bpython -m ([\w.]+)", code))


def test_the_commands_are_found() -> None:
    """The tests above see every command of express-path, the calls of a dump, and how to set up and check the project."""
    shown = {page: lines(page) for page in PAGES}
    runs = "\n".join(line for page in shown if page not in generated.PAGES for line in shown[page])
    own = {name for name in SUBCOMMANDS.all() if f"express-path {name}" in runs}
    assert own >= {*SUBCOMMANDS.all()} - {"schema", *MEASUREMENTS}
    calls = [found["command"] for page in PAGES for found in aws_commands(page)]
    assert {"describe-subnets", "search-transit-gateway-routes", "start-automation-execution"} <= set(calls)
    assert {"make setup", "make test", "make demo"} <= {line for page in shown.values() for line in page}
