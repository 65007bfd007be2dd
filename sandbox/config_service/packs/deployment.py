"""Putting a pack's rules and remediations in place, and taking them away again."""

import contextlib
from collections.abc import Mapping
from copy import copy
from typing import Any

from moto.config.exceptions import InvalidParameterValueException, NameTooLongException
from moto.config.models import ConfigBackend
from moto.core.exceptions import JsonRESTError

from sandbox.config_service import rules
from sandbox.config_service.packs.memory import Pack, stack_arn
from sandbox.config_service.packs.remedies import Remedies
from sandbox.config_service.packs.template import Resources
from sandbox.config_service.results import results_of

SERVICE = "config-conforms.amazonaws.com"
"""The service that owns the rules: https://docs.aws.amazon.com/aws-managed-policy/latest/reference/ConfigConformsServiceRolePolicy.html."""

MAXIMUM_NAME = 128
"""Characters of a rule's name (botocore model), the pack's suffix included."""


def deploy(backend: ConfigBackend, pack: Pack, new: Resources) -> None:
    """Make the rules and remediations of a pack those of its template, all of them or none.

    What fails is rolled back, as the stack behind the pack is: the state becomes CREATE_FAILED or UPDATE_FAILED, with
    the first error for its reason.
    https://docs.aws.amazon.com/config/latest/developerguide/troubleshooting-conformance-pack.html
    """
    action, old = pack.state.partition("_")[0], Resources(dict(pack.rules), dict(pack.remediations))
    saved = {name: copy(backend.config_rules[name]) for name in pack.rule_names}
    try:
        _change(backend, pack, new)
    except JsonRESTError as error:
        _roll_back(backend, pack, old)
        backend.config_rules.update(saved)
        pack.end(f"{action}_FAILED", f"{error.error_type}: {error.message}")
        return
    pack.stack_arn = pack.stack_arn or stack_arn(backend, pack)
    pack.end(f"{action}_COMPLETE")


def delete(backend: ConfigBackend, pack: Pack) -> None:
    """Delete the rules, evaluation results and remediations of a pack (botocore model, DeleteConformancePack)."""
    _change(backend, pack, Resources({}, {}))
    pack.deleted = True


def _change(backend: ConfigBackend, pack: Pack, new: Resources) -> None:
    """Put in place what is new or different in `new`, then take away what is not in it: the order of a stack's update.

    The pack knows what has succeeded so far. A remediation whose resource does not depend on its rule's fails here:
    nothing else makes it wait, since its rule's name must be written out, and CloudFormation creates in parallel.
    """
    for name, rule in new.rules.items():
        if pack.rules.get(name) != rule:
            _put_rule(backend, pack.rule_name(name), rule)
            pack.rules[name] = rule
    for name, remediation in new.remediations.items():
        if name in new.orphans:
            raise InvalidParameterValueException(f"{name} may not exist yet: its remediation lacks DependsOn.")
        if pack.remediations.get(name) != remediation:
            Remedies.put(backend, pack.rule_name(name), remediation)
            pack.remediations[name] = remediation
    _take_away(backend, pack, new)


def _take_away(backend: ConfigBackend, pack: Pack, kept: Resources) -> None:
    for name in [name for name in pack.remediations if name not in kept.remediations]:
        Remedies.forget(backend, pack.rule_name(name))
        del pack.remediations[name]
    for name in [name for name in pack.rules if name not in kept.rules]:
        _delete_rule(backend, pack.rule_name(name))
        del pack.rules[name]


def _roll_back(backend: ConfigBackend, pack: Pack, old: Resources) -> None:
    """Undo what has succeeded of a change. A former remediation that cannot be had any more stays as it is now."""
    _take_away(backend, pack, old)
    for name, remediation in old.remediations.items():
        if pack.remediations.get(name) != remediation:
            with contextlib.suppress(JsonRESTError):
                Remedies.put(backend, pack.rule_name(name), remediation)
                pack.remediations[name] = remediation
    pack.rules = dict(old.rules)


def _put_rule(backend: ConfigBackend, name: str, definition: Mapping[str, Any]) -> None:
    """Create or update a rule as AWS Config itself does, service-linked; the same is checked as in PutConfigRule."""
    if len(name) > MAXIMUM_NAME:
        raise NameTooLongException(name, "configRule.configRuleName", MAXIMUM_NAME)
    rules.check_new_rule(backend, {**definition, "ConfigRuleName": name})
    is_new = name not in backend.config_rules
    backend.put_config_rule({**definition, "ConfigRuleName": name})
    rule = backend.config_rules[name]
    rule.created_by = SERVICE
    if is_new:
        rule.config_rule_arn = rule.config_rule_arn.replace(
            ":config-rule/", f":config-rule/aws-service-rule/{SERVICE}/"
        )


def _delete_rule(backend: ConfigBackend, name: str) -> None:
    results = results_of(backend.account_id, backend.region_name)
    results.forget_rule(name)
    with contextlib.suppress(ValueError):
        results.requested.remove(name)
    backend.delete_config_rule(name)
