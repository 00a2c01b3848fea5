"""Who may see the page: browsers of this machine, or with a token those of others; nobody by way of another site."""

from __future__ import annotations

import hmac
import ipaddress
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["PageGuard", "guarded_server", "is_loopback"]

COOKIE = "dynid_token"
"""Name of the cookie that a page keeps the token in."""
MAX_HEADER = 2000
"""Letters of a header above which it is refused."""


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class PageGuard:
    """Checks Host, Origin and token of every request before anything is served."""

    def __init__(self, host: str, token: str | None) -> None:
        """Let in who asks for `host`, or for this machine by its usual names; with `token`, only who has it."""
        self.host, self.token = host, token
        self.port = 0
        """Known once the server listens."""

    def refusal(self, path: str, headers: dict[str, str]) -> str | None:
        """Why a request is refused; None where it may pass."""
        if any(len(value) > MAX_HEADER for value in headers.values()) or len(path) > MAX_HEADER:
            return "a header that is too long"
        if not self._is_ours(headers.get("host", "")):
            return "another host"
        origin = headers.get("origin")
        if origin is not None and not (
            urlsplit(origin).scheme in ("http", "https") and self._is_ours(urlsplit(origin).netloc)
        ):
            return "another origin"
        if self.token is not None and not any(
            hmac.compare_digest(given, self.token) for given in _tokens(path, headers)
        ):
            return "no token"
        return None

    def _is_ours(self, netloc: str) -> bool:
        try:
            parts = urlsplit(f"//{netloc}")
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        if self.port and port != self.port:
            return False
        if is_loopback(host):
            return True
        # Behind a token the machine may be called by any name: a name alone lets nobody in.
        return host == self.host or self.token is not None


def _tokens(path: str, headers: dict[str, str]) -> list[str]:
    given = parse_qs(urlsplit(path).query).get("token", [])
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(headers.get("cookie", ""))
    except CookieError:
        return given
    found = cookies.get(COOKIE)
    return [*given, *([found.value] if found is not None else [])]


_STARTING = threading.Lock()


@contextmanager
def guarded_server(guard: PageGuard) -> Iterator[None]:
    """While a server of viser starts inside, its requests are put before `guard`; viser has no hook of its own."""
    import websockets.asyncio.server as server
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    plain = server.serve

    def serve(handler: Any, host: str, port: int, **options: Any) -> Any:
        inner: Callable[..., Any] = options.pop("process_request")

        async def process_request(connection: Any, request: Any) -> Any:
            headers = {name.lower(): value for name, value in request.headers.raw_items()}
            if len(headers) != len(list(request.headers.raw_items())) and headers.get("host") is not None:
                hosts = request.headers.get_all("Host")
                headers["host"] = hosts[0] if len(hosts) == 1 else ""
            if guard.refusal(request.path, headers) is not None:
                return Response(403, "Forbidden", Headers({"Content-Type": "text/plain"}), b"Forbidden\n")
            found = inner(connection, request)
            answer = await found if hasattr(found, "__await__") else found
            if answer is not None:
                answer.headers["X-Content-Type-Options"] = "nosniff"
                answer.headers["Referrer-Policy"] = "no-referrer"
                answer.headers["X-Frame-Options"] = "DENY"
                if guard.token is not None:
                    answer.headers["Set-Cookie"] = f"{COOKIE}={guard.token}; HttpOnly; SameSite=Strict; Path=/"
            return answer

        return plain(handler, host, port, process_request=process_request, **options)

    with _STARTING:
        setattr(server, "serve", serve)  # noqa: B010
        try:
            yield
        finally:
            setattr(server, "serve", plain)  # noqa: B010
