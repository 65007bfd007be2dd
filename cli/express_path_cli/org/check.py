"""Check each account and Region before a roll-out: the recorder, the names, the artifact, and the network account's role."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, unique
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from express_path.adapters.aws import Aws, Expecting, calling, pages
from express_path.adapters.recorder import read_recorder, read_recorder_status
from express_path.adapters.roll_out import STACK_SETS, Member, Place
from express_path.adapters.runbooks import runbooks_of
from express_path.domain.policies.keys import NOTHING_KNOWN
from express_path.domain.verdict.parameters import RULE_NAME
from express_path.errors import ApiError, ExpressPathError
from express_path_cli.automation.stack_sets import read_deployed
from express_path_cli.aws.judging import JudgedPolicies, judge
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.organization import (
    members_of,
    read_organization,
)
from express_path_cli.aws.policies import organization_policies
from express_path_cli.aws.sessions import AccountRegion, enabled_regions, offers_s3_express
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.aws.trust import Document, Principal, trusts
from express_path_cli.installation.checks import (
    CheckState,
    check_frequency,
    check_last_recording,
    check_recording,
    check_types,
)
from express_path_cli.installation.recorder import read_bucket
from express_path_cli.org.exclusions import ignored_text, notes, read_exclusions, with_rule
from express_path_cli.org.reaching import alarm_problems, policy_problems, topic_in, topic_problems
from express_path_cli.sources.live import Home, clients_of, find_home
from express_path_cli.terminal.errors import UNDETERMINED, Failure, OptionError, locating_errors, one_line
from express_path_cli.terminal.progress import Watch

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient


class Effect(Enum):
    """What a problem does to the stack instance of an account and Region, worst first, with its meaning in a sentence."""

    FAILS = "the deployment fails"
    BREAKS = "the deployment succeeds, but the rule does not work"
    LIMITS = "the rule works with limits"


@unique
class CheckReason(Enum):
    """The reasons that `org check` reports, in the order in which they are shown: the effect, and what to do."""

    REGION_DISABLED = Effect.FAILS, "enable the Region in the account, or leave it out of the StackSet"
    RECORDER_MISSING = (
        Effect.FAILS,
        "set up AWS Config in this account and Region, or leave them out of the StackSet",
    )
    RECORDER_INTERNAL = (
        Effect.FAILS,
        "set up a customer managed recorder: a recorder that another AWS service owns does not invoke rules",
    )
    BUCKET_MISSING = (
        Effect.FAILS,
        "deploy the template of the artifact buckets to this Region, and upload the function",
    )
    BUCKET_UNREADABLE = (
        Effect.FAILS,
        "upload the function's code, and allow the organization (aws:PrincipalOrgID) to read it in the bucket's policy",
    )
    NAME_TAKEN = Effect.FAILS, "delete the stack that uses the name, or import it into the StackSet"
    RULE_QUOTA = Effect.FAILS, "delete rules that are no longer used"
    RECORDER_STOPPED = Effect.BREAKS, "start the recorder"
    RECORDER_FAILING = Effect.BREAKS, "allow the recorder's role what was denied"
    RECORDER_TYPES = Effect.BREAKS, "record these types: AWS Config, Settings"
    NETWORK_ROLE_UNTRUSTED = (
        Effect.BREAKS,
        (
            "deploy the template of the network account's role again: it trusts the organization's roles with the path "
            "/express-path/"
        ),
    )
    TOPIC_SILENT = Effect.LIMITS, "repair the topic, its policy, or its subscriptions: nobody learns of a fault"
    ALARM_ELSEWHERE = Effect.LIMITS, "deploy the stack again: its alarms do not send to the topic of the roll-out"
    ENDPOINT_CLOSED = (
        Effect.LIMITS,
        "change the policy, so that it allows s3express:CreateSession to whoever uses S3 Express",
    )
    RECORDER_DAILY = (
        Effect.LIMITS,
        "AWS Config, Settings: override the frequency of these types with continuous recording",
    )
    EXCLUDED_HAS_RULE = (
        Effect.LIMITS,
        (
            "delete its instances, that of the integrations before that of the rule, and keep the account in an organizational "
            "unit to which you do not deploy"
        ),
    )
    SERVICE_NOT_OFFERED = (
        Effect.LIMITS,
        "leave the Region out of the StackSet: every subnet is NOT_APPLICABLE there",
    )

    def __init__(self, effect: Effect, fix: str) -> None:
        """Give the value's parts their names."""
        self.effect = effect
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in one account and Region: the reason, and a finding that names the resource."""

    reason: CheckReason
    finding: str


class PlaceState(StrEnum):
    """Whether a stack instance can be deployed to an account and Region, worst first."""

    BLOCKED = "BLOCKED"
    UNKNOWN = "UNKNOWN"
    LIMITED = "LIMITED"
    READY = "READY"


@dataclass(frozen=True, slots=True)
class PlaceCheck:
    """What was found in one account (12 digits, and its name) and Region, and what could not be read there."""

    account_id: str
    name: str
    region: str
    problems: Sequence[Problem] = ()
    failures: Sequence[Failure] = ()

    @property
    def state(self) -> PlaceState:
        """Whether a stack instance can be deployed."""
        if any(problem.reason.effect is not Effect.LIMITS for problem in self.problems):
            return PlaceState.BLOCKED
        if self.failures:
            return PlaceState.UNKNOWN
        return PlaceState.LIMITED if self.problems else PlaceState.READY


@dataclass(frozen=True, slots=True)
class OrgCheck:
    """All checked accounts and Regions, sorted; what could not be read; and what was not checked, as notes.

    management_account: the management account if it was selected, because StackSets do not deploy to it; else None.
    policies: the organization's own, judged. They matter for heals, so they do not block a roll-out in report mode.
    """

    checks: Sequence[PlaceCheck]
    failures: Sequence[Failure]
    notes: Sequence[str]
    management_account: Member | None
    policies: JudgedPolicies

    @property
    def exit_status(self) -> int:
        """Return 2 if something could not be read, 1 if a problem blocks the roll-out, else 0."""
        if self.failures:
            return UNDETERMINED
        return int(any(check.state is PlaceState.BLOCKED for check in self.checks))


_ABSENT = frozenset({"404", "NoSuchBucket", "NoSuchKey"})
_DENIED = frozenset({"403", "AccessDenied"})
_ELSEWHERE = frozenset({"301", "PermanentRedirect"})
"""Error codes of S3. The answers of HEAD requests have no body, so botocore uses the HTTP status as the code."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """The code of the functions: the prefix of the buckets' names, and its key, empty if only buckets are checked.

    owner: the account of the buckets. Others can take a bucket's name in a Region.
    """

    bucket_prefix: str
    key: str
    owner: str

    def problems(self, place: AccountRegion) -> Iterator[Problem]:
        """Yield why the account cannot read the code. Raise ApiError if that cannot be determined.

        Lambda reads code only from a bucket of the function's own Region.
        https://docs.aws.amazon.com/lambda/latest/api/API_FunctionCode.html
        """
        bucket = f"{self.bucket_prefix}-{place.region}"
        found_in = _region_of(place, bucket)
        if found_in is None:
            yield Problem(CheckReason.BUCKET_MISSING, f"the artifact bucket {bucket} does not exist")
        elif found_in != place.region:
            yield Problem(CheckReason.BUCKET_MISSING, f"the artifact bucket {bucket} is in {found_in}")
        elif self.key:
            yield from self._unreadable(place, bucket)

    def _unreadable(self, place: AccountRegion, bucket: str) -> Iterator[Problem]:
        """Yield why the object cannot be read.

        Who may not list the bucket cannot tell a missing object from one that is denied
        (https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html).
        """
        try:
            with calling("s3:HeadObject"):
                place.aws.s3.head_object(Bucket=bucket, Key=self.key, ExpectedBucketOwner=self.owner)
        except ApiError as error:
            if error.code in _ABSENT:
                yield Problem(CheckReason.BUCKET_MISSING, f"the artifact bucket {bucket} has no object {self.key}")
            elif error.code in _DENIED:
                yield Problem(
                    CheckReason.BUCKET_UNREADABLE,
                    f"the account cannot read {self.key} in the artifact bucket {bucket}, it is not there, or the bucket is "
                    f"not one of account {self.owner} (--artifact-account)",
                )
            else:
                raise


def _region_of(place: AccountRegion, bucket: str) -> str | None:
    """Read the Region of a bucket; None if it does not exist. Raise ApiError.

    The answer names the Region also if the bucket may not be listed, which is usual: the artifact buckets' policy only
    allows the organization to read objects (https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadBucket.html).
    """
    with calling("s3:HeadBucket"):
        try:
            headers = place.aws.s3.head_bucket(Bucket=bucket)["ResponseMetadata"]["HTTPHeaders"]
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _ABSENT:
                return None
            if code not in _DENIED | _ELSEWHERE:
                raise
            headers = error.response["ResponseMetadata"]["HTTPHeaders"]
    return str(headers.get("x-amz-bucket-region", place.region))


MAX_RULES = 1000
"""The rules of one account and Region (https://docs.aws.amazon.com/config/latest/developerguide/configlimits.html)."""


def name_problems(place: AccountRegion) -> Iterator[Problem]:
    """Yield each name that something else than the StackSets uses, and the quota of rules. Raise ApiError.

    A conformance pack or an organization rule has another name, so it does not collide.
    """
    found = pages(place.aws.config, "config", "describe_config_rules", "ConfigRules")
    rules = [str(row["ConfigRuleName"]) for row in found]
    if RULE_NAME in rules:
        yield from _taken(place, "rule", RULE_NAME)
    elif len(rules) >= MAX_RULES:
        yield Problem(
            CheckReason.RULE_QUOTA,
            f"the account has {len(rules)} rules in this Region, and AWS Config allows {MAX_RULES}",
        )
    # The filter selects names that begin with a value:
    # https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_DocumentKeyValuesFilter.html
    runbooks = runbooks_of(RULE_NAME)
    wanted = [{"Key": "Owner", "Values": ["Self"]}, {"Key": "Name", "Values": list(runbooks)}]
    documents = pages(place.aws.ssm, "ssm", "list_documents", "DocumentIdentifiers", Filters=wanted)
    for document in sorted({str(row["Name"]) for row in documents} & set(runbooks)):
        yield from _taken(place, "SSM document", document)


def _taken(place: AccountRegion, kind: str, name: str) -> Iterator[Problem]:
    owner = _stack_of(place, name)
    if not owner.startswith(f"StackSet-{STACK_SETS}"):
        by = f"stack {owner}" if owner else "something that no CloudFormation stack created"
        yield Problem(CheckReason.NAME_TAKEN, f"the name of the {kind} {name} is used by {by}")


def _stack_of(place: AccountRegion, physical_id: str) -> str:
    """Read the name of the stack that created a resource; empty if no stack did. Raise ApiError.

    The stacks of StackSets are named StackSet-<name of the StackSet>-<UUID>.
    """
    cloudformation = place.aws.client("cloudformation")
    with Expecting("ValidationError"), calling("cloudformation:DescribeStackResources"):  # Stack for ... does not exist
        found = cloudformation.describe_stack_resources(PhysicalResourceId=physical_id)
        return next((str(row["StackName"]) for row in found["StackResources"]), "")
    return ""


_INTERNAL = "INTERNAL"
"""The scope of recorders whose items rules do not get, unlike PAID.

https://docs.aws.amazon.com/config/latest/APIReference/API_ConfigurationRecorder.html
"""


def recorder_problems(place: AccountRegion) -> Iterator[Problem]:
    """Yield what is wrong with the recorder. Raise ApiError, RecordError."""
    config = place.aws.config
    recorder, status = read_recorder(config), read_recorder_status(config)
    if recorder is None or status is None:
        yield _no_recorder(config)
        return
    stopped = check_recording(status)
    if stopped.state is not CheckState.OK and not read_bucket(config):
        stopped = replace(stopped, finding=f"{stopped.finding}; it cannot start, because there is no delivery channel")
    for reason, answer in (
        (CheckReason.RECORDER_STOPPED, stopped),
        (CheckReason.RECORDER_FAILING, check_last_recording(status) if status.recording else None),
        (CheckReason.RECORDER_TYPES, check_types(recorder)),
        (CheckReason.RECORDER_DAILY, check_frequency(recorder)),
    ):
        if answer and answer.state is not CheckState.OK:
            yield Problem(reason, answer.finding)


def _no_recorder(config: "ConfigServiceClient") -> Problem:
    """Return the problem of a Region without a customer managed recorder, which may have one of another AWS service.

    Without a customer managed one, PutConfigRule fails with NoAvailableConfigurationRecorderException (botocore model).
    Only this list contains the recorders of other AWS services.
    """
    recorders = pages(config, "config", "list_configuration_recorders", "ConfigurationRecorderSummaries")
    internal = [str(row["name"]) for row in recorders if row.get("recordingScope") == _INTERNAL]
    if internal:
        return Problem(
            CheckReason.RECORDER_INTERNAL,
            f"the only recorder is {', '.join(internal)}, which another AWS service owns: AWS Config has no recorder "
            "for rules",
        )
    return Problem(CheckReason.RECORDER_MISSING, "AWS Config has no recorder: rules cannot be deployed or invoked")


ROLE_PATH = "/express-path/"
"""The path of the roles that the stacks create. Their names are generated."""


@dataclass(frozen=True, slots=True)
class NetworkRole:
    """The role in the network account: its ARN, and the external ID that the rule passes, empty for none."""

    arn: str
    external_id: str

    @property
    def account_id(self) -> str:
        """The network account (12 digits)."""
        return self.arn.split(":")[4]

    @property
    def name(self) -> str:
        """The role's name, without its path."""
        return self.arn.rpartition("/")[2]


def read_trust_policy(role: NetworkRole, aws: Aws) -> Document | None:
    """Read the trust policy of the role with clients of the network account; None without the role. Raise ApiError."""
    with Expecting("NoSuchEntity"), calling("iam:GetRole"):
        # botocore decodes the document
        policy: Document = aws.client("iam").get_role(RoleName=role.name)["Role"]["AssumeRolePolicyDocument"]
        return policy
    return None


def trust_problems(role: NetworkRole, policy: Document | None, organization_id: str, account_id: str) -> list[Problem]:
    """Return the problem of an account whose roles are not trusted. Raise OptionError if that is unknown."""
    if policy is None:
        return [Problem(CheckReason.NETWORK_ROLE_UNTRUSTED, f"the network role {role.arn} does not exist")]
    partition = role.arn.split(":")[1]
    example = f"arn:{partition}:iam::{account_id}:role{ROLE_PATH}express-path-EvaluateRole-EXAMPLE"
    is_trusted = trusts(policy, Principal(account_id, organization_id, example, role.external_id))
    if is_trusted is None:
        raise OptionError(
            f"the trust policy of {role.arn} contains conditions that are not evaluated here",
            f"check that it trusts {example}",
        )
    if is_trusted:
        return []
    passing = "with" if role.external_id else "without"
    text = (
        f"the network role {role.arn} does not trust the roles of account {account_id} with the path {ROLE_PATH}, "
        f"{passing} an external ID"
    )
    return [Problem(CheckReason.NETWORK_ROLE_UNTRUSTED, text)]


@dataclass(frozen=True, slots=True)
class Reaching:
    """What every stack gets: the alarm topic, with {region} and {account}, and the parameter with the policy of endpoints.

    Either may be empty.
    """

    alarm_topic: str = ""
    policy_parameter: str = ""

    def problems(self, place: AccountRegion) -> Iterator[Problem]:
        """Yield why nobody would learn of a fault, and which endpoints let nothing through. Raise ApiError."""
        for text in policy_problems(place, self.policy_parameter):
            yield Problem(CheckReason.ENDPOINT_CLOSED, text)
        if not self.alarm_topic:
            return
        topic = topic_in(place, self.alarm_topic)
        for text in topic_problems(place, topic):
            yield Problem(CheckReason.TOPIC_SILENT, text)
        for text in alarm_problems(place, topic):
            yield Problem(CheckReason.ALARM_ELSEWHERE, text)


def check_organization(
    live: LiveOptions, artifact: Artifact | None, network_role: NetworkRole | None, reaching: Reaching, watch: Watch
) -> OrgCheck:
    """Check every selected account and Region; what fails is kept with the rest. None is not checked.

    Raise OptionError, and ApiError if the organization cannot be read.
    """
    live.check()
    home = find_home(live)
    with locating_errors(home.account_region):
        organizations = home.aws.client("organizations")
        organization, members = read_organization(organizations), members_of(organizations, live.ou_ids)
        policies = judge(organization_policies(organizations), NOTHING_KNOWN)
    management = [member for member in members if member.id == organization.management_account_id]
    targets = [member for member in members if member not in management]
    if not targets:
        raise OptionError("no active account was found to which StackSets deploy", "select other units with --ou")
    if artifact:
        artifact = replace(artifact, owner=artifact.owner or home.caller.account_id)
    with TaskPool(live.workers, watch) as task_pool:
        deployed = read_deployed(home, task_pool)
        exclusions = read_exclusions(home, deployed, task_pool)
        excluded = with_rule(deployed, exclusions)
        run = _Checking(live, home, task_pool, artifact, network_role, reaching, organization.id, excluded)
        checks = sorted(run.checks(targets), key=lambda check: (check.account_id, check.region))
    failures = [*task_pool.failures, *(failure for check in checks for failure in check.failures)]
    return OrgCheck(
        checks,
        sorted(failures, key=lambda failure: failure.where),
        [
            *notes(exclusions),
            *_not_checked(artifact, network_role, reaching),
            *(f"{failure.where}: {one_line(failure.error)}" for failure in policies.failures),
        ],
        next(iter(management), None),
        policies,
    )


def _not_checked(artifact: Artifact | None, network_role: NetworkRole | None, reaching: Reaching) -> Iterator[str]:
    """Yield what is not checked, and the option that checks it."""
    if artifact is None:
        yield "artifact buckets were not checked: select them with --artifact-bucket-prefix"
    elif not artifact.key:
        yield "the function's code in the artifact buckets was not checked: select it with --artifact-key"
    if network_role is None:
        yield "the network account's role was not checked: select it with --network-role-arn"
    if not reaching.alarm_topic:
        yield "alarms and their topic were not checked: select it with --alarm-topic-arn"


@dataclass(frozen=True, slots=True)
class _Checking:
    """One run of a check, whose calls share a pool of threads."""

    live: LiveOptions
    home: Home
    task_pool: TaskPool
    artifact: Artifact | None
    network_role: NetworkRole | None
    reaching: Reaching
    organization_id: str
    excluded: Mapping[Place, str]

    def checks(self, members: Sequence[Member]) -> Iterator[PlaceCheck]:
        """Yield the check of each account and Region. What cannot be read is added to the failures of the pool."""
        clients = self.task_pool.run(members, partial(clients_of, self.live, self.home))
        accounts = [AccountRegion(member.id, aws, member.name) for member, aws in clients]
        readable: list[AccountRegion] = []
        places: list[AccountRegion] = []
        for account, enabled in self.task_pool.run(accounts, lambda account: enabled_regions(account.aws)):
            readable.append(account)
            for region in enabled if self.live.all_regions else self.live.regions or [self.home.aws.region]:
                if region in enabled:
                    places.append(account.in_region(region))
                else:
                    problem = Problem(CheckReason.REGION_DISABLED, f"{region} is disabled in the account")
                    yield PlaceCheck(account.account_id, account.name, region, [problem])
        not_offered = self._not_offered(places)
        untrusted = self._untrusted(readable)
        if self.live.all_regions:
            places = [place for place in places if place.region not in not_offered]
        for place, found in self.task_pool.run(places, self._ask):
            problems = [problem for problem in found if isinstance(problem, Problem)]
            problems += not_offered.get(place.region, []) + untrusted.get(place.account_id, [])
            if stack_set := self.excluded.get(Place(place.account_id, place.region)):
                problems.append(Problem(CheckReason.EXCLUDED_HAS_RULE, ignored_text(stack_set)))
            errors = [error for error in found if isinstance(error, ExpressPathError)]
            yield PlaceCheck(
                place.account_id,
                place.name,
                place.region,
                sorted(problems, key=lambda problem: list(CheckReason).index(problem.reason)),
                [Failure(str(place), error) for error in errors],
            )

    def _ask(self, place: AccountRegion) -> list[Problem | ExpressPathError]:
        """Ask all questions about a place with new clients: those of hundreds of places would take gigabytes."""
        return list(self._answers(replace(place, aws=replace(place.aws))))

    def _answers(self, place: AccountRegion) -> Iterator[Problem | ExpressPathError]:
        """Yield the problems of an account and Region, and the error of each question that could not be answered."""
        artifact = self.artifact.problems if self.artifact else None
        for question in (recorder_problems, name_problems, artifact, self.reaching.problems):
            try:
                yield from question(place) if question else ()
            except ExpressPathError as error:
                yield error

    def _not_offered(self, places: Iterable[AccountRegion]) -> Mapping[str, list[Problem]]:
        """Return the problem of each Region that does not offer S3 Express, which is the same for every account."""
        first: dict[str, AccountRegion] = {}
        for place in places:
            first.setdefault(place.region, place)
        answers = self.task_pool.run(list(first.values()), lambda place: offers_s3_express(place.aws))
        return {
            place.region: [Problem(CheckReason.SERVICE_NOT_OFFERED, f"{place.region} does not offer S3 Express")]
            for place, is_offered in answers
            if not is_offered
        }

    def _untrusted(self, accounts: Sequence[AccountRegion]) -> Mapping[str, list[Problem]]:
        """Return the problem of each account whose roles the network role does not trust."""
        role = self.network_role
        if role is None:
            return {}
        problems: dict[str, list[Problem]] = {}
        try:
            known = [account.aws for account in accounts if account.account_id == role.account_id]
            aws = known[0] if known else clients_of(self.live, self.home, Member(role.account_id, ""))
            policy = read_trust_policy(role, aws)
            for account in accounts:
                problems[account.account_id] = trust_problems(role, policy, self.organization_id, account.account_id)
        except ExpressPathError as error:
            self.task_pool.failures.append(Failure(f"network role {role.arn}", error))
        return problems
