"""EC2 as AWS behaves, on top of LocalStack's engine (moto): importing the modules registers their wrappers.

The order matters: what is registered later is asked first. Visibility is outermost, so that an object which is not
visible yet is missing for every other rule too.
"""

from . import addresses, internet_gateways, nat_gateways, network, route_tables, security_groups, tokens, visibility

__all__ = [
    "addresses",
    "internet_gateways",
    "nat_gateways",
    "network",
    "route_tables",
    "security_groups",
    "tokens",
    "visibility",
]
