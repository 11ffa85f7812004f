"""For tests: a stand-in of `madsci.common.types.action_types`."""

from dataclasses import dataclass, field
from typing import Any, Dict, List

from madsci.common.types.base_types import Error


@dataclass
class ActionRequest:
    action_name: str
    args: Dict[str, Any] = field(default_factory=dict)
    action_id: str = ""


@dataclass
class ActionResult:
    status: str = "unknown"
    action_id: str = ""
    errors: List[Error] = field(default_factory=list)
    json_result: Any = None


@dataclass
class ActionSucceeded(ActionResult):
    status: str = "succeeded"


@dataclass
class ActionFailed(ActionResult):
    status: str = "failed"


@dataclass
class ActionCancelled(ActionResult):
    status: str = "cancelled"


@dataclass
class ActionNotReady(ActionResult):
    status: str = "not_ready"
