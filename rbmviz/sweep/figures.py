"""Stub."""
def check_installed() -> None:
    """Stub."""
