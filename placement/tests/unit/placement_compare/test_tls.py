"""``placement-compare`` verifies certificates, except with ``--insecure``."""

import shutil
import ssl
import subprocess
import threading
from http.server import HTTPServer, SimpleHTTPRequestHandler

import pytest

from placement_compare import command as compare


@pytest.fixture
def url(tmp_path):
    """An HTTPS server with a self-signed certificate, which has no document of Placement."""
    if shutil.which("openssl") is None:
        pytest.skip("NOT TESTED: openssl is missing")
    files = tmp_path / "server.crt", tmp_path / "server.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other"]
    subprocess.run(
        [*command, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("options", "is_verified"), [([], True), (["--insecure"], False)])
def test_certificates_are_verified_except_with_insecure(url, capsys, options, is_verified):
    assert (
        compare.main(["--old", url, "--new", url, "--token", "admin", *options]) == compare.FAILED
    )
    assert ("CERTIFICATE_VERIFY_FAILED" in capsys.readouterr().err) is is_verified
