// The annotations of a bridge's methods as parameters in JSON, and its results as values in JSON.

import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import type { Test } from 'tap'
import { programFile } from '../../testing/bridges.ts'
import { withPython } from '../../testing/python.ts'

/** Runs a program beside the libraries, and returns the JSON that it says. */
function said(t: Test, program: string): unknown[] {
  const head = `
import dataclasses, datetime, enum, json, pathlib
from typing import *
import benchd_bridge
from benchd_bridge import *
from benchd_bridge import Params, plain, shape_of
class Mode(enum.Enum): FAST = 1; SLOW = "s"
class Status(enum.IntFlag): A = 1; B = 2
@dataclasses.dataclass
class Step:
    temperature: float
    hold: Optional[float] = None
@dataclasses.dataclass
class Protocol:
    steps: List[Step]
    mode: Mode = Mode.FAST
class Pair(NamedTuple):
    row: int
    column: int = 1
class Entry(TypedDict):
    name: str
def say(*values):
    print(json.dumps(values))
def schema(annotation):
    return shape_of(annotation).schema
def error(call):
    try:
        return ["no error", repr(call())]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
`
  const path = dirname(programFile(t, ''))
  const text = execFileSync('python3', ['-c', `${head}${program}`], { cwd: path, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const step = {
  type: 'object',
  properties: { temperature: { type: 'number' }, hold: { type: ['number', 'null'] } },
  required: ['temperature'],
}

withPython('each annotation has a schema, and makes the Python value of a JSON value', async (t) => {
  const rows: [annotation: string, schema: object, json: unknown, python: string][] = [
    ['int', { type: 'integer' }, 3, '3'],
    ['float', { type: 'number' }, 3, '3.0'],
    ['bool', { type: 'boolean' }, true, 'True'],
    ['Union[int, float]', { type: 'number' }, 3, '3'],
    ['Optional[str]', { type: ['string', 'null'] }, null, 'None'],
    ['Union[int, str, None]', { type: ['integer', 'string', 'null'] }, 'a', "'a'"],
    ['Literal["fast", "slow"]', { type: 'string', enum: ['fast', 'slow'] }, 'slow', "'slow'"],
    ['Literal[1, "off"]', { type: ['integer', 'string'], enum: [1, 'off'] }, 1, '1'],
    ['Union[float, Literal["auto"]]', { type: ['number', 'string'], description: 'or one of: auto' }, 'auto', "'auto'"],
    ['Mode', { type: 'string', enum: ['FAST', 'SLOW'] }, 'SLOW', "<Mode.SLOW: 's'>"],
    ['Status', { type: 'array', items: { type: 'string', enum: ['A', 'B'] } }, ['A', 'B'], '<Status.A|B: 3>'],
    ['List[float]', { type: 'array', items: { type: 'number' } }, [1, 2.5], '[1.0, 2.5]'],
    ['Sequence[Mode]', { type: 'array', items: { type: 'string', enum: ['FAST', 'SLOW'] } }, ['FAST'], '[<Mode.FAST: 1>]'],
    ['Set[int]', { type: 'array', items: { type: 'integer' } }, [1, 1], '{1}'],
    ['Tuple[int, int]', { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 }, [1, 2], '(1, 2)'],
    ['Tuple[int, ...]', { type: 'array', items: { type: 'integer' } }, [1, 2, 3], '(1, 2, 3)'],
    ['Union[int, List[int]]', { type: ['integer', 'array'], items: { type: 'integer' } }, [1], '[1]'],
    ['Dict[int, float]', { type: 'object' }, { 1: 2 }, '{1: 2.0}'],
    ['Step', step, { temperature: 95 }, 'Step(temperature=95.0, hold=None)'],
    [
      'Protocol',
      {
        type: 'object',
        properties: { steps: { type: 'array', items: step }, mode: { type: 'string', enum: ['FAST', 'SLOW'] } },
        required: ['steps'],
      },
      { steps: [{ temperature: 4, hold: 1 }], mode: 'SLOW' },
      "Protocol(steps=[Step(temperature=4.0, hold=1.0)], mode=<Mode.SLOW: 's'>)",
    ],
    [
      'Pair',
      { type: 'object', properties: { row: { type: 'integer' }, column: { type: 'integer' } }, required: ['row'] },
      { row: 2 },
      'Pair(row=2, column=1)',
    ],
    ['Entry', { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }, { name: 'a' }, "{'name': 'a'}"],
    ['bytes', { type: 'string', description: 'bytes as hexadecimal digits' }, 'ff00', "b'\\xff\\x00'"],
    ['datetime.date', { type: 'string', description: 'a day such as 2026-11-29' }, '2026-11-29', 'datetime.date(2026, 11, 29)'],
    ['Any', { type: ['number', 'string', 'boolean', 'array', 'object', 'null'] }, { a: 1 }, "{'a': 1}"],
  ]
  const program = rows
    .map(
      ([annotation, , json]) =>
        `say(schema(${annotation}), repr(shape_of(${annotation}).make(json.loads(${JSON.stringify(JSON.stringify(json))}))))`,
    )
    .join('\n')
  for (const [index, found] of said(t, program).entries()) {
    const [annotation, schema, , made] = rows[index]!
    t.same(found, [schema, made], annotation)
  }
})

withPython('a value that does not fit is refused, with its place', async (t) => {
  t.same(
    said(
      t,
      `
def run(protocol: Protocol, pair: Tuple[int, int] = (1, 2), speed: Union[float, Literal["auto"]] = 1): pass
params = Params(run, is_bound=True)
say(error(lambda: params.values({"protocol": {"steps": [{"temperature": "hot"}]}})))
say(error(lambda: params.values({"protocol": {"steps": []}, "pair": [1]})))
say(error(lambda: params.values({"protocol": {"steps": []}, "speed": "quick"})))
say(error(lambda: params.values({"protocol": {"step": []}})))
say(error(lambda: params.values({"protocol": {}})))
say(error(lambda: params.values({"other": 1})))
say(error(lambda: shape_of(bool).make(1)), error(lambda: shape_of(int).make(True)), error(lambda: shape_of(Mode).make("QUICK")))`,
    ),
    [
      ["Invalid: protocol: steps: temperature: 'hot' is no number"],
      ['Invalid: pair: [1] is no list of 2 values'],
      ["Invalid: speed: 'quick' is none of auto, and 'quick' is no number"],
      ['Invalid: protocol: step is unknown'],
      ['Invalid: protocol: steps is missing'],
      ['Invalid: there is no parameter other'],
      ['ValueError: 1 is no boolean', 'ValueError: True is no integer', "ValueError: 'QUICK' is none of FAST, SLOW"],
    ],
  )
})

withPython('a parameter that cannot come from JSON is left out where it has a default, else its method is no operation', async (t) => {
  t.same(
    said(
      t,
      `
class Reader(Bridge):
    @operation(seconds=1)
    def read(self, wavelength: int = 600, then: Optional[Callable[[int], None]] = None, untold=2.5, anything=None, mode: Mode = Mode.SLOW, at: datetime.datetime = datetime.datetime.now()): pass
    @operation(seconds=1)
    def each(self, do: Callable[[int], None]): pass
    @operation(seconds=1)
    def later(self, kind: "Unknown", level: Optional[int] = None): pass
described = Reader().describe()["operations"]
say(list(described), described["read"]["params"])
class Node:
    def __init__(self, next: "Node"): pass
@dataclasses.dataclass
class Tree:
    left: "Tree"
say(error(lambda: shape_of(Tree)))`,
    ),
    [
      [
        ['read'],
        {
          type: 'object',
          properties: {
            wavelength: { type: 'integer', default: 600 },
            untold: { type: 'number', default: 2.5 },
            anything: { type: ['number', 'string', 'boolean', 'array', 'object'] },
            mode: { type: 'string', enum: ['FAST', 'SLOW'], default: 'SLOW' },
            at: { type: 'string', description: 'a time such as 2026-11-29T09:00:00' },
          },
          required: [],
        },
      ],
      ["TypeError: a value of <class '__main__.Tree'> may hold another one of its kind, without end"],
    ],
  )
})

withPython('a result of any shape becomes JSON', async (t) => {
  t.same(
    said(
      t,
      `
class Array:
    def tolist(self): return [[1.5, float("nan")], [2, 3]]
class Strange:
    def __str__(self): return "strange"
say(plain({"array": Array(), "step": Step(1), "pair": Pair(1), "mode": Mode.FAST, "status": Status.A, "bytes": b"\\x01", "set": {1}, 3: float("inf")}))
say(plain(datetime.datetime(2026, 11, 29, 9)), plain(datetime.timedelta(minutes=1)), plain(Strange()), plain((1, None, True)))
endless = []
endless.append(endless)
say(len(json.dumps(plain(endless))) < 200)`,
    ),
    [
      [
        {
          array: [
            [1.5, null],
            [2, 3],
          ],
          step: { temperature: 1, hold: null },
          pair: { row: 1, column: 1 },
          mode: 'FAST',
          status: 'A',
          bytes: '01',
          set: [1],
          3: null,
        },
      ],
      ['2026-11-29T09:00:00', 60, 'strange', [1, null, true]],
      [true],
    ],
  )
})

withPython('what the bench would refuse with the whole description is left out: parameters, and defaults', async (t) => {
  const rows: [parameter: string, schema: object | null, left_out?: RegExp][] = [
    ['größe: int = 1', null, /'größe' is no name for the bench, which takes a letter/],
    ['constructor: int = 1', null, /neither constructor nor prototype/],
    ['a: None = None', null, /it has no value but None/],
    ['a: Literal[None] = None', null, /it has no value but None/],
    ['a: enum.Enum = Mode.FAST', null, /has no members/],
    ['a: enum.IntFlag = Status.A', { type: 'integer' }],
    ['a: Literal[b"x"] = b"x"', null, /cannot come from JSON/],
    ['a: Literal[Mode.FAST] = Mode.FAST', { type: 'string', enum: ['FAST'], default: 'FAST' }],
    ['a: Deep = {}', null, /nested deeper than 8 levels/],
    ['a: int = 1, /', null, /it has no name in a call/],
    ['a: str = "x" * 2000', { type: 'string' }],
    ['a: int = 10 ** 400', { type: 'integer' }],
    ['a: Any = Mute()', { type: ['number', 'string', 'boolean', 'array', 'object', 'null'], default: '<Mute>' }],
  ]
  const program = `
class Mute:
    def __str__(self): raise RuntimeError("mute")
Deep = List[List[List[List[List[List[List[List[List[int]]]]]]]]]
def parameters(text):
    scope = dict(globals())
    exec(f"def method(self, {text}): pass", scope)
    params = Params(scope["method"])
    return [list(params.schema["properties"].values()), list(params.left_out.values())]
say(*map(parameters, ${JSON.stringify(rows.map(([parameter]) => parameter))}))`
  const [all] = said(t, program) as [[object[], string[]][]]
  for (const [i, [parameter, schema, leftOut]] of rows.entries()) {
    const [properties, reasons] = all[i]!
    t.same(properties, schema ? [schema] : [], parameter)
    t.equal(reasons.length, leftOut ? 1 : 0, parameter)
    if (leftOut) t.match(reasons[0], leftOut, parameter)
  }
})

withPython('a result that holds itself, or whose parts raise, becomes text', async (t) => {
  const program = `
class Mute:
    def __str__(self): raise RuntimeError("mute")
class Item:
    def item(self): raise KeyError("no item")
    def __str__(self): return "an item"
wide = []
wide.extend([wide] * 4)
say(plain(wide), plain({"a": Mute(), "b": [Item()]}))`
  t.same(said(t, program), [[Array(4).fill('[[...], [...], [...], [...]]'), { a: '<Mute>', b: ['an item'] }]])
})
