"""For tests: a stand-in of `madsci.common.types.admin_command_types`."""

from dataclasses import dataclass, field
from typing import Any, List, Optional

from madsci.common.types.base_types import Error

ADMIN_COMMANDS = ("safety_stop", "reset", "pause", "resume", "cancel", "shutdown", "lock", "unlock", "get_location")


@dataclass
class AdminCommandResponse:
    success: bool = True
    errors: List[Error] = field(default_factory=list)
    data: Optional[Any] = None
