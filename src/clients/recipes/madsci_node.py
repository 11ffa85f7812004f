"""A bench as a node of MADSci: one node for all devices of the bench.

    curl -O http://bench-1.local:8520/clients/benchd.py
    export BENCHD_URL=http://bench-1.local:8520 BENCHD_API_KEY=bk_... NODE_NAME=bench_1 NODE_URL=http://0.0.0.0:2000
    python3 madsci_node.py

The node asks the bench for its devices when it starts. Each operation of a device becomes an action, such as `shaker_1_shake(speed, duration)`.
`run_workflow` starts a workflow of the bench and waits for it. A failed operation is a failed action with the sentence of the bench.

The node follows the interface of MADSci 0.7.1 (commit 6826aeb of 2026-04-09). MADSci needs Python 3.10 or later.
"""

# The answers of the bench are JSON, and MADSci reads the annotations of actions as objects: there is no `from __future__ import annotations` here.
# mypy: disable-error-code="no-any-return, misc"

import inspect
import re
import time
from typing import Annotated, Any, Callable, Dict, List, Optional, Union
from urllib.parse import quote

from benchd import OPERATIONS, Bench, BenchError, Operation, Run, Unreachable
from madsci.common.types.action_types import ActionCancelled, ActionFailed
from madsci.common.types.admin_command_types import AdminCommandResponse
from madsci.common.types.base_types import Error
from madsci.node_module import RestNode, action

_TYPES = {"integer": int, "number": float, "string": str, "boolean": bool, "array": List[Any], "object": Dict[str, Any]}


class _Wait:
    """What an action waits for; `begun` is None until the bench has answered."""

    def __init__(self) -> None:
        self.begun: Union[None, Operation, Run] = None
        self.is_cancelled = False

    def end(self) -> None:
        """Ends an operation in an orderly way, and a run by an abort."""
        if isinstance(self.begun, Run):
            self.begun.stop()
        elif self.begun is not None:
            self.begun.end()


