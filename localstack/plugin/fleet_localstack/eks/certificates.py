"""A certificate authority of its own for every cluster, and certificates of it for who plays a cluster's API server."""

from __future__ import annotations

import base64
import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

VALIDITY = datetime.timedelta(days=3650)

# Keys by the CA that DescribeCluster shows, for as long as the emulator runs.
_KEYS: dict[str, ec.EllipticCurvePrivateKey] = {}


def certificate_authority() -> str:
    """A new self-signed CA as DescribeCluster gives it: base64 of PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("kubernetes")
    builder = _builder(name, name, key).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    data = base64.b64encode(_pem(builder.sign(key, hashes.SHA256()))).decode()
    _KEYS[data] = key
    return data


def server_certificate(authority: str) -> dict[str, str]:
    """A certificate for 127.0.0.1 that this CA has signed, and its key: both PEM."""
    issuer = x509.load_pem_x509_certificate(base64.b64decode(authority)).subject
    key = ec.generate_private_key(ec.SECP256R1())
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    builder = _builder(_name("kube-apiserver"), issuer, key)
    builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {"certificate": _pem(builder.sign(_KEYS[authority], hashes.SHA256())).decode(), "key": private.decode()}


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + VALIDITY)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
