"""For tests: a stand-in of `madsci.node_module`. Its node is called in the process, without HTTP, and does not call `status_handler` by itself."""

import inspect
import threading
from dataclasses import dataclass, field
from typing import Annotated, Any, Callable, Dict, get_args, get_origin, get_type_hints

from madsci.common.types.action_types import ActionFailed, ActionNotReady, ActionRequest, ActionResult, ActionSucceeded
from madsci.common.types.admin_command_types import ADMIN_COMMANDS, AdminCommandResponse
from madsci.common.types.base_types import Error


@dataclass
class NodeStatus:
    busy: bool = False
    paused: bool = False
    locked: bool = False
    stopped: bool = False
    errored: bool = False
    disconnected: bool = False

    @property
    def ready(self) -> bool:
        return not (self.busy or self.paused or self.locked or self.stopped or self.errored or self.disconnected)


@dataclass
class Argument:
    argument_type: str
    required: bool
    default: Any
    description: str


@dataclass
class Action:
    name: str
    description: str
    blocking: bool
    args: Dict[str, Argument] = field(default_factory=dict)


def action(*args: Any, **kwargs: Any) -> Any:
    """Marks a function as an action, with or without arguments."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        returned = inspect.signature(function).return_annotation
        if isinstance(returned, str):
            raise ValueError(f"{returned!r}: the annotations of an action must be objects")
        setattr(function, "__is_madsci_action__", True)
        setattr(function, "__madsci_action_name__", kwargs.get("name") or function.__name__)
        setattr(function, "__madsci_action_description__", kwargs.get("description", function.__doc__))
        setattr(function, "__madsci_action_blocking__", kwargs.get("blocking", True))
        return function

    return mark(args[0]) if args else mark


class RestNode:
    """Actions are found in the class itself, not in its bases. An exception of an action makes the node refuse all others."""

    def __init__(self) -> None:
        self.node_status = NodeStatus()
        self.node_state: Dict[str, Any] = {}
        self.actions: Dict[str, Action] = {}
        self.action_handlers: Dict[str, Callable[..., Any]] = {}
        self._blocking = threading.Lock()
        for found in list(type(self).__dict__.values()):
            if hasattr(found, "__is_madsci_action__"):
                self._add(found)

    def _add(self, function: Any) -> None:
        described = Action(function.__madsci_action_name__, function.__madsci_action_description__, function.__madsci_action_blocking__)
        parameters = inspect.signature(function).parameters
        for name, hint in get_type_hints(function, include_extras=True).items():
            if name == "return":
                continue
            kind, *words = get_args(hint) if get_origin(hint) is Annotated else (hint,)
            is_optional = type(None) in get_args(kind)
            default = parameters[name].default
            required = not is_optional and default is inspect.Parameter.empty
            base = next(each for each in (*get_args(kind), kind) if each is not type(None)) if is_optional else kind
            description = next((word for word in words if isinstance(word, str)), "")
            described.args[name] = Argument(getattr(base, "__name__", str(base)), required, None if default is inspect.Parameter.empty else default, description)
        self.actions[described.name] = described
        self.action_handlers[described.name] = function

    def start_node(self) -> None:
        raise NotImplementedError

    def status_handler(self) -> None: ...

    def run_action(self, request: ActionRequest) -> ActionResult:
        """Runs an action and waits for it. The real node runs it in a thread."""
        function = self.action_handlers[request.action_name]
        parameters = inspect.signature(function).parameters
        given = {name: value for name, value in request.args.items() if name in parameters}
        missing = [name for name, argument in self.actions[request.action_name].args.items() if argument.required and name not in given]
        if missing:
            return ActionFailed(errors=[Error(f"without {', '.join(missing)}", "ValueError")])
        if not self.node_status.ready:
            return ActionNotReady(errors=[Error("not ready", "NodeNotReady")])
        try:
            if self.actions[request.action_name].blocking:
                with self._blocking:
                    result = function(self=self, **given)
            else:
                result = function(self=self, **given)
        except Exception as error:
            self.node_status.errored = True
            return ActionFailed(errors=[Error(str(error), type(error).__name__)])
        return result if isinstance(result, ActionResult) else ActionSucceeded(json_result=result)

    def run_admin_command(self, command: str) -> AdminCommandResponse:
        if command not in ADMIN_COMMANDS or not callable(getattr(self, command, None)):
            return AdminCommandResponse(success=False, errors=[Error(f"no {command}", "AdminCommandNotImplemented")])
        try:
            response = getattr(self, command)()
        except Exception as error:
            self.node_status.errored = True
            return AdminCommandResponse(success=False, errors=[Error(str(error), type(error).__name__)])
        return response if isinstance(response, AdminCommandResponse) else AdminCommandResponse(success=response is not False)

    def reset(self) -> AdminCommandResponse:
        return AdminCommandResponse()

    def shutdown(self, background_tasks: Any) -> AdminCommandResponse:
        return AdminCommandResponse()

    def lock(self) -> bool:
        self.node_status.locked = True
        return True

    def unlock(self) -> bool:
        self.node_status.locked = False
        return True
