"""The context options of a recipe and of a site reach the pages, and bad ones are refused before work starts."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from components.browser import BrowserPool, EnvInitError
from components.params import BrowserParams, ContextParams
from tests.loopback import Handler, Loopback

from .conftest import PARAMS, task
from .test_isolation import OurSite

SHOW = """({language: navigator.language, zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  agent: navigator.userAgent, dark: matchMedia('(prefers-color-scheme: dark)').matches,
  stored: localStorage.seen ?? null, cookie: document.cookie})"""
PLACE = """new Promise((resolve) => {
  navigator.geolocation.getCurrentPosition(({coords}) => resolve(coords.latitude), () => resolve(null));
})"""


def visit(context: ContextParams, url: str, *expressions: str, site=None):
    """What expressions give on a page that is opened with these options."""

    async def episode():
        params = PARAMS.model_copy(update={"context": context})
        async with BrowserPool(params, site=site) as pool, pool.session() as session:
            await session.start(task(url))
            return [await session.page.evaluate(expression) for expression in expressions]

    return asyncio.run(episode())


def test_the_options_of_a_recipe_reach_the_pages(pages, tmp_path):
    state = tmp_path / "state.json"
    cookie = {"name": "user", "value": "ada", "domain": "127.0.0.1", "path": "/", "expires": -1,
              "httpOnly": False, "secure": False, "sameSite": "Lax"}  # fmt: skip
    storage = [{"origin": pages.origin, "localStorage": [{"name": "seen", "value": "yes"}]}]
    state.write_text(json.dumps({"cookies": [cookie], "origins": storage}))
    context = ContextParams.model_validate(
        {
            "locale": "de-DE",
            "timezone": "Asia/Tokyo",
            "color_scheme": "dark",
            "user_agent": "Waymark/1",
            "geolocation": {"latitude": 48.5, "longitude": 2.25},
            "storage_state": str(state),
        }
    )
    shown, latitude = visit(context, pages.add("/options", "hello"), SHOW, PLACE)
    assert shown == {
        "language": "de-DE", "zone": "Asia/Tokyo", "agent": "Waymark/1", "dark": True, "stored": "yes",
        "cookie": "user=ada",
    }  # fmt: skip
    assert latitude == 48.5


def test_the_defaults_show_an_american_english_browser_without_a_place(pages):
    shown, latitude = visit(ContextParams(), pages.add("/options", "hello"), SHOW, PLACE)
    assert (shown["language"], shown["dark"], shown["stored"], latitude) == ("en-US", False, None, None)


def test_a_site_has_options_of_its_own(pages):
    site = OurSite(pages.port)
    site.context = ContextParams(locale="fr-FR")
    pages.add("/options", "bonjour")
    (shown,) = visit(ContextParams(locale="de-DE"), "http://ours/options", SHOW, site=site)
    assert shown["language"] == "fr-FR"


class _Desk(Loopback):
    """A server that wants a name and a password."""

    def __init__(self) -> None:
        class Serving(Handler):
            def do_GET(self) -> None:
                known = "Basic " + base64.b64encode(b"ada:lace").decode()
                if self.headers.get("Authorization") == known:
                    self.send_body(b"<title>desk</title>welcome", "text/html")
                else:
                    self.send_body(b"no", "text/html", 401, {"WWW-Authenticate": 'Basic realm="desk"'})

        super().__init__(Serving)


def test_http_credentials_are_sent_with_the_password_of_the_environment(monkeypatch):
    desk = _Desk()
    monkeypatch.setenv("DESK_PASSWORD", "lace")
    context = ContextParams.model_validate({"http_credentials": {"username": "ada", "password_env": "DESK_PASSWORD"}})
    assert visit(context, desk.origin, "document.title") == ["desk"]
    desk.close()


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        ({"http_credentials": {"username": "ada", "password_env": "NO_SUCH_VARIABLE"}}, "variable NO_SUCH_VARIABLE"),
        ({"storage_state": "no/such.json"}, "no/such.json is not a file"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(context, reason):
    with pytest.raises(ValueError, match=reason):
        BrowserPool(BrowserParams.model_validate({"context": context}))


class _SecureDesk(Loopback):
    """A server that speaks HTTPS with a certificate that it has signed itself.

    Args:
        folder: where the certificate and its key are written.
    """

    def __init__(self, folder: Path) -> None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(_self_signed_certificate(folder))

        class Serving(Handler):
            def setup(self) -> None:
                self.request = tls.wrap_socket(self.request, server_side=True, do_handshake_on_connect=False)
                super().setup()

            def handle(self) -> None:
                with contextlib.suppress(OSError):  # a browser that refuses the certificate hangs up
                    super().handle()

            def finish(self) -> None:
                super().finish()
                self.request.close()

            def do_GET(self) -> None:
                self.send_body(b"<title>desk</title>welcome", "text/html")

        super().__init__(Serving)
        self.origin = f"https://{self.host}:{self.port}"


def _self_signed_certificate(folder: Path) -> Path:
    """A file with a certificate of 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now, address = datetime.now(UTC), x509.IPAddress(ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoded_key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "certificate.pem"
    path.write_bytes(encoded_key + certificate.public_bytes(serialization.Encoding.PEM))
    return path


def test_certificate_errors_are_ignored_only_if_the_recipe_says_so(tmp_path):
    desk = _SecureDesk(tmp_path)
    advice = r"set browser\.context\.ignore_https_errors to open pages whose certificate is not valid"
    with pytest.raises(EnvInitError, match=rf"in 2 attempts: .*net::ERR_CERT_AUTHORITY_INVALID.*; {advice}"):
        visit(ContextParams(), desk.origin, "document.title")
    assert visit(ContextParams(ignore_https_errors=True), desk.origin, "document.title") == ["desk"]
    desk.close()
