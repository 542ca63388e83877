"""What was observed?"""

from posetta.data.report import ReadReport
from posetta.data.traces import Traces

__all__ = ["ReadReport", "Traces"]
