"""A protocol for an Opentrons Flex that shakes a plate on a bench between two of its own steps. It needs the standard library alone.

The robot reads the address and the key of the bench from /data/benchd.json: {"url": "http://bench-1.local:8520", "key": "bk_..."}.
The key needs the scope operate. BENCHD_URL and BENCHD_API_KEY come first, where the environment has them.
"""

import http.client
import json
import os
import time
import urllib.error
import urllib.request
import uuid

metadata = {"protocolName": "Shake a plate on the bench", "author": "benchd"}
requirements = {"robotType": "Flex", "apiLevel": "2.18"}

SETTINGS = "/data/benchd.json"
#: Seconds after which an answer counts as lost. The bench answers at once.
TIMEOUT_S = 10
#: A request without an answer is repeated every second for so many seconds, and a stop at once.
REPEAT_S = 30
STOP_ATTEMPTS = 3
#: Seconds between two looks at a long operation. Each pause is a line in the run log.
LONGEST_PAUSE_S = 10
#: The bench did nothing, and a moment later it may accept the same request.
PASSING = ("starting", "stopping", "overloaded", "in_progress")
#: After a lost answer such a refusal of the repeated request does not tell whether the bench carried out the first one.
TELLS_NOTHING = (401, 403, 429)


def add_parameters(parameters):
    parameters.add_str(
        variable_name="device_id",
        display_name="Shaker",
        default="shaker-1",
        choices=[{"display_name": "shaker-1", "value": "shaker-1"}, {"display_name": "shaker-2", "value": "shaker-2"}],
    )
    parameters.add_int(variable_name="speed", display_name="Speed", default=500, minimum=200, maximum=3000, unit="rpm")
    parameters.add_int(variable_name="duration", display_name="Duration", default=10, minimum=1, maximum=3600, unit="s")


def run(protocol):
    plate = protocol.load_labware("corning_96_wellplate_360ul_flat", "C2")
    reservoir = protocol.load_labware("nest_12_reservoir_15ml", "C1")
    tips = protocol.load_labware("opentrons_flex_96_tiprack_200ul", "B1")
    protocol.load_trash_bin("A3")
    pipette = protocol.load_instrument("flex_1channel_1000", "left", tip_racks=[tips])
    bench = Bench(protocol)
    shaker = protocol.params.device_id

    pipette.transfer(50, reservoir["A1"], plate["A1"])
    bench.perform(shaker, "initialize")
    protocol.pause("Put the plate from C2 on %s, then resume." % shaker)
    bench.perform(shaker, "lock_plate")
    bench.perform(shaker, "shake", speed=protocol.params.speed, duration=protocol.params.duration)
    bench.perform(shaker, "unlock_plate")
    protocol.pause("Put the plate from %s back in C2, then resume." % shaker)
    pipette.transfer(50, reservoir["A2"], plate["A1"])


class BenchError(Exception):
    """The message is the sentence in which the bench says what happened and what to do."""


class Refused(BenchError):
    """The bench answered a request with an error."""

    def __init__(self, sentence, tells_nothing):
        super().__init__(sentence)
        self.tells_nothing = tells_nothing


class Unanswered(BenchError):
    """The bench may have carried out the request or not."""


class Passing(BenchError):
    """The bench did not carry out the request, and may do so a moment later."""


class Bench:
    """Performs operations of the devices of a bench. In a simulation it does nothing."""

    def __init__(self, protocol):
        self.protocol = protocol
        if protocol.is_simulating():
            return
        settings = {"url": os.environ.get("BENCHD_URL"), "key": os.environ.get("BENCHD_API_KEY")}
        try:
            if not (settings["url"] and settings["key"]):
                with open(SETTINGS) as file:
                    settings = json.load(file)
            self.url = settings["url"].rstrip("/")
            self.key = settings["key"]
        except (OSError, ValueError, LookupError) as error:
            sentence = 'The robot finds no address of a bench (%r). Write {"url": "...", "key": "..."} into %s.'
            raise BenchError(sentence % (error, SETTINGS)) from error

    def perform(self, device_id, operation, **params):
        """Performs an operation and waits until it has ended. Raises BenchError if it fails. Stops the device if the run is cancelled meanwhile."""
        if self.protocol.is_simulating():
            return
        headers = {"Prefer": "respond-async", "Idempotency-Key": str(uuid.uuid4())}
        has_begun = False
        try:
            record = self.ask("POST", "/api/devices/%s/perform" % device_id, {"operation": operation, "params": params}, headers)
            has_begun = True
            seconds = 1
            while record["status"] == "running":
                # The robot raises its own error here when somebody cancels the run. During time.sleep() it could not.
                self.protocol.delay(seconds=seconds)
                seconds = min(seconds + 1, LONGEST_PAUSE_S)
                record = self.ask("GET", "/api/operations/%s" % record["operation_id"])
        except BaseException as error:
            # A refused operation has not begun, and somebody else may be using the device.
            if has_begun or not isinstance(error, (Refused, Passing)):
                self.stop(device_id)
            raise
        if record["detail"]:
            raise BenchError(record["detail"])
        if not record["result"]["success"]:
            raise BenchError("%s of %s: %s. Look at the device." % (operation, device_id, record["result"]["message"]))
        if record["ended_early"]:
            raise BenchError("Somebody ended %s of %s early. Look at the plate before you go on." % (operation, device_id))

    def stop(self, device_id):
        """Stops a device at once. Raises BenchError if the device may still be on."""
        for attempt in range(STOP_ATTEMPTS):
            try:
                answer = self.send("POST", "/api/devices/%s/stop" % device_id)
                break
            except (Unanswered, Passing) as error:
                if attempt == STOP_ATTEMPTS - 1:
                    raise BenchError("The stop did not reach %s. Stop the device at the bench. %s" % (device_id, error)) from error
        if not answer["success"]:
            raise BenchError(answer["message"])

    def ask(self, method, path, body=None, headers=None):
        """Repeats a request until it is answered. A repeated POST has the same Idempotency-Key, so the bench carries it out once."""
        give_up = time.monotonic() + REPEAT_S
        is_doubtful = False
        while True:
            try:
                return self.send(method, path, body, headers)
            except Refused as error:
                if is_doubtful and error.tells_nothing:
                    raise Unanswered("Nobody knows whether the bench carried out the request: %s" % error) from error
                raise
            except (Unanswered, Passing) as error:
                is_doubtful = is_doubtful or isinstance(error, Unanswered)
                if time.monotonic() >= give_up:
                    raise Unanswered(str(error)) if is_doubtful else error
            self.protocol.delay(seconds=1)

    def send(self, method, path, body=None, headers=None):
        """Sends a request once and returns the JSON of its answer."""
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        all_headers = {"X-API-Key": self.key, "Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.url + path, content, all_headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            reason, sentence = error.headers.get("X-Reason"), sentence_of(error)
            if reason in PASSING:
                raise Passing(sentence) from error
            if error.code in (502, 503, 504):
                raise Unanswered(sentence) from error
            raise Refused(sentence, reason == "conflict" or error.code in TELLS_NOTHING) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            sentence = "The bench at %s does not answer (%s). See that it runs and that the robot reaches it, and look at the device."
            raise Unanswered(sentence % (self.url, error)) from error


def sentence_of(error):
    try:
        return json.load(error)["detail"]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return "The answer was %s, and it was not from a bench. See the address in %s." % (error.code, SETTINGS)
