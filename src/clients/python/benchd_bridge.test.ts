// The library of bridges as a program that is given lines, without a bench.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { withPython } from '../../testing/python.ts'

const library = new URL('../../../../src/clients/python', import.meta.url).pathname
const imports = `
import sys
sys.path.insert(0, ${JSON.stringify(library)})
`
const program = `${imports}
from benchd_bridge import Bridge, reading

class Reader(Bridge):
    asked = 0

    def temperature(self):
        self.asked += 1
        return self.asked + 0.5

    @reading("mbar")
    def pressure(self):
        return 900, 1000

Reader().serve()
`

/** The second thread takes the turn of the first in the moment in which the first, whose answer took so long, is about to read again. */
const meeting = `${imports}
import os, threading, benchd_bridge
from benchd_bridge import Bridge

released, reads, both, read = threading.Event(), threading.Event(), threading.Event(), os.read

def isFirst():
    return threading.current_thread() is threading.main_thread()

def reading(*where):
    if isFirst() and released.is_set():
        reads.set()
        both.wait()
    return read(*where)

os.read = reading

class Turn(benchd_bridge._Turn):
    def __init__(self):
        super().__init__()
        if not isFirst():
            released.set()
            reads.wait()

benchd_bridge._Turn = Turn

class Slow(Bridge):
    def temperature(self):
        released.wait()
        return 20

    def _read(self):
        if not isFirst():
            both.set()
        super()._read()
        reads.set()

Slow().serve()
`

/** Starts a program, whose input stays open: at its end the program would not wait for an answer that takes longer. `ask` resolves with the next line. */
function begun(t: Test, code: string) {
  const child = spawn('python3', ['-c', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<string> => (await lines.next()).value
  const write = (line: string | Buffer) => void [line, '\n'].map((part) => child.stdin.write(part))
  const ask = (line: string | Buffer) => {
    write(line)
    return next()
  }
  return { ask, write, next }
}

withPython('each question gets its own answer, whatever of it was asked before, and in whatever form it is written', async (t) => {
  const read = (id: unknown, name: string) => `{"jsonrpc":"2.0","id":${id},"method":"read","params":{"reading":"${name}"}}`
  const lines = [
    ...[read(1, 'temperature'), read(2, 'temperature'), read(3, 'pressure'), read(4, 'pressure'), read(5, 'humidity'), read(6, 'humidity')],
    '{"jsonrpc": "2.0", "id": 7, "method": "read", "params": {"reading": "temperature"}}',
    '{"method":"read","params":{"reading":"temperature"},"id":8,"jsonrpc":"2.0"}',
    '{"method":"read","params":{"reading":"temperature"},"id":9,"jsonrpc":"2.0"}',
    read(10, 'temperature'),
    ...['{"jsonrpc":"2.0","id":11,"method":"check"}', '{"jsonrpc":"2.0","id":12,"method":"check"}'],
  ]
  const { ask } = begun(t, program)
  const answers = []
  for (const line of lines) answers.push(JSON.parse(await ask(line)))
  t.same(
    answers.map(({ id, result, error }) => [id, result ?? error.message]),
    [
      ...[1, 2].map((id) => [id, { value: id + 0.5, target: null }]),
      ...[3, 4].map((id) => [id, { value: 900, target: 1000 }]),
      ...[5, 6].map((id) => [id, 'there is no reading humidity']),
      ...[7, 8, 9, 10].map((id, i) => [id, { value: i + 3.5, target: null }]),
      ...[11, 12].map((id) => [id, {}]),
    ],
  )
})

withPython('a line that is no request is answered so, and the next one is read', async (t) => {
  const lines = [
    'garbage',
    '\u{fffd}{',
    '[]',
    '{"method":"check"}',
    '{"id":"x","method":"check"}',
    '7',
    '{"jsonrpc":"2.0","id":1,"method":"check"}',
  ]
  // The bench ends a program that answers with more than 1 MiB.
  const { ask, next } = begun(t, program)
  const output = [await ask(Buffer.concat([Buffer.alloc(400_000, 0xff), Buffer.from(`\n${lines.join('\n')}`)]))]
  while (output.length <= lines.length) output.push(await next())
  const codes = output.map((line) => JSON.parse(line)).map(({ id, error }) => `${id}: ${error?.code ?? 'answered'}`)
  // Another line may be read while the long one is decoded.
  t.same(codes.sort(), [...Array(4).fill('null: -32600'), ...Array(3).fill('null: -32700'), '1: answered'].sort())
  t.ok(output.join().length < 4096, 'and is not repeated')
})

withPython('a thread whose turn is taken as it has answered reads no more, and every question is answered', async (t) => {
  const { ask } = begun(t, meeting)
  for (const id of [1, 2, 3, 4]) {
    const line = `{"jsonrpc":"2.0","id":${id},"method":"read","params":{"reading":"temperature"}}`
    t.match(JSON.parse(await ask(line)), { id, result: { value: 20 } })
  }
})

/** The operation ends at the second halt, so that `initialize` waits for its end while that halt comes. */
const waiting = `${imports}
import threading
from benchd_bridge import Bridge, operation

class Slow(Bridge):
    halts, halted, ended, initialized = 0, threading.Event(), threading.Event(), 0

    def initialize(self):
        self.initialized += 1

    @operation(seconds=1)
    def work(self) -> None:
        self.ended.wait()

    def halt(self):
        self.halts += 1
        if self.halts == 2:
            self.ended.set()

    def temperature(self):
        return float(self.initialized)

Slow().serve()
`

withPython('initialize that waits for the end of an operation does not begin after another halt', async (t) => {
  const { write, next } = begun(t, waiting)
  const ask = (id: number, method: string, params = {}) => write(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  const answer = async () => JSON.parse(await next())
  ask(1, 'perform', { operation: 'work', params: {}, operation_id: 'o' })
  ask(2, 'halt')
  t.same(await answer(), { jsonrpc: '2.0', id: 2, result: {} })
  ask(3, 'initialize')
  ask(4, 'halt')
  const answers = new Map([await answer(), await answer(), await answer()].map((one) => [one.id, one]))
  t.match(answers.get(4), { result: {} })
  t.match(answers.get(3), { error: { message: 'it was halted before this began', data: { reason: 'interlock', hint: 'initialize it' } } })
  ask(5, 'read', { reading: 'temperature' })
  t.match(await answer(), { id: 5, result: { value: 0 } }, 'nothing began')
  ask(6, 'initialize')
  t.match(await answer(), { id: 6, result: {} })
})
