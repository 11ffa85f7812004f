"""Calls a bench from Python: one file, the standard library alone, Python 3.9 or later.

    curl -O http://bench-1.local:8520/clients/benchd.py

    from benchd import Bench, Busy, DeviceFailed

    bench = Bench("http://bench-1.local:8520", "bk_...")     # or Bench.from_env()
    shaker = bench["shaker-1"]
    shaker.initialize()
    shaker.lock_plate()
    shaker.shake(speed=500, duration=10)                     # waits until it has ended
    running = shaker.shake.start(speed=500, duration=600)    # does not wait
    running.wait()
    with bench.lock("shaker-1", note="calibration"):         # nobody else may use it meanwhile
        shaker.shake(speed=300, duration=5)
    run = bench.submit("seal-and-spin", variables={"speed": 600})
    print(run.wait()["status"])
    for event in bench.events(since="last", file="cursor.json"):
        print(event["event_name"])

An operation that was asked for is done once: a request that broke off is repeated with the same Idempotency-Key. Where nobody can know
whether it was done, `OutcomeUnknown` is raised, and it is never repeated by itself.

For asyncio there is `AsyncBench`, with the same methods to be awaited. An operation goes on when its task is cancelled: `end()` it, or stop the device.
"""

# Whoever checks a program with types checks this file too: what the bench answers is JSON.
# mypy: disable-error-code="no-any-return"
# pyright: basic

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
import time
import uuid
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "AsyncBench", "Bench", "BenchError", "Busy", "Device", "DeviceFailed", "Locked", "Operation", "OutcomeUnknown", "Refused", "Run", "Unreachable",
]


