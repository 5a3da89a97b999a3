//! Kubernetes' CIDR blocks.

use super::super::environment::Library;
use super::ip::{self, Ip};
use super::{Arguments, Outcome, bool_value, failed, int_value, text, text_value, typed};
use cel::ExecutionError;
use cel::common::value::CowVal;
use ipnet::IpNet;

opaque_type!(
    /// A block: an address, which may have bits behind the prefix, and the prefix's length.
    Cidr(IpNet),
    "net.CIDR"
);

pub(super) fn register(library: &mut Library) -> Result<(), String> {
    library.function("cidr(string) -> net.CIDR", cidr)?;
    library.function("isCIDR(string) -> bool", is_cidr)?;
    library.function("string(net.CIDR) -> string", write)?;
    library.method("net.CIDR.containsIP(string) -> bool", contains_ip_text)?;
    library.method("net.CIDR.containsIP(net.IP) -> bool", contains_ip)?;
    library.method("net.CIDR.containsCIDR(string) -> bool", contains_cidr_text)?;
    library.method("net.CIDR.containsCIDR(net.CIDR) -> bool", contains_cidr)?;
    library.method("net.CIDR.ip() -> net.IP", address)?;
    library.method("net.CIDR.masked() -> net.CIDR", masked)?;
    library.method("net.CIDR.prefixLength() -> int", prefix_length)
}

fn parse(text: &str) -> Option<IpNet> {
    let (address, length) = text.split_once('/')?;
    let is_plain_number = length.bytes().all(|byte| byte.is_ascii_digit()) && (length == "0" || !length.starts_with('0'));
    let address = ip::parse(address).filter(|_| is_plain_number)?;
    IpNet::new(address, length.parse().ok()?).ok()
}

fn parse_or_fail(text: &str, function: &str) -> Result<IpNet, ExecutionError> {
    parse(text).ok_or_else(|| failed(function, "the text is no CIDR block"))
}

fn receiver<'a>(arguments: &'a [CowVal<'_, '_>]) -> Result<&'a IpNet, ExecutionError> {
    typed::<Cidr>(arguments, 0, "net.CIDR").map(|block| &block.0)
}

fn cidr<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    parse_or_fail(text(&arguments, 0)?, "cidr").map(|block| CowVal::owned(Cidr(block)))
}

fn is_cidr<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(bool_value(parse(text(&arguments, 0)?).is_some()))
}

fn write<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(text_value(receiver(&arguments)?.to_string()))
}

fn contains_ip_text<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let address = ip::parse_or_fail(text(&arguments, 1)?, "containsIP")?;
    Ok(bool_value(receiver(&arguments)?.contains(&address)))
}

fn contains_ip<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let address = typed::<Ip>(&arguments, 1, "net.IP")?.0;
    Ok(bool_value(receiver(&arguments)?.contains(&address)))
}

fn contains_cidr_text<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let other = parse_or_fail(text(&arguments, 1)?, "containsCIDR")?;
    Ok(bool_value(receiver(&arguments)?.contains(&other)))
}

fn contains_cidr<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    let other = typed::<Cidr>(&arguments, 1, "net.CIDR")?.0;
    Ok(bool_value(receiver(&arguments)?.contains(&other)))
}

fn address<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(CowVal::owned(Ip(receiver(&arguments)?.addr())))
}

fn masked<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(CowVal::owned(Cidr(receiver(&arguments)?.trunc())))
}

fn prefix_length<'b, 'v>(arguments: Arguments<'b, 'v>) -> Outcome<'b, 'v> {
    Ok(int_value(receiver(&arguments)?.prefix_len().into()))
}