class BenchNode(RestNode):
    """The node. MADSci finds the actions in the class, so a process has one bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        #: The waits of the actions that run. `cancel` ends them.
        self._waits: List[_Wait] = []
        #: Set by `safety_stop`. No action runs until `reset`, also if a person initializes a device by hand.
        self._is_stopped = False
        #: The runs that `pause` paused, and the time of its pause of the queue: `resume` lets the same go on, and nothing that a person or a stop paused.
        self._paused: List[Run] = []
        self._queue_paused_at: Optional[float] = None
        for device in bench.devices():
            for operation in bench[device["device_id"]].capabilities()["operations"]:
                # `stop` is an admin command, and an operation that has to be renewed lasts only while a person holds a button.
                if operation["method"] == "POST" and operation["name"] != "stop" and "renewed_within_ms" not in operation:
                    act = _action_of(device["device_id"], operation)
                    setattr(type(self), act.__name__, act)
        super().__init__()

    # Actions do not block each other: the bench itself refuses a second operation of a busy device.
    @action(blocking=False)
    def run_workflow(
        self,
        workflow: Annotated[str, "Name of a workflow of the bench"],
        variables: Annotated[Optional[Dict[str, Any]], "Values of its variables"] = None,
        mode: Annotated[str, "LIVE, DEVICE_SIM (simulated devices) or PURE_SIM (time alone)"] = "LIVE",
    ) -> Dict[str, Any]:
        """Start a workflow of the bench and wait until it has ended. The action fails as soon as an error holds the run."""
        return self.follow(lambda: self.bench.submit(workflow, variables=variables, mode=mode))

    @action(blocking=False)
    def wait_for_run(self, execution_id: Annotated[str, "The `execution_id` of a run"]) -> Dict[str, Any]:
        """Wait for a run that goes on, for example after a person has decided about an error."""
        return self.follow(lambda: self.bench.run(execution_id))

    def follow(self, begin: Callable[[], Union[Operation, Run]]) -> Any:
        """Begins an operation or a run, and returns the result of the action. An exception would make MADSci refuse all further actions until `reset`."""
        wait = _Wait()
        self._waits.append(wait)
        try:
            wait.begun = begin()
            # `cancel` came while the request was under way.
            if wait.is_cancelled:
                wait.end()
            return _waited(wait.begun)
        except (BenchError, ValueError) as error:
            return ActionFailed(errors=[_error_of(error)])
        finally:
            self._waits.remove(wait)

    def status_handler(self) -> None:
        """Reads the devices and the runs. MADSci calls this method every two seconds."""
        try:
            devices = {one["device_id"]: self.bench[one["device_id"]].info() for one in self.bench.devices()}
            runs = self.bench.runs(status="IN_PROGRESS")
        except BenchError as error:
            self.node_status.disconnected = True
            self.node_state = {"error": str(error)}
            return
        states = {info["state"] for info in devices.values()}
        self.node_status.disconnected = False
        self.node_status.stopped = self._is_stopped or ("stopped" in states and not states & {"ready", "busy"})
        self.node_state = {"devices": devices, "runs": runs}

    def safety_stop(self) -> AdminCommandResponse:
        """Stops every device at once. Each device stays stopped until it is initialized."""
        self._is_stopped = self.node_status.stopped = True
        answer = self.bench.stop()
        unconfirmed = [one for one in answer["devices"] if not one["success"]]
        return _response([Error(message=f"{one['device_id']} did not confirm the stop: {one['message']}", error_type="DeviceFailed") for one in unconfirmed])

    def reset(self) -> AdminCommandResponse:
        """Initializes each device that is not ready, one after another, until somebody stops the bench. The devices may move."""
        errors = []
        self._is_stopped = False
        shown = {each["device_id"]: self.bench[each["device_id"]].info() for each in self.bench.devices()}
        for device_id, info in shown.items():
            if info["state"] in ("ready", "busy", "external"):
                continue
            try:
                path = f"/api/devices/{quote(device_id, safe='')}/initialize"
                Operation(self.bench, self.bench.request("POST", path, {}, respond_async=True, if_state=_state_in(info))).wait()
            except BenchError as error:
                errors.append(_error_of(error))
                # A stop came after `reset` began. The next device would move in spite of it.
                if error.reason in ("stopped", "conflict"):
                    break
        self.node_status.errored = False
        self.status_handler()
        return _response(errors)

    def pause(self) -> AdminCommandResponse:
        """Pauses each run at its next safe point, and the queue. An operation that runs goes on to its end."""
        for run in self.bench.runs(status="IN_PROGRESS"):
            if not run["paused"]:
                paused = self.bench.run(run["execution_id"])
                paused.pause()
                self._paused.append(paused)
        if not self.bench.queue()["paused"]:
            self.bench.pause_queue()
            pause = self.bench.queue()["paused"]
            if pause and pause["reason"] == "person":
                self._queue_paused_at = pause["since"]
        self.node_status.paused = True
        return _response([])

    def resume(self) -> AdminCommandResponse:
        """Lets go on what `pause` paused."""
        errors = []
        while self._paused:
            try:
                self._paused.pop().resume()
            except BenchError as error:
                errors.append(_error_of(error))
        since, self._queue_paused_at = self._queue_paused_at, None
        if since is not None:
            try:
                self.bench.resume_queue(since=since)
            except BenchError as error:
                errors.append(_error_of(error))
        self.node_status.paused = False
        return _response(errors)

    def cancel(self) -> AdminCommandResponse:
        """Ends what all actions of this node wait for: operations in an orderly way, and runs by an abort. The actions end as cancelled."""
        errors = []
        for wait in list(self._waits):
            wait.is_cancelled = True
            try:
                wait.end()
            except BenchError as error:
                errors.append(_error_of(error))
        return _response(errors)


def _action_of(device_id: str, operation: Dict[str, Any]) -> Any:
    """Makes an action of an operation, with its parameters as the bench describes them."""
    name, described = operation["name"], operation["params"]
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for each, about in described["properties"].items():
        default = inspect.Parameter.empty if each in described["required"] else about.get("default")
        kind = _type_of(about) if default is not None else Optional[_type_of(about)]
        parameters.append(inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, _words(about)]))
    word = name if name in OPERATIONS else "perform"
    path = f"/api/devices/{quote(device_id, safe='')}/{word}"

    def act(self: BenchNode, **params: Any) -> Any:
        body = params if word == name else {"operation": name, "params": params}
        return self.follow(lambda: Operation(self.bench, self.bench.request("POST", path, body, respond_async=True)))

    act.__name__ = act.__qualname__ = re.sub(r"\W", "_", f"{device_id}_{name}")
    act.__doc__ = f"{operation.get('summary') or OPERATIONS.get(name) or name}. Device: {device_id}."
    act.__annotations__ = {each.name: each.annotation for each in parameters[1:]}
    act.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return action(blocking=False)(act)


def _type_of(about: Dict[str, Any]) -> Any:
    names = about["type"] if isinstance(about["type"], list) else [about["type"]]
    kind = _TYPES.get(next(each for each in names if each != "null"), Any)
    return Optional[kind] if "null" in names else kind


def _words(about: Dict[str, Any]) -> str:
    """Describes a parameter: its meaning, its limits and its unit."""
    limits = f"{about['minimum']:g} to {about['maximum']:g}" if "minimum" in about and "maximum" in about else ""
    return ", ".join(each for each in (about.get("description", ""), f"{limits} {about.get('unit', '')}".strip()) if each)


def _waited(begun: Union[Operation, Run]) -> Any:
    """Waits for the end, also while the bench does not answer: the operation or the run goes on then. The node is disconnected meanwhile."""
    while True:
        try:
            return _result_of_run(begun, begun.wait(until_held=True)) if isinstance(begun, Run) else _result_of_operation(begun.wait())
        except Unreachable:
            time.sleep(1)


def _state_in(info: Dict[str, Any]) -> str:
    """Returns the state of a device for `if_state`: with the time of its last stop, so that another stop is noticed."""
    stopped = info["stopped"]
    return info["state"] if stopped is None else f"{info['state']} {(stopped['again'] or stopped)['at']}"


def _result_of_operation(record: Dict[str, Any]) -> Any:
    if record["ended_early"]:
        return ActionCancelled(errors=[Error(message=f"{record['operation']} of {record['device_id']} was ended early.", error_type="EndedEarly")])
    return {"operation_id": record["operation_id"], "message": record["result"]["message"], "data": record.get("data")}


def _result_of_run(run: Run, info: Dict[str, Any]) -> Any:
    found = {"execution_id": run.execution_id, "status": info["status"]}
    if info["status"] == "COMPLETED":
        return found
    name = f"The run {run.execution_id[:8]} of {info['workflow_name']}"
    if info["status"] == "ABORTED":
        return ActionCancelled(errors=[Error(message=f"{name} was aborted.", error_type="Aborted")], json_result=found)
    problems = "; ".join(f"{one['thread_name']}: {one['last_error']}" for one in info["threads"] if one["last_error"]) or info["reason"] or ""
    then = "It goes on once somebody has decided about it at the bench; wait_for_run waits for that." if info["ended_at"] is None else ""
    message = f"{name} {'is held by an error' if then else 'failed'}. {problems.rstrip('.')}. {then}".strip()
    return ActionFailed(errors=[Error(message=message, error_type="Held" if then else "RunFailed")], json_result=found)


def _error_of(error: Exception) -> Error:
    then = "; see that it is safe, then reset the node" if getattr(error, "reason", "") == "stopped" else ""
    return Error(message=f"{error}{then}", error_type=type(error).__name__)


def _response(errors: List[Error]) -> AdminCommandResponse:
    return AdminCommandResponse(success=not errors, errors=errors)


if __name__ == "__main__":
    BenchNode(Bench.from_env()).start_node()
