"""Judge policies: which of their statements would deny requests that are possible on the NAT path."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from express_path.domain.heal.preflight import Policy
from express_path.domain.policies.denials import Denial, denials, restrictions
from express_path.domain.policies.documents import PolicyDocument, Statement, parse_policy
from express_path.domain.policies.keys import KnownContext
from express_path.errors import ExpressPathError, RecordError
from express_path_cli.terminal.errors import UNDETERMINED, Failure, OptionError


@dataclass(frozen=True, slots=True)
class JudgedPolicy:
    """A policy with the statements that would deny."""

    document: PolicyDocument
    denials: tuple[Denial, ...]


@dataclass(frozen=True, slots=True)
class JudgedPolicies:
    """All policies that could be judged, and those that could not."""

    policies: tuple[JudgedPolicy, ...]
    failures: tuple[Failure, ...]

    @property
    def denials(self) -> list[Denial]:
        """Every statement that would deny."""
        return [denial for policy in self.policies for denial in policy.denials]

    @property
    def exit_status(self) -> int:
        """Return 2 if a policy could not be judged, 1 if a statement would deny, else 0."""
        return UNDETERMINED if self.failures else int(bool(self.denials))

    def rows(self) -> list[dict[str, object]]:
        """Return each statement with its outcome, for JSON."""
        return [
            _row(
                policy.document.source, statement, {id(row.statement): row for row in policy.denials}.get(id(statement))
            )
            for policy in self.policies
            for statement in policy.document.statements
        ]


def judge(policies: Iterable[Policy], known: KnownContext) -> JudgedPolicies:
    """Judge policies. One that cannot be read or judged is a failure, and the others are still judged.

    An endpoint's policy applies on the endpoint path only.
    """
    judged, failures = [], []
    for policy in policies:
        try:
            if policy.fault:
                raise OptionError(policy.fault, "")
            document = parse_policy(policy.holder, policy.document)
            if policy.endpoint_id is None:
                restricting = denials(document, known)
            else:
                restricting = restrictions(
                    document, replace(known, endpoint_id=policy.endpoint_id or known.endpoint_id)
                )
            judged.append(JudgedPolicy(document, tuple(restricting)))
        except RecordError as error:
            failures.append(Failure(policy.holder, OptionError(str(error), "")))
        except ExpressPathError as error:
            failures.append(Failure(policy.holder, error))
    return JudgedPolicies(tuple(judged), tuple(failures))


def _row(source: str, statement: Statement, denial: Denial | None) -> dict[str, object]:
    return {
        "source": source,
        "statement": statement.name,
        "outcome": "WOULD_DENY" if denial else "UNCHANGED",
        "condition": denial.condition_text if denial else None,
        "fix": denial.fix if denial else None,
    }


def denial_line(denial: Denial) -> str:
    """Return what would deny, under which condition, and how to allow both paths, in one line."""
    return f"{denial.source} {denial.statement.name}: would deny ({denial.condition_text}). To allow both paths, {denial.fix}"