class BenchError(Exception):
    """What the bench answered instead of doing it. `str(error)` is a sentence for people; `reason` a word for programs.

    `status` is the HTTP status, or None where there was no answer. `retry_after` says in how many seconds the same may succeed, or is None.
    `mistakes` has each mistake of a sheet of samples, with `row`, `column`, `header` and `message`.
    """

    def __init__(self, message: str, *, status: Optional[int] = None, reason: str = "", retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.mistakes: List[Dict[str, Any]] = []


class Refused(BenchError):
    """The request is not right, or cannot be carried out as things are: change something first."""


class Busy(BenchError):
    """The device or the service is at work; after `retry_after` seconds the same may succeed."""


class Locked(BenchError):
    """Another client or a run keeps the device for itself."""


class DeviceFailed(BenchError):
    """The instrument failed, or did not answer. Look at it before going on."""


class OutcomeUnknown(BenchError):
    """The operation may have been carried out or not: nobody knows. Look at the instrument; nothing is repeated by itself."""


class Unreachable(BenchError):
    """The service did not answer, and nothing was done that was not done before."""


# --- made by `npm run generate` from the table of operations ---

OPERATIONS: Dict[str, str] = {
    "initialize": "Initialize the device; it may move",
    "shake": "Shake",
    "centrifuge": "Run centrifuge",
    "seal": "Seal plate",
    "peel": "Peel the seal off a plate",
    "open": "Open door or lid",
    "close": "Close door or lid",
    "lock_plate": "Lock plate",
    "unlock_plate": "Unlock plate",
    "set_temperature": "Set the target temperature, or switch the heater off; answers before the temperature is reached",
    "set_lid_temperature": "Set the target temperature of a heated lid, or switch it off; answers before the temperature is reached",
    "run_profile": "Run a temperature profile: the steps in order, repeated; the last temperature is held afterwards",
    "store": "Take the labware at the transfer station into a slot of the storage",
    "retrieve": "Bring the labware in a slot of the storage to the transfer station",
    "scan": "Read a barcode; of a storage: look which slots are taken",
    "weigh": "Weigh, and wait until the value is stable",
    "tare": "Tare the balance, so that the present load becomes zero",
    "zero": "Set the zero point of an empty balance",
    "jog": "Move an arm along one axis while the operation is renewed",
    "free_drive": "Let a person lead an arm by hand while the operation is renewed",
    "go_to": "Move an arm slowly to a teachpoint, or above it, through its gateways and its access pattern",
}

READINGS: Dict[str, str] = {
    "initialized": "Check whether the device is initialized",
    "get_temperature": "Get the temperature in °C, and the target, null when none is set",
    "get_lid_temperature": "Get the temperature of the lid in °C, and the target, null when none is set",
    "humidity": "Get the relative humidity in %, and the target, null when none is set",
    "co2": "Get the concentration of CO2 in %, and the target, null when none is set",
    "weight": "Get the weight in g that a balance shows now, also while it is not stable",
    "barcode": "Get the barcode that a scanner has read last",
    "pose": "Get the position of an arm as the coordinates of a teachpoint",
}

_ERRORS: Dict[str, type] = {
    "busy": Busy,
    "in_progress": Busy,
    "overloaded": Busy,
    "stopping": Busy,
    "request_timeout": Busy,
    "locked": Locked,
    "disconnected": DeviceFailed,
    "no_reply": DeviceFailed,
    "device_failed": DeviceFailed,
    "stop_not_sent": DeviceFailed,
    "faulted": DeviceFailed,
    "internal": DeviceFailed,
    "storage": DeviceFailed,
}

if TYPE_CHECKING:

    class _DeviceOperations:
        """`start` of an operation returns without waiting for its end."""

        class _initialize:
            def __call__(self) -> Dict[str, Any]:
                """Initialize the device; it may move."""
                ...

            def start(self) -> "Operation": ...

        initialize: _initialize

        class _shake:
            def __call__(self, *, speed: float, duration: float) -> Dict[str, Any]:
                """Shake; speed in rpm, duration in s."""
                ...

            def start(self, *, speed: float, duration: float) -> "Operation": ...

        shake: _shake

        class _centrifuge:
            def __call__(self, *, g: float, duration: float) -> Dict[str, Any]:
                """Run centrifuge; g in ×g, duration in s."""
                ...

            def start(self, *, g: float, duration: float) -> "Operation": ...

        centrifuge: _centrifuge

        class _seal:
            def __call__(self, *, temperature: float, duration: float) -> Dict[str, Any]:
                """Seal plate; temperature in °C, duration in s."""
                ...

            def start(self, *, temperature: float, duration: float) -> "Operation": ...

        seal: _seal

        class _peel:
            def __call__(self, *, parameter_set: Optional[int] = None, adhere: Optional[int] = None) -> Dict[str, Any]:
                """Peel the seal off a plate."""
                ...

            def start(self, *, parameter_set: Optional[int] = None, adhere: Optional[int] = None) -> "Operation": ...

        peel: _peel

        class _open:
            def __call__(self) -> Dict[str, Any]:
                """Open door or lid."""
                ...

            def start(self) -> "Operation": ...

        open: _open

        class _close:
            def __call__(self) -> Dict[str, Any]:
                """Close door or lid."""
                ...

            def start(self) -> "Operation": ...

        close: _close

        class _lock_plate:
            def __call__(self) -> Dict[str, Any]:
                """Lock plate."""
                ...

            def start(self) -> "Operation": ...

        lock_plate: _lock_plate

        class _unlock_plate:
            def __call__(self) -> Dict[str, Any]:
                """Unlock plate."""
                ...

            def start(self) -> "Operation": ...

        unlock_plate: _unlock_plate

        class _set_temperature:
            def __call__(self, *, temperature: Optional[float]) -> Dict[str, Any]:
                """Set the target temperature, or switch the heater off; answers before the temperature is reached; temperature in °C."""
                ...

            def start(self, *, temperature: Optional[float]) -> "Operation": ...

        set_temperature: _set_temperature

        class _set_lid_temperature:
            def __call__(self, *, lid_temperature: Optional[float]) -> Dict[str, Any]:
                """Set the target temperature of a heated lid, or switch it off; answers before the temperature is reached; lid_temperature in °C."""
                ...

            def start(self, *, lid_temperature: Optional[float]) -> "Operation": ...

        set_lid_temperature: _set_lid_temperature

        class _run_profile:
            def __call__(self, *, steps: List[Dict[str, Any]], repetitions: Optional[int] = None) -> Dict[str, Any]:
                """Run a temperature profile: the steps in order, repeated; the last temperature is held afterwards."""
                ...

            def start(self, *, steps: List[Dict[str, Any]], repetitions: Optional[int] = None) -> "Operation": ...

        run_profile: _run_profile

        class _store:
            def __call__(self, *, slot: Optional[int] = None) -> Dict[str, Any]:
                """Take the labware at the transfer station into a slot of the storage."""
                ...

            def start(self, *, slot: Optional[int] = None) -> "Operation": ...

        store: _store

        class _retrieve:
            def __call__(self, *, slot: int) -> Dict[str, Any]:
                """Bring the labware in a slot of the storage to the transfer station."""
                ...

            def start(self, *, slot: int) -> "Operation": ...

        retrieve: _retrieve

        class _scan:
            def __call__(self) -> Dict[str, Any]:
                """Read a barcode; of a storage: look which slots are taken."""
                ...

            def start(self) -> "Operation": ...

        scan: _scan

        class _weigh:
            def __call__(self) -> Dict[str, Any]:
                """Weigh, and wait until the value is stable."""
                ...

            def start(self) -> "Operation": ...

        weigh: _weigh

        class _tare:
            def __call__(self) -> Dict[str, Any]:
                """Tare the balance, so that the present load becomes zero."""
                ...

            def start(self) -> "Operation": ...

        tare: _tare

        class _zero:
            def __call__(self) -> Dict[str, Any]:
                """Set the zero point of an empty balance."""
                ...

            def start(self) -> "Operation": ...

        zero: _zero

        class _jog:
            def __call__(self, *, axis: str, direction: str, speed: Optional[int] = None) -> Dict[str, Any]:
                """Move an arm along one axis while the operation is renewed; speed in %."""
                ...

            def start(self, *, axis: str, direction: str, speed: Optional[int] = None) -> "Operation": ...

        jog: _jog

        class _free_drive:
            def __call__(self) -> Dict[str, Any]:
                """Let a person lead an arm by hand while the operation is renewed."""
                ...

            def start(self) -> "Operation": ...

        free_drive: _free_drive

        class _go_to:
            def __call__(self, *, teachpoint: str, offset_z: Optional[float] = None) -> Dict[str, Any]:
                """Move an arm slowly to a teachpoint, or above it, through its gateways and its access pattern; offset_z in mm."""
                ...

            def start(self, *, teachpoint: str, offset_z: Optional[float] = None) -> "Operation": ...

        go_to: _go_to

        def initialized(self) -> Dict[str, Any]:
            """Check whether the device is initialized."""
            ...

        def get_temperature(self) -> Dict[str, Any]:
            """Get the temperature in °C, and the target, null when none is set."""
            ...

        def get_lid_temperature(self) -> Dict[str, Any]:
            """Get the temperature of the lid in °C, and the target, null when none is set."""
            ...

        def humidity(self) -> Dict[str, Any]:
            """Get the relative humidity in %, and the target, null when none is set."""
            ...

        def co2(self) -> Dict[str, Any]:
            """Get the concentration of CO2 in %, and the target, null when none is set."""
            ...

        def weight(self) -> Dict[str, Any]:
            """Get the weight in g that a balance shows now, also while it is not stable."""
            ...

        def barcode(self) -> Dict[str, Any]:
            """Get the barcode that a scanner has read last."""
            ...

        def pose(self) -> Dict[str, Any]:
            """Get the position of an arm as the coordinates of a teachpoint."""
            ...

# --- end of what is made ---

#: Seconds for which a request that broke off is tried again.
RETRY_S = 30.0
#: Seconds until a connection, or an answer that should come at once, counts as lost.
TIMEOUT_S = 10.0
#: Entries of a list that are asked for at once.
_PAGE = 1000
_PAUSES_S = (0.1, 0.2, 0.5, 1.0)
#: What OpenSSL says of a service that answers a TLS handshake with plain HTTP.
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
#: Reasons that pass by themselves: nothing was done, and the same may be asked again.
_PASSING = ("starting", "stopping", "overloaded", "in_progress")
#: Seconds after which a stream that says nothing is lost; it breathes every five.
_SILENT_S = 15.0
#: Bytes of a stream that are read at a time, and those that one frame may have.
_PIECE = 65_536
_LONGEST_FRAME = 64 * 1024 * 1024


#: What a stream brings, several steps at a time, each with what is to be called when it has been taken.
#: A `datetime`, or Unix time.
_Moment = Union[float, "datetime"]
_Pieces = Iterator[List[Tuple[Any, Optional[Callable[[], None]]]]]


def _break_off(connected: socket.socket) -> None:
    try:
        connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # It ended by itself.


class _CutOff(Exception):
    """Something between here and the service answered that the service did not."""


def _must_be_the_service(status: int, headers: Any) -> None:
    """Raises `Refused` where something else than a bench answers, and `_CutOff` where that says that it cannot reach the bench, or has given it up."""
    if "X-API-Version" in headers:
        return
    if status in (502, 503, 504):
        raise _CutOff(f"a proxy answered {status}")
    if 300 <= status < 400:
        raise Refused(f"the address of the bench has changed to {headers.get('Location')}: use that", status=status, reason="redirect")
    server = headers.get("Server") or "no bench"
    raise Refused(f"another program answers at that address ({server}, {status}): see the address, and any proxy before it", status=status, reason="no_bench")


def _error_of(status: int, headers: Any, body: bytes) -> BenchError:
    mistakes: List[Dict[str, Any]] = []
    try:
        answered = json.loads(body)
        detail = answered["detail"]
        mistakes = answered.get("mistakes") or []
    except (ValueError, KeyError, TypeError):
        detail = f"the service answered {status}"
    reason = headers.get("X-Reason", "")
    after = headers.get("Retry-After")
    kind = _ERRORS.get(reason) or (Busy if status == 503 else DeviceFailed if status >= 500 else Refused)
    error = kind(detail, status=status, reason=reason, retry_after=float(after) if after else None)
    error.mistakes = mistakes
    return error


def _json_of(body: Any) -> bytes:
    """Raises `ValueError` for NaN and infinity: JSON has no such numbers."""
    try:
        return json.dumps(body, allow_nan=False).encode()
    except ValueError as error:
        raise ValueError(f"the request cannot be written as JSON, and nothing was sent: {error}; see how its numbers were computed") from error


class _Service:
    """One service: how it is reached, and the requests to it."""

    def __init__(self, url: str, key: Optional[str], fingerprint: Optional[str], timeout: float, operator: Optional[str] = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a bench; write it as http://bench-1.local:8520")
        self.tls = parts.scheme == "https"
        if fingerprint and not self.tls:
            raise ValueError(f"a fingerprint is of a certificate, and {url} has none: write the address with https://, or leave the fingerprint out")
        self.host = parts.hostname
        self.port = parts.port or (443 if self.tls else 80)
        self.prefix = parts.path.rstrip("/")
        self.key = key.strip() if key else None
        self.fingerprint = fingerprint.replace(":", "").lower() if fingerprint else None
        self.timeout = timeout
        self.operator = (operator or "").strip() or None

    def connect(self) -> http.client.HTTPConnection:
        if not self.tls:
            connection: http.client.HTTPConnection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
            connection.connect()
            return connection
        context = ssl.create_default_context()
        if self.fingerprint:
            # The certificate is known by its fingerprint, so nobody has to vouch for it.
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        secure = http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=context)
        try:
            secure.connect()
        except ssl.SSLCertVerificationError as error:
            raise Refused(
                f"nobody vouches for the certificate of {self.host} ({error.verify_message}); give its fingerprint, which `benchd status` shows at"
                " the bench: Bench(url, key, fingerprint=...)",
                reason="certificate",
            ) from error
        except ssl.SSLError as error:
            if error.reason not in _NO_TLS:
                raise
            raise Refused(f"{self.host}:{self.port} does not speak TLS; write http:// in its address", reason="no_tls") from error
        if self.fingerprint:
            import hashlib

            found = hashlib.sha256(secure.sock.getpeercert(True) or b"").hexdigest()
            if found != self.fingerprint:
                secure.close()
                raise Refused(
                    f"{self.host} shows a certificate with the fingerprint {found}, not {self.fingerprint}: it is another service, or its"
                    " certificate was renewed. Ask whoever looks after the bench.",
                    reason="fingerprint",
                )
        return secure

    def answer_on(self, connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        """The head of the answer. A service that closes a plain connection without a word, and shakes hands over TLS, has another address."""
        try:
            return connection.getresponse()
        except ConnectionResetError:
            if not self.tls and self._speaks_tls():
                raise Refused(f"{self.host}:{self.port} speaks TLS; write https:// in its address", reason="tls") from None
            raise

    def _speaks_tls(self) -> bool:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        try:
            with socket.create_connection((self.host, self.port), self.timeout) as line, context.wrap_socket(line):
                return True
        except OSError:
            return False

    def headers(self, more: Dict[str, str]) -> Dict[str, str]:
        named = {"X-Operator": quote(self.operator, safe="")} if self.operator else {}
        return {**({"X-API-Key": self.key} if self.key else {}), **named, **more}

    def once(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, headers: Dict[str, str]
    ) -> Tuple[int, Any, bytes]:
        # A timeout is of one piece of the answer; who sends a byte now and then would never be given up.
        late = threading.Timer(self.timeout * 6, _break_off, [connection.sock])
        late.daemon = True
        late.start()
        try:
            connection.request(method, self.prefix + path, body=body, headers=self.headers(headers))
            response = self.answer_on(connection)
            text = response.read()
            # Headers that broke off look like those of an answer that ends with its connection.
            if response.status != 204 and not response.chunked and "Content-Length" not in response.headers:
                raise http.client.IncompleteRead(text)
            _must_be_the_service(response.status, response.headers)
            return response.status, response.headers, text
        finally:
            late.cancel()
            connection.close()

    def look(self, path: str) -> Any:
        """The answer to a GET that is tried once."""
        status, answered, text = self.once(self.connect(), "GET", path, None, self.headers({}))
        if status >= 400:
            raise _error_of(status, answered, text)
        return _content_of(answered, text)

    def ask(self, method: str, path: str, body: Any = None, headers: Optional[Dict[str, str]] = None) -> Any:
        """The answer. Whenever the connection breaks the request is repeated, for half a minute: a POST has a key by which it is done once."""
        content = None if body is None else _json_of(body)
        all_headers = {
            **({"Content-Type": "application/json"} if content is not None else {}),
            **({"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {}),
            **(headers or {}),
        }
        may_be_done = False
        give_up = time.monotonic() + RETRY_S
        for attempt in range(10_000):
            pause = _PAUSES_S[min(attempt, len(_PAUSES_S) - 1)]
            was_sent = False
            try:
                connection = self.connect()
                was_sent = method != "GET"
                status, answered, text = self.once(connection, method, path, content, all_headers)
            except (OSError, http.client.HTTPException, _CutOff) as error:
                failure: Exception = error
                may_be_done = may_be_done or was_sent
            else:
                if status < 400:
                    return _content_of(answered, text)
                failure = _error_of(status, answered, text)
                if failure.reason not in _PASSING:
                    if may_be_done and _tells_nothing(method, failure):
                        raise OutcomeUnknown(f"{_nobody_knows(method, path)}: {failure}", status=status, reason=failure.reason)
                    raise failure
                pause = min(1.0, failure.retry_after or pause)
            if time.monotonic() >= give_up:
                if may_be_done:
                    raise OutcomeUnknown(f"{_nobody_knows(method, path)}: {self.host} broke off ({failure}); look at it first", reason="broken_off") from failure
                if isinstance(failure, BenchError):
                    raise failure
                raise Unreachable(
                    f"{self.host}:{self.port} does not answer ({failure}); see that the service runs and that this computer reaches it", reason="unreachable"
                ) from failure
            time.sleep(pause)
        raise AssertionError("unreachable")

    def send(self, path: str, file: Any, size: int, media_type: str) -> Any:
        """Sends a file as it is. The same file is attached once, so it is sent again when the connection breaks."""
        headers = {"Content-Type": media_type, "Content-Length": str(size)}
        for attempt in range(3):
            file.seek(0)
            try:
                status, answered, text = self.once(self.connect(), "POST", path, file, headers)
            except (OSError, http.client.HTTPException, _CutOff) as error:
                if attempt == 2:
                    raise Unreachable(f"{self.host}:{self.port} did not take the file ({error}); try again", reason="unreachable") from error
                continue
            if status < 400:
                return _content_of(answered, text)
            raise _error_of(status, answered, text)
        raise AssertionError("unreachable")

    def save(self, path: str, to: Any, *, accept: str = "*/*", sha256: Optional[str] = None) -> None:
        """Saves the body of an answer in a file, whole or not at all. With a hash the path must be new, and the body must have this hash."""
        import hashlib

        if sha256 is not None and os.path.exists(to):
            raise FileExistsError(f"{to} is there already; give another path")
        found = hashlib.sha256()
        draft = f"{os.fspath(to)}.{uuid.uuid4()}.part"
        with open(draft, "xb") as file:
            try:
                for piece in self._pieces(path, {"Accept": accept}):
                    found.update(piece)
                    file.write(piece)
                if sha256 is not None and found.hexdigest() != sha256:
                    raise BenchError(f"the file {sha256} did not arrive as it was attached; try again", reason="damaged")
            except BaseException:
                file.close()
                os.remove(draft)
                raise
        os.replace(draft, to)

    def _pieces(self, path: str, headers: Dict[str, str]) -> Iterator[bytes]:
        """The body of an answer, piece by piece."""
        try:
            connection = self.connect()
            try:
                connection.request("GET", self.prefix + path, headers=self.headers(headers))
                response = self.answer_on(connection)
                _must_be_the_service(response.status, response.headers)
                if response.status != 200:
                    raise _error_of(response.status, response.headers, response.read())
                while True:
                    piece = response.read(64 * 1024)
                    if not piece:
                        return
                    yield piece
            finally:
                connection.close()
        except (OSError, http.client.HTTPException, _CutOff) as error:
            raise Unreachable(f"the answer of {self.host}:{self.port} broke off ({error}); try again", reason="unreachable") from error

    def stream(self, path: str, headers: Dict[str, str]) -> Iterator[List[Dict[str, str]]]:
        """
        The frames of a stream of Server-Sent Events as they come, several at a time or none, until it ends. A comment is the field `""`.
        """
        connection = self.connect()
        try:
            line = connection.sock
            connection.request("GET", self.prefix + path, headers=self.headers({"Accept": "text/event-stream", **headers}))
            response = self.answer_on(connection)
            _must_be_the_service(response.status, response.headers)
            if response.status != 200:
                raise _error_of(response.status, response.headers, response.read())
            line.settimeout(_SILENT_S)
            rest = b""
            while True:
                came = response.read1(_PIECE)
                if not came or len(rest) > _LONGEST_FRAME:
                    return
                *whole, rest = (rest + came).split(b"\n\n")
                frames = [_frame_of(text) for text in whole]
                lost = next((n for n, frame in enumerate(frames) if "" in frame and frame[""].startswith("dropped")), None)
                yield frames[:lost]
                # The next stream has them from the log.
                if lost is not None:
                    return
        finally:
            connection.close()

    def streams(self, request: Callable[[], Tuple[str, Dict[str, str]]]) -> Iterator[List[Dict[str, str]]]:
        """
        The frames of a stream that is opened anew whenever it breaks off. None come where it only breathes, so that whoever waits may think again.
        Raises `Refused`, and `Unreachable` when it could not be opened even once.
        """
        give_up = time.monotonic() + RETRY_S
        was_open = False
        failures = 0
        while True:
            failure: Any = "it ends"
            try:
                for frames in self.stream(*request()):
                    was_open = True
                    failures = 0
                    yield frames
            except Refused:
                raise
            except (BenchError, OSError, http.client.HTTPException, _CutOff) as error:
                failure = error
            if not was_open and time.monotonic() >= give_up:
                raise Unreachable(
                    f"{self.host}:{self.port} does not answer ({failure}); see that the service runs and that this computer reaches it", reason="unreachable"
                )
            yield []
            time.sleep(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
            failures += 1


def _content_of(headers: Any, text: bytes) -> Any:
    kind = headers.get("Content-Type", "")
    if "json" in kind:
        return json.loads(text)
    return text.decode() if kind.startswith("text/") else text


def _frame_of(text: bytes) -> Dict[str, str]:
    frame: Dict[str, str] = {}
    for line in text.decode().split("\n"):
        name, _, value = line.partition(":")
        if value.startswith(" "):
            value = value[1:]
        frame[name] = f"{frame[name]}\n{value}" if name in frame else value
    return frame


def _nobody_knows(method: str, path: str) -> str:
    return f"nobody knows whether {method} {path} was carried out"


def _tells_nothing(method: str, refused: BenchError) -> bool:
    """Whether a repeated request may be refused because of what it did itself, or before anybody looked for what became of the first."""
    return refused.reason == "conflict" or refused.status in (401, 403, 429) or (method != "POST" and refused.status in (404, 409, 412))


_Table = Tuple[str, List[str], List[List[Any]]]


def _html_of(whose: str, table: Callable[[], _Table]) -> str:
    """The title, the columns and the rows as HTML, for notebooks. They hide exceptions, so a bench that does not answer is a sentence."""
    from html import escape

    try:
        title, columns, rows = table()
    except (BenchError, OSError, http.client.HTTPException, _CutOff) as error:
        return f"<p><b>{escape(whose)}</b>: {escape(str(error))}</p>"

    def line(tag: str, values: List[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape('' if value is None else str(value))}</{tag}>" for value in values) + "</tr>"

    body = "".join(line("td", values) for values in rows)
    return f"<table><caption>{escape(title)}</caption><thead>{line('th', columns)}</thead><tbody>{body}</tbody></table>"


class Operation:
    """An operation that was started. `record` is what the service last said of it."""

    def __init__(self, bench: "Bench", record: Dict[str, Any]) -> None:
        self._bench = bench
        self.record = record
        self.operation_id: str = record["operation_id"]

    def __repr__(self) -> str:
        return f"<{self.record['operation']} of {self.record['device_id']}, {self.record['status']}, {self.operation_id}>"

    def wait(self, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Waits until it has ended and answers its record.

        Raises `DeviceFailed` when it failed or was stopped, `Refused` when the instrument did not take it (an open lid), `OutcomeUnknown` when the
        service ended meanwhile, `TimeoutError` after `timeout` seconds.
        """
        give_up = None if timeout is None else time.monotonic() + timeout
        pause = 0.02
        while self.record["status"] == "running":
            if give_up is not None and time.monotonic() >= give_up:
                raise TimeoutError(f"{self.record['operation']} of {self.record['device_id']} has not ended after {timeout} s; it goes on")
            time.sleep(pause)
            pause = min(0.5, pause * 1.5)
            self.refresh()
        if self.record["detail"]:
            reason = self.record["reason"] or "device_failed"
            raise (OutcomeUnknown if reason == "stopping" else _ERRORS.get(reason, Refused))(self.record["detail"], reason=reason)
        if not self.record["result"]["success"]:
            raise DeviceFailed(f"{self.record['operation']} of {self.record['device_id']}: {self.record['result']['message']}", reason="stopped")
        return self.record

    def end(self) -> Dict[str, Any]:
        """Ends it early, in an orderly way, and answers its record at once; `wait()` waits for the end. Nothing is latched.

        Raises `Refused` when it cannot end early or belongs to a run, `Locked` when somebody else has the device, `OutcomeUnknown` as `refresh`.
        """
        return self._ask("DELETE")

    def refresh(self) -> Dict[str, Any]:
        """Asks for the record anew. When the service broke off meanwhile, it has ended with `result` None, and `wait()` raises `OutcomeUnknown`;
        this raises it where a power cut took the record too.
        """
        return self._ask("GET")

    def _ask(self, method: str) -> Dict[str, Any]:
        try:
            self.record = self._bench.request(method, f"/api/operations/{self.operation_id}")
        except (Refused, OutcomeUnknown) as error:
            if error.reason != "not_found":
                raise
            sentence = f"the service broke off while {self.record['operation']} of {self.record['device_id']} ran; look at the instrument"
            raise OutcomeUnknown(sentence, status=error.status, reason="broken_off") from error
        return self.record


class _Doing:
    """An operation of a device, as a method: called, it waits; `start` does not."""

    def __init__(self, device: "Device", name: str) -> None:
        self._device = device
        self._name = name

    def start(self, *values: Any, **params: Any) -> Operation:
        """Starts it and answers at once. Raises as a call does."""
        if values:
            raise TypeError(f"{self._name} takes its parameters by name, as in shake(speed=500, duration=10); capabilities() lists them")
        device = self._device
        path = f"/api/devices/{quote(device.device_id, safe='')}/{self._name}"
        return Operation(device._bench, device._bench.request("POST", path, params, respond_async=True))

    def __call__(self, *values: Any, **params: Any) -> Dict[str, Any]:
        return self.start(*values, **params).wait()

    def __repr__(self) -> str:
        return f"{self._device!r}.{self._name}"


if TYPE_CHECKING:
    _Operations = _DeviceOperations
else:
    _Operations = object


class Device(_Operations):
    """A device of the bench, `bench["shaker-1"]`. Its operations and readings are methods: `initialize()`, `shake(speed=500, duration=10)`, `pose()`."""

    def __init__(self, bench: "Bench", device_id: str) -> None:
        self._bench = bench
        self.device_id = device_id
        self._path = f"/api/devices/{quote(device_id, safe='')}"

    def __repr__(self) -> str:
        return f"bench[{self.device_id!r}]"

    def _repr_html_(self) -> str:
        """A table of its state, for notebooks."""

        def table() -> _Table:
            info = self._bench._service.look(self._path)
            words = {"state": info["state"], "type": info["type"], "driver": info["driver"], "simulated": info["simulated"]}
            if info["operation"]:
                words["operation"] = info["operation"]["name"]
            if info["stopped"]:
                words["stopped by"] = info["stopped"]["by"]
            if info["fault"]:
                words["fault"] = info["fault"]["error"]
            return f"{info['name']} ({self.device_id})", ["", ""], [[name, word] for name, word in words.items()]

        return _html_of(self.device_id, table)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *OPERATIONS, *READINGS]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in OPERATIONS:
            return _Doing(self, name)
        if name in READINGS:
            return partial(self._bench.request, "GET", f"{self._path}/{name}")
        others = "info(), capabilities(), temperature(), stop(), clear_fault() and perform(operation)"
        known = f"its operations are {', '.join(OPERATIONS)}, and its readings {', '.join(READINGS)}"
        raise AttributeError(f"a device has no {name!r}; {known}; besides them there are {others}")

    def perform(self, operation: str, **params: Any) -> Dict[str, Any]:
        """Performs an operation that the program behind the device describes; `data` of the answer has the values that came of it."""
        return _Doing(self, "perform")(operation=operation, params=params)

    def info(self) -> Dict[str, Any]:
        """What it is, what it does, and what is latched on it."""
        return self._bench.request("GET", self._path)

    def capabilities(self) -> Dict[str, Any]:
        """What it can do, with limits and units."""
        return self._bench.request("GET", f"{self._path}/capabilities")

    def temperature(self) -> Dict[str, Any]:
        """`{"temperature": 37.0, "target": 37.0}` in °C; `target` is None when none is set."""
        return self._bench.request("GET", f"{self._path}/get_temperature")

    def stop(self) -> Dict[str, Any]:
        """Stops it at once; latched until it is initialized. `success` tells whether the instrument acknowledged."""
        return self._bench.request("POST", f"{self._path}/stop")

    def clear_fault(self) -> Dict[str, Any]:
        """Says that somebody has looked at its fault. It must be initialized afterwards."""
        return self._bench.request("POST", f"{self._path}/clear_fault", {})


class Run:
    """A run of a workflow."""

    def __init__(self, bench: "Bench", execution_id: str, submission: Optional[Dict[str, Any]] = None) -> None:
        self._bench = bench
        self.execution_id = execution_id
        #: What the submission was answered with; `in_the_way` names labware that must be cleared first.
        self.submission = submission
        self._path = f"/api/executions/{quote(execution_id, safe='')}"

    def __repr__(self) -> str:
        return f"bench.run({self.execution_id!r})"

    def _repr_html_(self) -> str:
        """A table of its labware, for notebooks."""

        def table() -> _Table:
            info = self._bench._service.look(self._path)
            rows = [[one["thread_name"], one["barcode"], one["status"], one["position"] or one["held_by"], one["last_error"]] for one in info["threads"]]
            title = f"{info['workflow_name']} {self.execution_id[:8]}: {info['status']}"
            return title, ["labware", "barcode", "status", "position", "error"], rows

        return _html_of(f"run {self.execution_id[:8]}", table)

    def info(self) -> Dict[str, Any]:
        """Its status, threads, labware and what each waits for."""
        return self._bench.request("GET", self._path)

    def wait(self, timeout: Optional[float] = None, *, until_held: bool = False) -> Dict[str, Any]:
        """Waits until it has ended and answers `info()`. Raises `TimeoutError` after `timeout` seconds; the run goes on then.

        A run that an error holds waits for a decision, which may come from anybody. With `until_held` it is answered then too: see `held()` and `recover()`.
        """
        give_up = None if timeout is None else time.monotonic() + timeout
        pause = 0.05
        while True:
            info = self.info()
            held = _held_in(info)
            if info["ended_at"] is not None or (until_held and held):
                return info
            if give_up is not None and time.monotonic() >= give_up:
                names = ", ".join(thread["thread_name"] for thread in held)
                hint = f"an error holds {names}: decide with recover()" if held else "ask why() what it waits for"
                raise TimeoutError(f"the run of {info['workflow_name']} has not ended after {timeout} s; {hint}")
            time.sleep(pause)
            pause = min(1.0, pause * 1.5)

    def held(self) -> List[Dict[str, Any]]:
        """Its threads that an error holds: each with `last_error`, the `decisions` that are possible, and in `retry_on` other devices for a RETRY."""
        return _held_in(self.info())

    def recover(self, thread: str, decision: str, *, on: Optional[str] = None) -> Dict[str, Any]:
        """Decides about the error that holds a thread, named by its `thread_name` or `thread_id`: one of its `decisions`, as "RETRY". `on`: the other device for a RETRY."""
        threads = self.info()["threads"]
        ids = [one["thread_id"] for one in threads if thread in (one["thread_id"], one["thread_name"])]
        if len(ids) != 1:
            names = ", ".join(f"{one['thread_name']} ({one['thread_id']})" for one in threads)
            problem = f"several threads have the name {thread!r}; name one by its id" if ids else f"the run has no thread {thread!r}"
            raise Refused(f"{problem}; there is: {names}", reason="not_found")
        body = {"decision": decision, **({"on": on} if on is not None else {})}
        return self._bench.request("POST", f"/api/threads/{quote(ids[0], safe='')}/recover", body)

    def workflow(self) -> Dict[str, Any]:
        """The workflow that it ran, with its `document`, its `workflow_version` and the `topology_document`, also after the workflow was changed or deleted."""
        return self._bench.request("GET", f"{self._path}/workflow")

    def why(self) -> List[Dict[str, Any]]:
        """What each thread waits for, who holds it, since when."""
        return self._bench.request("GET", f"{self._path}/why")["threads"]

    def blockers(self) -> List[Dict[str, Any]]:
        """What stops it now, the worst first, each with a `remedy`."""
        return self._bench.request("GET", f"{self._path}/blockers")["blockers"]

    def attach(self, path: "Union[str, os.PathLike[str]]", *, name: Optional[str] = None, labware: Optional[str] = None, note: Optional[str] = None, media_type: Optional[str] = None) -> Dict[str, Any]:
        """Attaches a file, also after the end of the run. `labware` is the labware that it is about: its name, barcode or id."""
        import mimetypes

        about = {"name": name or os.path.basename(path), "labware": labware, "note": note}
        query = urlencode({member: value for member, value in about.items() if value is not None})
        kind = media_type or mimetypes.guess_type(str(path))[0] or "application/octet-stream"
        with open(path, "rb") as file:
            return self._bench._service.send(f"{self._path}/files?{query}", file, os.fstat(file.fileno()).st_size, kind)

    def files(self) -> List[Dict[str, Any]]:
        """Its files: each with `name`, `bytes`, `sha256`, and the labware and device that it is about."""
        return self._bench.request("GET", f"{self._path}/files")["files"]

    def download(self, sha256: str, path: "Union[str, os.PathLike[str]]") -> None:
        """Saves a file under a path, which must be new. Raises `BenchError` if it does not arrive as it was attached."""
        self._bench._service.save(f"{self._path}/files/{quote(sha256, safe='')}", path, sha256=sha256)

    def record(self, kind: Optional[str] = None) -> List[Dict[str, Any]]:
        """The rows of its record, each with a `kind`: all, or those of one kind, as "action", "move" or "decision"."""
        return self._rows("record", "rows", {"kind": kind})

    def values(self) -> List[Dict[str, Any]]:
        """The values that its operations gave: a row for each, with `name`, `value`, `unit`, and the labware and device. `value()` fetches one of more than 4 KiB."""
        return self._rows("values", "values")

    def value(self, sha256: str) -> Any:
        """A value of more than 4 KiB, whose row has this `sha256` in the place of its `value`."""
        return self._bench.request("GET", f"{self._path}/values/{quote(sha256, safe='')}")["value"]

    def readings(self) -> List[Dict[str, Any]]:
        """The readings of the devices that it used, each with `at`, `device_id`, `values` and `targets`."""
        return self._rows("readings", "readings")

    def values_csv(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Saves its values as CSV, with a line for each. A file that is there is replaced."""
        self._bench._service.save(f"{self._path}/values", path, accept="text/csv")

    def readings_csv(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Saves its readings as CSV, with a line for each number and its unit. A file that is there is replaced."""
        self._bench._service.save(f"{self._path}/readings", path, accept="text/csv")

    def report(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Saves its report as one HTML file, which any browser shows and prints. A file that is there is replaced."""
        self._bench._service.save(f"{self._path}/report", path, accept="text/html")

    def _rows(self, name: str, member: str, query: Optional[Dict[str, Any]] = None) -> List[Dict[str, Any]]:
        answer = self._bench.request("GET", f"{self._path}/{name}{_query_of(query or {})}")
        _warn_of(answer)
        return answer[member]

    def pause(self) -> Dict[str, Any]:
        """Pauses each thread at its next safe point."""
        return self._bench.request("POST", f"{self._path}/pause", {})

    def resume(self) -> Dict[str, Any]:
        """Lets it go on."""
        return self._bench.request("POST", f"{self._path}/resume", {})

    def set_priority(self, priority: int) -> Dict[str, Any]:
        """Gives it another priority, from -9 to 9."""
        return self._bench.request("POST", f"{self._path}/priority", {"priority": priority})

    def note(self, text: str, tags: Optional[List[str]] = None) -> Dict[str, Any]:
        """Adds a note to its record, also after its end."""
        return self._bench.request("POST", f"{self._path}/notes", {"text": text, "tags": tags or []})

    def stop(self) -> Dict[str, Any]:
        """Aborts it: what devices do for it is halted."""
        self._bench.request("POST", f"{self._path}/stop", {"confirm": False})
        return self._bench.request("POST", f"{self._path}/stop", {"confirm": True})


def _submission_of(
    workflow: str,
    mode: str,
    variables: Optional[Dict[str, Any]],
    groups: Optional[List[Dict[str, Any]]],
    samples: Any,
    others: Dict[str, Any],
) -> Dict[str, Any]:
    body: Dict[str, Any] = {"workflow": workflow, "run_mode": mode, "variables": variables or {}, **({"groups": groups} if groups else {}), **_samples_member(samples)}
    return {**body, **{name: value for name, value in others.items() if value is not None}}


def _samples_member(samples: Any) -> Dict[str, Any]:
    """Samples as the service takes them. A DataFrame is known by its methods, so that pandas need not be there."""
    if samples is None:
        return {}
    if isinstance(samples, os.PathLike) or (isinstance(samples, str) and "\n" not in samples and "\r" not in samples):
        with open(samples, "rb") as file:
            return {"samples": _sheet_text(file.read())}
    if isinstance(samples, str):
        return {"samples": samples}
    if hasattr(samples, "to_dict") and hasattr(samples, "columns"):
        # An index with a name is a column, such as `group`.
        named = samples.reset_index() if samples.index.name is not None else samples
        samples = named.to_dict("records")
    return {"samples": [{str(name): cell for name, cell in ((name, _cell_of(value)) for name, value in row.items()) if cell is not None} for row in samples]}


def _sheet_text(content: bytes) -> str:
    if content.startswith(b"\xff\xfe"):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _cell_of(value: Any) -> Any:
    """A cell as JSON has it: NaN, NaT and NA are empty, numbers of numpy are numbers, and a date is its text."""
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return None
    return value if isinstance(value, (str, int, float, bool, list, dict)) else str(value)


def _query_of(values: Dict[str, Any]) -> str:
    """The query with the values that are not None. Of a `datetime`, also one of pandas, it has the Unix time."""
    given = {name: value.timestamp() if hasattr(value, "timestamp") else value for name, value in values.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


def _warn_of(answer: Dict[str, Any]) -> None:
    if answer.get("damaged"):
        import warnings

        warnings.warn(f"the record is not whole: {answer['damaged']} of its lines are not as they were written", stacklevel=4)


def _held_in(info: Dict[str, Any]) -> List[Dict[str, Any]]:
    # A thread that takes part in the action of another shows the decisions of that one: one decision is for both.
    return [thread for thread in info["threads"] if thread["decisions"] and (thread["waiting"] or {}).get("kind") != "peer"]


class Bench:
    """A bench. `fingerprint` is the SHA-256 of its certificate (`benchd status` shows it), for a service that no authority vouches for.
    `operator` is the name of the person, for a key that several people share: it is stored with each change as unchecked, and decides nothing.

    Every method raises `Refused`, `Busy`, `Locked`, `DeviceFailed`, `OutcomeUnknown` or `Unreachable`, which are all `BenchError`s.
    """

    def __init__(self, url: str, key: Optional[str] = None, *, fingerprint: Optional[str] = None, timeout: float = TIMEOUT_S, operator: Optional[str] = None) -> None:
        self._service = _Service(url, key, fingerprint, timeout, operator)
        self.url = url.rstrip("/")

    def __repr__(self) -> str:
        return f"Bench({self.url!r})"

    def _repr_html_(self) -> str:
        """A table of its devices, for notebooks."""

        def table() -> _Table:
            devices = self._service.look("/api/devices")["devices"]
            rows = [[one["device_id"], one["name"], one["type"], "yes" if one["is_initialized"] else "no"] for one in devices]
            return self.url, ["device", "name", "type", "initialized"], rows

        return _html_of(self.url, table)

    @classmethod
    def from_env(cls) -> "Bench":
        """The bench of `BENCHD_URL`, `BENCHD_API_KEY` and `BENCHD_FINGERPRINT`, or of `~/.config/benchd/credentials.json`; the operator of `BENCHD_OPERATOR`."""
        return cls(**_settings())

    def __getitem__(self, device_id: str) -> Device:
        return Device(self, device_id)

    def request(self, method: str, path: str, body: Any = None, *, respond_async: bool = False, if_state: Optional[str] = None) -> Any:
        """Any request of the API; `/docs` lists them. It is done once, however often its connection breaks. `if_state`: refused in another state."""
        prefer = {"Prefer": "respond-async"} if respond_async else {}
        return self._service.ask(method, path, body, prefer if if_state is None else {**prefer, "If-State": if_state})

    def devices(self) -> List[Dict[str, Any]]:
        """The devices, in the order of the configuration."""
        return self.request("GET", "/api/devices")["devices"]

    def stop(self) -> Dict[str, Any]:
        """Stops every device at once. Not a safety function."""
        return self.request("POST", "/api/stop")

    @contextmanager
    def lock(self, device_id: str, note: Optional[str] = None, *, owner: str = "python", seconds: float = 3600) -> Iterator[Device]:
        """Keeps a device for this key while the block runs, for `seconds` at most. Raises `Locked` when another has it."""
        device = self[device_id]
        wish = {"owner": owner, "ttl_s": seconds, **({"note": note} if note is not None else {})}
        self.request("PUT", f"{device._path}/lock", wish)
        try:
            yield device
        finally:
            self.request("DELETE", f"{device._path}/lock")

    @contextmanager
    def held(self, device_id: str, operation: str, params: Optional[Dict[str, Any]] = None, *, every: float = 0.05) -> Iterator[Operation]:
        """Does an operation that lasts only while it is held, such as `jog`, while the block runs: begins it, renews it from a thread, ends it gently.

        If the program ends or the network breaks, the operation ends by itself. Raises `DeviceFailed` at the end of the block when it failed or was stopped.
        """
        operated = getattr(self[device_id], operation).start(**(params or {}))
        over = threading.Event()
        threading.Thread(target=self._renew, args=(operated.operation_id, over, every), daemon=True).start()
        try:
            yield operated
        finally:
            over.set()
            operated.end()
        operated.wait()

    def _renew(self, operation_id: str, over: threading.Event, every: float) -> None:
        while True:
            try:
                status, _, _ = self._service.once(self._service.connect(), "POST", f"/api/operations/{operation_id}/renew", None, {})
            except (OSError, http.client.HTTPException, _CutOff):
                status = 0  # The next one may come through in time.
            if 400 <= status < 500 or over.wait(every):
                return

    def submit(
        self,
        workflow: str,
        *,
        mode: str = "LIVE",
        variables: Optional[Dict[str, Any]] = None,
        groups: Optional[List[Dict[str, Any]]] = None,
        samples: Any = None,
        submission_id: Optional[str] = None,
        project: Optional[str] = None,
        tags: Optional[List[str]] = None,
        notes: Optional[str] = None,
        operator_id: Optional[str] = None,
        priority: Optional[int] = None,
    ) -> Run:
        """Starts a workflow, once. With a `submission_id` (a UUID that you keep) also over restarts of your program: asked again, it is the same run. `mode`: `LIVE`, `DEVICE_SIM` (simulators in the place of the devices) or `PURE_SIM` (time alone). `project`, `tags`, `notes` and `operator_id`, the person who does it, stand in the record of the run. `samples`, in place of `groups`, has a row for each group, with `barcode` and the variables: the path of a CSV file, its text, a list of dicts, or a pandas DataFrame. If any cell is wrong, nothing begins, and `error.mistakes` has them all. `priority`: from -9 to 9; the run with the higher number goes first."""
        others = {"submission_id": submission_id, "project": project, "tags": tags, "notes": notes, "operator_id": operator_id, "priority": priority}
        answer = self.request("POST", "/api/submissions", _submission_of(workflow, mode, variables, groups, samples, others))
        return Run(self, answer["execution_id"], answer)

    def queue(self) -> Dict[str, Any]:
        """The queue of runs: `state`, `paused`, and `entries` in order, each with `why_it_waits`."""
        return self.request("GET", "/api/queue")

    def add_to_queue(
        self,
        workflow: str,
        *,
        mode: str = "LIVE",
        variables: Optional[Dict[str, Any]] = None,
        groups: Optional[List[Dict[str, Any]]] = None,
        samples: Any = None,
        start_at: Union[None, _Moment, Dict[str, str]] = None,
        requires: Optional[Dict[str, List[str]]] = None,
        on_failure: str = "stop",
        may_be_passed: bool = False,
        **others: Any,
    ) -> Dict[str, Any]:
        """Adds a run to the queue, and returns its entry. `start_at`: a `datetime`, Unix time, or `{"after": ID}` of an entry or a run. `requires`: `devices` and `labware` that must be there. `on_failure`: `stop` pauses the queue, `go_on` does not. `samples`, `priority`, `submission_id` and the others as for `submit`."""
        start = start_at if start_at is None or isinstance(start_at, (int, float, dict)) else start_at.timestamp()
        body = {"submission": _submission_of(workflow, mode, variables, groups, samples, others), "start_at": start, "requires": requires or {}}
        return self.request("POST", "/api/queue", {**body, "on_failure": on_failure, "may_be_passed": may_be_passed})

    def move_in_queue(self, entry_id: str, **to: Any) -> Dict[str, Any]:
        """Moves an entry that waits: `before` another entry, `to` `first` or `last`. Or gives it another `start_at`."""
        return self.request("POST", f"/api/queue/{quote(entry_id, safe='')}/move", to)

    def remove_from_queue(self, entry_id: str) -> Dict[str, Any]:
        """Removes an entry that waits."""
        return self.request("DELETE", f"/api/queue/{quote(entry_id, safe='')}")

    def start_queue_entry(self, entry_id: str) -> Run:
        """Starts an entry now: before its time, out of turn, also while the queue is paused."""
        answer = self.request("POST", f"/api/queue/{quote(entry_id, safe='')}/start", {})
        return Run(self, answer["execution_id"], answer)

    def pause_queue(self) -> Dict[str, Any]:
        """Lets nothing more begin. Open runs go on."""
        return self.request("POST", "/api/queue/pause", {})

    def resume_queue(self, *, since: Optional[float] = None) -> Dict[str, Any]:
        """Lets the queue go on. `since`: that of the pause that you have seen; another pause refuses it."""
        return self.request("POST", "/api/queue/resume", {} if since is None else {"since": since})

    def simulate(self, workflow: str, *, mode: str = "LIVE", variables: Optional[Dict[str, Any]] = None, samples: Any = None) -> Dict[str, Any]:
        """What a run would come to (`verdict`, `makespan_s`, `gantt`); nothing moves. `samples` as for `submit`."""
        return self.request("POST", "/api/simulations", {"workflow": workflow, "run_mode": mode, "variables": variables or {}, **_samples_member(samples)})

    def check_samples(self, workflow: str, samples: Any, *, variables: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """The groups and all mistakes (`groups`, `mistakes`) of samples as for `submit`; nothing begins."""
        return self.request("POST", f"/api/workflows/{quote(workflow, safe='')}/samples", {"variables": variables or {}, **_samples_member(samples)})

    def workflow_versions(self, workflow: str) -> List[Dict[str, Any]]:
        """The versions of a workflow, the newest first: each with `version`, `at`, `by`, `note` and `hash`. Those of a topology are at `/api/topologies/{name}/versions`."""
        return self.request("GET", f"/api/workflows/{quote(workflow, safe='')}/versions")["versions"]

    def workflow_diff(self, workflow: str, other: "Union[None, int, Dict[str, Any]]" = None, to: Optional[int] = None) -> List[str]:
        """What differs, in words: between two versions, by default the last two; or from the present workflow to a document."""
        path = f"/api/workflows/{quote(workflow, safe='')}/diff"
        if isinstance(other, dict):
            answer = self.request("POST", path, other)
        else:
            answer = self.request("GET", f"{path}{_query_of({'from': other, 'to': to})}")
        return [change["text"] for change in answer["changes"]] + answer["text_changes"]

    def restore_workflow(self, workflow: str, version: int, *, note: Optional[str] = None) -> Dict[str, Any]:
        """Puts the document of a version again, as a new version."""
        path = f"/api/workflows/{quote(workflow, safe='')}/versions/{version}/restore"
        return self.request("POST", path, {} if note is None else {"note": note})

    def run(self, execution_id: str) -> Run:
        """A run by its id."""
        return Run(self, execution_id)

    def runs(
        self,
        *,
        since: Optional[_Moment] = None,
        until: Optional[_Moment] = None,
        workflow: Optional[str] = None,
        status: Optional[str] = None,
        mode: Optional[str] = None,
        barcode: Optional[str] = None,
        tag: Optional[str] = None,
        project: Optional[str] = None,
        text: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> List[Dict[str, Any]]:
        """The runs that are kept, or those for which each of these holds, the newest first. `since` and `until` are about their start: a `datetime` or Unix time."""
        query = {"since": since, "until": until, "workflow": workflow, "status": status, "mode": mode}
        query.update({"barcode": barcode, "tag": tag, "project": project, "text": text})
        return self._pages("/api/executions", "executions", query, limit)

    def labware_history(
        self,
        barcode: str,
        *,
        since: Optional[_Moment] = None,
        until: Optional[_Moment] = None,
        mode: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> List[Dict[str, Any]]:
        """Where one labware was, over runs: its moves and actions, the newest first. Named by its barcode, or by its `labware_id`."""
        path = f"/api/labware/{quote(barcode, safe='')}/history"
        return self._pages(path, "steps", {"since": since, "until": until, "mode": mode}, limit)

    def operations(
        self,
        *,
        device_id: Optional[str] = None,
        since: Optional[_Moment] = None,
        until: Optional[_Moment] = None,
        limit: Optional[int] = None,
    ) -> List[Dict[str, Any]]:
        """What the devices did in the last day, by hand or in runs, the newest first."""
        return self._pages("/api/operations", "operations", {"device_id": device_id, "since": since, "until": until}, limit)

    def _pages(self, path: str, member: str, query: Dict[str, Any], limit: Optional[int]) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = []
        before = None
        while limit is None or len(found) < limit:
            size = _PAGE if limit is None else min(_PAGE, limit - len(found))
            page = self.request("GET", path + _query_of({**query, "limit": size, "before": before}))
            _warn_of(page)
            found += page[member]
            before = page["next"]
            if before is None:
                break
        return found

    def events(self, since: Any = None, *, file: Optional[str] = None, execution_id: Optional[str] = None) -> Iterator[Dict[str, Any]]:
        """Every event as it happens, over restarts of the service and, with `file`, of this program.

        `since`: None for what comes now, or an id. `"last"` goes on behind the id in `file`, which is written after each event has been
        taken; without a file it is as None. A program that is slower than the events reads them from the service's log, so none is lost to it.
        Where the service lost events (a power cut, a full disk) an event named `GAP` is yielded.
        """
        return _singly(self._event_pieces(since, file, execution_id))

    def _event_pieces(self, since: Any, file: Optional[str], execution_id: Optional[str]) -> _Pieces:
        cursor = _Cursor(file)
        last = cursor.read() if since == "last" else since
        query = urlencode({**({"execution_id": execution_id} if execution_id else {}), "heartbeat": 5})

        def request() -> Tuple[str, Dict[str, str]]:
            return f"/events/stream?{query}", {"Last-Event-ID": str(last)} if last is not None else {}

        for frames in self._service.streams(request):
            piece: List[Tuple[Any, Any]] = []
            for frame in frames:
                if "data" in frame:
                    piece.append((json.loads(frame["data"]), partial(cursor.write, frame["id"])))
                elif "id" in frame:
                    cursor.write(frame["id"])
                elif frame.get("") == "gap":
                    piece.append(({"event_name": "GAP", "entity_type": "GAP", "entity_id": "", "status": "", "context": {}, "execution_id": "", "timestamp": time.time()}, None))
                last = frame.get("id", last)
            yield piece

    def live(self, run: Optional[str] = None) -> Iterator[Tuple[str, str, Any]]:
        """The present state as `(kind, id, value)`, then each change of it; `value` is None when it is gone. It opens anew by itself."""
        return _singly(self._live_pieces(run))

    def _live_pieces(self, run: Optional[str]) -> _Pieces:
        path = "/api/live" + (f"?{urlencode({'run': run})}" if run else "")
        known: Dict[Tuple[str, str], Any] = {}
        seen: Set[Tuple[str, str]] = set()

        def request() -> Tuple[str, Dict[str, str]]:
            seen.clear()
            return path, {}

        for frames in self._service.streams(request):
            piece: List[Tuple[Any, Any]] = []
            for frame in frames:
                if frame.get("event") == "ready":
                    # What is gone since the stream before broke off.
                    for key in [key for key in known if key not in seen]:
                        del known[key]
                        piece.append(((*key, None), None))
                if frame.get("event") != "state":
                    continue
                message = json.loads(frame["data"])
                key = (message["kind"], message["id"])
                seen.add(key)
                if known.get(key) == message["value"]:
                    continue
                known[key] = message["value"]
                piece.append(((*key, message["value"]), None))
            yield piece


def _singly(pieces: _Pieces) -> Iterator[Any]:
    for piece in pieces:
        for step, taken in piece:
            yield step
            if taken:
                taken()


def _settings() -> Dict[str, Any]:
    url, key, fingerprint = (os.environ.get(name) for name in ("BENCHD_URL", "BENCHD_API_KEY", "BENCHD_FINGERPRINT"))
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "benchd"
    path = folder / "credentials.json"
    if path.exists() and (not url or not key):
        if path.stat().st_mode & 0o077:
            raise Refused(f"{path} holds a key, and others may read it: chmod 600 {path}", reason="config")
        found = json.loads(path.read_text())
        if not url or url.rstrip("/") == found["url"].rstrip("/"):
            url, key, fingerprint = url or found["url"], key or found["api_key"], fingerprint or found.get("fingerprint")
    if not url:
        raise Refused("no bench is named: set BENCHD_URL and BENCHD_API_KEY, or ask for a key with: benchd key pair --url URL --name NAME --scope operate", reason="config")
    return {"url": url, "key": key, "fingerprint": fingerprint, "operator": os.environ.get("BENCHD_OPERATOR")}


class _Cursor:
    """The id of the last event that was taken, in a file that is written over in place: that costs little, and needs no room on a full disk."""

    def __init__(self, file: Optional[str]) -> None:
        self._path = file
        self._file: Any = None

    def read(self) -> Optional[str]:
        try:
            return json.loads(Path(self._path).read_text())["last_event_id"].strip() if self._path else None
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused(f"{self._path} is damaged ({error}): remove it to go on with what comes now, or give an id as since", reason="config") from error

    def write(self, last: str) -> None:
        if self._path is None:
            return
        line = b'{"last_event_id": "%20s"}\n' % last.encode()
        if self._file is None:
            draft = Path(f"{self._path}.new")
            draft.write_bytes(line)
            os.replace(draft, self._path)
            self._file = open(self._path, "r+b", buffering=0)
        self._file.seek(0)
        self._file.write(line)


async def _in_thread(call: Callable[..., Any], *args: Any, **params: Any) -> Any:
    """In a thread of its own: in a pool a stop could wait for others that wait for the end of an operation. No thread holds up the end of the program."""
    import asyncio

    loop = asyncio.get_running_loop()
    answer = loop.create_future()

    def settle(how: Callable[[Any], None], value: Any) -> None:
        if not answer.done():
            how(value)

    def run() -> None:
        try:
            found = (answer.set_result, call(*args, **params))
        except BaseException as error:
            found = (answer.set_exception, error)
        try:
            loop.call_soon_threadsafe(settle, *found)
        except RuntimeError:
            pass  # The loop is closed, and nobody waits any more.

    threading.Thread(target=run, daemon=True).start()
    return await answer


class _AsyncProxy:
    """The same object, whose methods are awaited. They run in threads, so that the event loop goes on."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return f"async {self._inner!r}"

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if isinstance(found, _Doing):
            return _AsyncDoing(found)
        if not callable(found):
            return found

        async def called(*args: Any, **params: Any) -> Any:
            answer = await _in_thread(found, *args, **params)
            return _AsyncProxy(answer) if isinstance(answer, (Run, Operation)) else answer

        return called


class _AsyncDoing:
    def __init__(self, doing: _Doing) -> None:
        self._doing = doing

    async def __call__(self, *values: Any, **params: Any) -> Dict[str, Any]:
        return await _in_thread(self._doing, *values, **params)

    async def start(self, *values: Any, **params: Any) -> _AsyncProxy:
        return _AsyncProxy(await _in_thread(self._doing.start, *values, **params))


class AsyncBench(_AsyncProxy):
    """As `Bench`, for asyncio: `async with AsyncBench.from_env() as bench: await bench["shaker-1"].shake(speed=500, duration=10)`."""

    def __init__(self, url: str, key: Optional[str] = None, *, fingerprint: Optional[str] = None, timeout: float = TIMEOUT_S, operator: Optional[str] = None) -> None:
        super().__init__(Bench(url, key, fingerprint=fingerprint, timeout=timeout, operator=operator))

    @classmethod
    def from_env(cls) -> "AsyncBench":
        """As `Bench.from_env`."""
        return cls(**_settings())

    async def __aenter__(self) -> "AsyncBench":
        return self

    async def __aexit__(self, *_: Any) -> None:
        return None

    def __getitem__(self, device_id: str) -> _AsyncProxy:
        return _AsyncProxy(self._inner[device_id])

    def lock(self, device_id: str, note: Optional[str] = None, *, owner: str = "python", seconds: float = 3600) -> Any:
        """As `Bench.lock`, with `async with`."""
        return _AsyncLock(self._inner.lock(device_id, note, owner=owner, seconds=seconds))

    def held(self, device_id: str, operation: str, params: Optional[Dict[str, Any]] = None, *, every: float = 0.05) -> Any:
        """As `Bench.held`, with `async with`."""
        return _AsyncLock(self._inner.held(device_id, operation, params, every=every))

    def events(self, since: Any = None, *, file: Optional[str] = None, execution_id: Optional[str] = None) -> Any:
        """As `Bench.events`, with `async for`."""
        return _awaited_singly(self._inner._event_pieces(since, file, execution_id))

    def live(self, run: Optional[str] = None) -> Any:
        """As `Bench.live`, with `async for`."""
        return _awaited_singly(self._inner._live_pieces(run))


class _AsyncLock:
    def __init__(self, lock: Any) -> None:
        self._lock = lock

    async def __aenter__(self) -> _AsyncProxy:
        return _AsyncProxy(await _in_thread(self._lock.__enter__))

    async def __aexit__(self, *error: Any) -> None:
        await _in_thread(self._lock.__exit__, *error)


async def _awaited_singly(pieces: _Pieces) -> Any:
    end: List[Any] = []
    while True:
        piece = await _in_thread(next, pieces, end)
        if piece is end:
            return
        for step, taken in piece:
            yield step
            if taken:
                taken()
