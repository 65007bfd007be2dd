"""The options that select live accounts and Regions."""

import re
from dataclasses import dataclass

from express_path_cli.terminal.errors import OptionError

_ROLE_NAME = re.compile(r"(?!arn:)([!-.0-~]+/)*[\w+=,.@-]{1,64}", re.ASCII)
"""An optional path and a name (https://docs.aws.amazon.com/IAM/latest/APIReference/API_Role.html)."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """Which accounts and Regions to read, and how many in parallel. The default Region is that of the AWS settings."""

    regions: tuple[str, ...] = ()
    all_regions: bool = False
    profile: str | None = None
    organization: bool = False
    role_name: str | None = None
    external_id: str = ""
    workers: int = 8

    def given(self) -> list[str]:
        """Return the names of the given options that need live accounts."""
        options = {
            "--all-regions": self.all_regions,
            "--profile": self.profile,
            "--organization": self.organization,
            "--role-name": self.role_name,
            "--external-id": self.external_id,
        }
        return [name for name, value in options.items() if value]

    def options(self) -> list[str]:
        """Return the options on the command line that select these accounts and Regions."""
        given = [("--region", region) for region in self.regions]
        given += [("--profile", self.profile or ""), ("--role-name", self.role_name or "")]
        given += [("--external-id", self.external_id)]
        flags = {"--all-regions": self.all_regions, "--organization": self.organization}
        words = [word for option in given if option[1] for word in option]
        return [*(flag for flag, is_given in flags.items() if is_given), *words]

    def check(self) -> None:
        """Raise OptionError if the options cannot be used together."""
        if self.regions and self.all_regions:
            raise OptionError("--region and --all-regions cannot be used together", "leave one of them out")
        if self.organization and not self.role_name:
            raise OptionError("--organization needs a role to read each account with", "add --role-name NAME")
        if self.role_name and not self.organization:
            raise OptionError(
                "--role-name needs --organization", "add --organization, or use a --profile that assumes the role"
            )
        if self.role_name and not _ROLE_NAME.fullmatch(self.role_name):
            raise OptionError(
                f"--role-name {self.role_name}: not a valid role name",
                "give the name that the role has in every account, with its path if it has one, such as Audit or "
                "audit/Reader, not an ARN",
            )
