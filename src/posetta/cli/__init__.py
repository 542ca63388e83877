"""The command line: parse, call the library, print."""

from __future__ import annotations

from posetta.cli.app import main

__all__ = ["main"]
