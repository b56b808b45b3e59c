"""Certificates of an authority of the test's own, for loopback."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificates(folder: Path) -> dict[str, str]:
    """An authority, and a certificate and key that it signed, by the names of Dask's options."""
    authority, node = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = _certificate("authority", authority, "authority", authority, is_authority=True)
    leaf = _certificate("node", node, "authority", authority, is_authority=False)
    files = {"tls-ca-file": root, "tls-cert": leaf}
    for name, certificate in files.items():
        (folder / name).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "tls-key").write_bytes(
        node.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return {name: str(folder / name) for name in (*files, "tls-key")}


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    signer: ec.EllipticCurvePrivateKey,
    *,
    is_authority: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
