//! Kubernetes' IP addresses.

use super::super::environment::Library;
use super::{Arguments, Outcome, bool_value, failed, int_value, text, text_value, typed};
use cel::ExecutionError;
use cel::common::value::CowVal;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

opaque_type!(
    /// An address.
    Ip(IpAddr),
    "net.IP"
);

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("ip(string) -> net.IP", ip)?;
    library.function("isIP(string) -> bool", is_ip)?;
    library.function("ip.isCanonical(string) -> bool", is_canonical)?;
    library.function("string(net.IP) -> string", write)?;
    library.method("net.IP.family() -> int", family)?;
    library.method("net.IP.isUnspecified() -> bool", |arguments| test(&arguments, IpAddr::is_unspecified))?;
    library.method("net.IP.isLoopback() -> bool", |arguments| test(&arguments, IpAddr::is_loopback))?;
    library.method("net.IP.isLinkLocalMulticast() -> bool", |arguments| test(&arguments, is_link_local_multicast))?;
    library.method("net.IP.isLinkLocalUnicast() -> bool", |arguments| test(&arguments, is_link_local_unicast))?;
    library.method("net.IP.isGlobalUnicast() -> bool", |arguments| test(&arguments, is_global_unicast))
}

/// Reads an address; one of IPv4 in the form of IPv6 is none.
pub(super) fn parse(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    is_plain(address).then_some(address)
}

/// Whether an address is not one of IPv4 in the form of IPv6.
pub(super) fn is_plain(address: IpAddr) -> bool {
    !matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

pub(super) fn parse_or_fail(text: &str, function: &str) -> Result<IpAddr, ExecutionError> {
    parse(text).ok_or_else(|| failed(function, "the text is no IP address"))
}

fn ip<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    parse_or_fail(text(&arguments, 0)?, "ip").map(|address| CowVal::owned(Ip(address)))
}

fn is_ip<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(parse(text(&arguments, 0)?).is_some()))
}

fn is_canonical<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let text = text(&arguments, 0)?;
    Ok(bool_value(parse_or_fail(text, "ip.isCanonical")?.to_string() == text))
}

fn write<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(text_value(typed::<Ip>(&arguments, 0, "net.IP")?.0.to_string()))
}

fn family<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(int_value(if typed::<Ip>(&arguments, 0, "net.IP")?.0.is_ipv4() { 4 } else { 6 }))
}

fn test<'b, 'v>(arguments: &[CowVal<'b, 'v>], condition: fn(&IpAddr) -> bool) -> Outcome<'b, 'v> {
    Ok(bool_value(condition(&typed::<Ip>(arguments, 0, "net.IP")?.0)))
}

fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => address.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    }
}

fn is_link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// As in Go: private addresses count.
fn is_global_unicast(address: &IpAddr) -> bool {
    let is_special = match address {
        IpAddr::V4(address) => *address == Ipv4Addr::UNSPECIFIED || *address == Ipv4Addr::BROADCAST,
        IpAddr::V6(address) => *address == Ipv6Addr::UNSPECIFIED,
    };
    !is_special && !address.is_loopback() && !address.is_multicast() && !is_link_local_unicast(address)
}
