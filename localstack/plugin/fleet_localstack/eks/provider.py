"""All EKS operations in the form that LocalStack dispatches to."""

from __future__ import annotations

import copy

from localstack.aws.api import RequestContext

from ..operations import Parameters, Proceed, Reply, around
from .access_entries import AccessEntryOperations
from .addons import AddonOperations
from .catalogue import CatalogueOperations
from .cluster_config import ClusterConfigOperations
from .clusters import ClusterOperations
from .nodegroups import NodegroupOperations
from .pod_identity import PodIdentityOperations
from .tags import TagOperations
from .updates import UpdateOperations


class EksProvider(
    ClusterOperations,
    ClusterConfigOperations,
    UpdateOperations,
    NodegroupOperations,
    AddonOperations,
    AccessEntryOperations,
    PodIdentityOperations,
    TagOperations,
    CatalogueOperations,
):
    service = "eks"
    version = "2017-11-01"


@around("eks")
def detached(_context: RequestContext, _request: Parameters, proceed: Proceed) -> Reply:
    """Replies are written when the lock is free again, so they must not change any more."""
    return copy.deepcopy(proceed())
