// Programs that misbehave behind a device, for tests and for the benchmark of stops beside them.

const described = JSON.stringify({ protocol: 1, type: 'reader', model: 'Bad', operations: { read: { seconds: 0.1, margin_s: 0.2 } } })
/** Returns a program that behaves until it is asked for `bad`, and then runs `answer`. */
export const speaks = (bad: string, answer: string) => `
import json, os, subprocess, sys, time
def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line); id = asked["id"]; method = asked["method"]
    if method == ${JSON.stringify(bad)}:
        ${answer}
    elif method == "describe":
        say({"id": id, "result": json.loads(${JSON.stringify(described)})})
    else:
        say({"id": id, "result": {}})
`

/** A transporter that works until it is asked for `bad`. In `answer`, `done()` is what a right answer and its evidence are. */
const carries = (bad: string, answer: string) => `
import json, os, sys
gripper = {"pick": "full", "place": "empty"}
seen = {"state": "unhomed", "gripper": "empty"}
def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n"); sys.stdout.flush()
def done():
    if method in gripper: seen.update(state="idle", gripper=gripper[method])
    say({"id": id, "result": {}})
for line in sys.stdin:
    asked = json.loads(line); id = asked["id"]; method = asked["method"]
    if method in ("pick", "place"):
        with open(__file__ + ".log", "a") as log: log.write(method + "\\n")
    if method == ${JSON.stringify(bad)}:
        ${answer}
    elif method == "describe":
        say({"id": id, "result": {"protocol": 1, "type": "transporter", "model": "Bad", "points": "own", "operations": {}}})
    elif method == "where":
        say({"id": id, "result": seen})
    else:
        if method == "initialize": seen["state"] = "idle"
        if method == "halt": seen["state"] = "stopped"
        done()
`

const refuses =
  'seen.update(gripper=gripper[method]); say({"id": id, "error": {"code": -32000, "message": "no", "data": {"reason": "interlock"}}})'

/** Transporters that misbehave, keyed by what they do: the program, and the sentence of the move that fails. */
export const badTransporters: Record<string, [program: string, fault: RegExp]> = Object.fromEntries(
  (['pick', 'place'] as const).flatMap((verb): [string, [string, RegExp]][] => [
    [
      `lies about its gripper after a ${verb}`,
      [carries(verb, 'say({"id": id, "result": {}})'), /says that \w+ is done, and its gripper is/],
    ],
    [`still moves after a ${verb}`, [carries(verb, 'done(); seen["state"] = "moving"'), /says that \w+ is done, and it is moving/]],
    [`answers a ${verb} twice`, [carries(verb, 'done(); done()'), /answered it twice/]],
    [
      `answers a ${verb} with nonsense where it is`,
      [carries(verb, 'done(); seen["state"] = "somewhere"'), /its answer to where: state must be/],
    ],
    [`refuses a ${verb} that it has done`, [carries(verb, refuses), /says that it refused \w+, and its gripper is/]],
    [
      `is silent during a ${verb}`,
      [carries(verb, 'for line in sys.stdin:\n            if "halt" in line: os._exit(3)'), /does not answer while it moves/],
    ],
    [`never ends a ${verb}`, [carries(verb, 'seen["state"] = "moving"'), /did not arrive within 2 s/]],
    [`dies in the middle of a ${verb}`, [carries(verb, 'os.kill(os.getpid(), 9)'), /it was ended by SIGKILL/]],
  ]),
)

/** Keyed by the misbehaviour: the program, and the sentence of the fault. */
export const badPrograms: Record<string, [program: string, fault: RegExp]> = {
  'prints garbage': [
    speaks('initialize', 'print("Traceback: \\x00", flush=True)'),
    /it wrote a line that is no message of JSON-RPC: "Traceback/,
  ],
  'prints without an end': [speaks('initialize', 'sys.stdout.write("x" * 1000000000)'), /it wrote a line of more than 1 MiB/],
  'never stops talking': [
    speaks('initialize', 'while True: say({"method": "progress", "params": {}})'),
    /it wrote more than 1000 messages within a second/,
  ],
  'answers twice': [speaks('initialize', 'say({"id": id, "result": {}}); say({"id": id, "result": {}})'), /answered it twice: id \d/],
  'answers what nobody asked': [speaks('initialize', 'say({"id": 4711, "result": {}})'), /a question that nobody asked.*id 4711/],
  'asks by itself': [speaks('initialize', 'say({"id": 1, "method": "sample"})'), /it asked sample, and a bridge only answers/],
  ends: [
    speaks('initialize', 'print("no licence", file=sys.stderr); sys.exit(7)'),
    /it ended with exit status 7; its last words: no licence/,
  ],
  'is reported as ended by its supervisor': [
    speaks('initialize', 'say({"method": "ended", "params": {"reason": "it needs more memory than it may have"}})'),
    /it needs more memory than it may have/,
  ],
  'is killed': [speaks('initialize', 'os.kill(os.getpid(), 9)'), /it was ended by SIGKILL/],
  'forks and survives': [
    speaks('initialize', 'subprocess.Popen(["sleep", "4711"], start_new_session=True, stdout=subprocess.DEVNULL); os._exit(0)'),
    /it ended with exit status 0/,
  ],
  'answers nonsense': [speaks('perform', 'say({"id": id, "result": {"message": 7}})'), /its answer to read: message must be a text/],
  'describes nonsense': [
    speaks('describe', 'say({"id": id, "result": {"protocol": 1, "type": "reader"}})'),
    /its description: model is missing/,
  ],
  'describes what nobody knows': [
    speaks(
      'describe',
      'say({"id": id, "result": {"protocol": 1, "type": "reader", "model": "M", "operations": {"read": {"seconds": 1, "params": {"properties": {"a": {"type": "list"}}}}}}})',
    ),
    /its description: operations.read.params.properties.a.type must be number, integer, string, boolean, array or object, or a list of these/,
  ],
  'describes another operation by a known name': [
    speaks(
      'describe',
      'say({"id": id, "result": {"protocol": 1, "type": "reader", "model": "M", "operations": {"shake": {"seconds": 1}}}})',
    ),
    /shake is an operation of every bench and takes the numbers speed and duration/,
  ],
  'is another': [
    speaks('describe', 'say({"id": id, "result": {"protocol": 1, "type": "cycler", "model": "M", "operations": {}}})'),
    /a cycler, and the configuration says reader/,
  ],
  'never answers a question': [speaks('check', 'pass'), /it has not answered check within 5 s/],
  'never answers an operation': [speaks('perform', 'pass'), /read did not end within 0\.3 s/],
  // The operation holds the lock of the interpreter, so no thread of the program can read.
  'blocks in C code': [speaks('perform', '__import__("ctypes").PyDLL(None).sleep(4711)'), /read did not end within 0\.3 s/],
}
