"""An OIDC issuer: discovery, keys, and tokens of every kind that an attacker would try."""

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

Json = dict[str, Any]


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Issuer:
    """Publishes its keys on loopback; `named` is what its document says of itself."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.second = ec.generate_private_key(ec.SECP256R1())
        self.kids = {"one": self.key}
        self.reads = 0
        self.person: str | None = "jo"
        self.codes: dict[str, dict[str, str]] = {}
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.reads += 1
                if self.path.startswith("/authorize?"):
                    self.send_response(302)
                    self.send_header("Location", issuer.authorized(self.path))
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                body = json.dumps(issuer.document(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, made = issuer.posted(self.path, text)
                body = json.dumps(made).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def document(self, path: str) -> Json:
        if path.startswith("/.well-known"):
            return {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "registration_endpoint": f"{self.url}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        return {"keys": [self._published(kid, key) for kid, key in self.kids.items()]}

    @staticmethod
    def _published(kid: str, key: Any) -> Json:
        kind = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else None
        if kind is not None:
            return {**json.loads(kind.to_jwk(key.public_key())), "kid": kid, "use": "sig"}
        made = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())
        return {**json.loads(made), "kid": kid, "use": "sig"}

    # ---- a person's sign-in: whoever opens the page is `person` and says yes

    def authorized(self, path: str) -> str:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        back = {"state": asked["state"]}
        if self.person is None:
            back["error"] = "access_denied"
        else:
            back["code"] = secrets.token_urlsafe(16)
            self.codes[back["code"]] = asked
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def posted(self, path: str, text: str) -> tuple[int, Json]:
        if path == "/register":
            return 201, {**json.loads(text), "client_id": "registered"}
        form = {name: values[0] for name, values in parse_qs(text).items()}
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if asked is None or b64(digest) != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        token = self.token(asked["resource"], sub=self.person, scope=asked.get("scope", ""))
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": 300}

    # ---- tokens

    def claims(self, audience: str, **changes: Any) -> Json:
        now = int(time.time())
        made = {
            "iss": self.url, "aud": audience, "sub": "jo", "exp": now + 300, "iat": now,
            "scope": "mcp",
        }  # fmt: skip
        return {k: v for k, v in {**made, **changes}.items() if v is not None}

    def token(self, audience: str, *, key: Any = None, kid: str = "one", **changes: Any) -> str:
        algorithm = "ES256" if isinstance(key, ec.EllipticCurvePrivateKey) else "RS256"
        return jwt.encode(
            self.claims(audience, **changes), key or self.key, algorithm, headers={"kid": kid}
        )

    def unsigned(self, audience: str, algorithm: str = "none") -> str:
        head = b64(json.dumps({"alg": algorithm, "typ": "JWT", "kid": "one"}).encode())
        return f"{head}.{b64(json.dumps(self.claims(audience)).encode())}."

    def confused(self, audience: str) -> str:
        """Signed by HMAC with the public key, which is what an old library would check with."""
        public = self.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        head = b64(json.dumps({"alg": "HS256", "typ": "JWT", "kid": "one"}).encode())
        body = f"{head}.{b64(json.dumps(self.claims(audience)).encode())}"
        return f"{body}.{b64(hmac.new(public, body.encode(), hashlib.sha256).digest())}"

    def with_head(self, audience: str, **head: Any) -> str:
        """A token whose head names its own key."""
        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return jwt.encode(self.claims(audience), other, "RS256", headers={"kid": "one", **head})
