"""Numbers and names as pages and the command line print them."""

from __future__ import annotations


def percent(value: float | None, digits: int = 1) -> str:
    """A share of 1 in percent; a dash for None."""
    return "–" if value is None else f"{100 * value:.{digits}f}%"


def points(value: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * value:+.1f}".replace("-", "−")


def duration(seconds: float) -> str:
    """Seconds in two units at most, such as `2 h 5 min`, `1.5 s` or `20 ms`."""
    whole = round(seconds)  # first, or 119.7 s would be 1 min 60 s
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    if round(seconds, 1) >= 60:
        return f"{whole // 60} min {whole % 60} s"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def number(value: float) -> str:
    """A short label: three significant digits, scientific notation below a thousandth."""
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.0e}"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def words(name: str) -> str:
    """An identifier with spaces in place of underscores."""
    return name.replace("_", " ")
