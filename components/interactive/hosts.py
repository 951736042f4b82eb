"""The hosts that a run may open: the first page's host with its subdomains, and those that the person allows.

The egress guard enforces the rules for every request. A host with a private address is opened on the named port only,
because other ports of this machine are other servers. A host with a public address is refused if it leads to a private
one later.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from components.browser.egress import allows
from components.browser.egress_proxy import is_public
from components.interactive.options import RunError, is_ip
from components.params import EgressParams
from components.params.harness import host_pattern

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@dataclass(frozen=True)
class HostRules:
    """The rules as parameters of the egress guard. `first` is the first page's host."""

    first: str
    egress: EgressParams

    @classmethod
    def of(cls, url: str, allow: Iterable[str], recipe: EgressParams) -> HostRules:
        """The rules of a run.

        Args:
            url: the first page.
            allow: further hosts: shell patterns such as `*.example.org`, or host:port.
            recipe: the recipe's rules, of which the blocked and the private hosts are kept.

        Raises:
            RunError: a further host is an address.
        """
        host, address = _host(url), _host_and_port(url)
        apex = host.removeprefix("www.")
        allowed, private = [apex] if is_ip(apex) else [apex, f"*.{apex}"], list(recipe.private_hosts)
        if _is_private(host):
            private, allowed = [*private, address], []  # its other ports are other servers
        for given in allow:
            try:
                pattern = host_pattern(given)
            except ValueError as error:
                raise RunError(f"--allow {error}") from error
            name, _, port = pattern.rpartition(":")
            is_private = _is_private(pattern) or (port.isdigit() and _is_private(name))
            (private if is_private else allowed).append(pattern)
        rules = recipe.model_copy(update={"guard": True, "allowed_hosts": allowed, "private_hosts": private})
        return cls(host, rules)

    @property
    def hosts(self) -> list[str]:
        """The allowed hosts and patterns, as a person reads them."""
        return [*self.egress.private_hosts, *self.egress.allowed_hosts]

    def allows(self, url: str) -> bool:
        """Whether a request to this address is allowed. Addresses without a host, such as `about:blank`, are.

        Names are not resolved here: the guard also checks the address to which a name leads.
        """
        if urlsplit(url).scheme not in _DEFAULT_PORTS:
            return True
        return allows(self.egress, url)

    def with_host_of(self, *urls: str) -> HostRules:
        """The rules with the hosts of these addresses: exactly those, without subdomains."""
        allowed, private = list(self.egress.allowed_hosts), list(self.egress.private_hosts)
        for url in urls:
            if _is_private(_host(url)):
                private.append(_host_and_port(url))
            else:
                allowed.append(option_for(url))
        return HostRules(
            self.first, self.egress.model_copy(update={"allowed_hosts": allowed, "private_hosts": private})
        )


def option_for(url: str) -> str:
    """What `--allow` needs for an address: the host, with its port if that is not the usual one."""
    parts = urlsplit(url)
    return _host(url) if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else _host_and_port(url)


def _host(url: str) -> str:
    return host_pattern((urlsplit(url).hostname or "").rstrip("."))


def _host_and_port(url: str) -> str:
    parts = urlsplit(url)
    return f"{_host(url)}:{parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)}"


@cache
def _is_private(host: str) -> bool:
    """Whether a name leads to an address that is not public. A name without an address does not."""
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return any(not is_public(str(info[4][0])) for info in infos)
