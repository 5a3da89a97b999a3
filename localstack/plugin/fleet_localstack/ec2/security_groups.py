"""Security groups: not deleted while an interface or a rule of another group needs them."""

from __future__ import annotations

from localstack.aws.api import RequestContext

from ..errors import refuse
from ..operations import Parameters, Proceed, Reply, around
from .engine import Engine, engine_of, forget_tags


@around("ec2", "DeleteSecurityGroup")
def delete(context: RequestContext, request: Parameters, proceed: Proceed) -> Reply:
    backend = engine_of(context)
    group = backend.get_security_group_from_id(request.get("GroupId"))
    if group is None:
        return proceed()
    if group.name == "default":
        refuse("CannotDelete", f'the specified group: "{group.id}" name: "default" cannot be deleted by a user')
    if _is_needed(backend, group.id):
        refuse("DependencyViolation", f"resource {group.id} has a dependent object")
    reply = proceed()
    forget_tags(backend, group.id)
    return reply


def _is_needed(backend: Engine, group_id: str) -> bool:
    if any(group_id in [group.id for group in interface._group_set] for interface in list(backend.enis.values())):
        return True
    others = [group for of_vpc in backend.groups.values() for group in of_vpc.values() if group.id != group_id]
    rules = [rule for group in others for rule in [*group.ingress_rules, *group.egress_rules]]
    return any(rule.source_group.get("GroupId") == group_id for rule in rules)
