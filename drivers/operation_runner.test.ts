import { getEventListeners } from 'node:events'
import { test } from 'tap'
import { LabError } from '../src/errors.ts'
import { OperationRunner } from './operation_runner.ts'

function started() {
  let lose: (reason: string) => void = () => {}
  const going = new OperationRunner({
    onLost: (call) => {
      lose = call
    },
  })
  const seen: AbortSignal[] = []
  const untilAborted = going.operation(async (_: object, signal) => {
    seen.push(signal)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  return { going, untilAborted, seen, lose: (reason: string) => lose(reason) }
}

test('an operation ends by its own signal, by a stop, and with the line', async (t) => {
  const { going, untilAborted, lose } = started()
  const mine = new AbortController()
  const ended = [
    untilAborted({}, mine.signal),
    untilAborted({}, new AbortController().signal),
    untilAborted({}, new AbortController().signal),
  ]
  mine.abort(new LabError('stopping', 'mine'))
  await t.rejects(ended[0]!, { code: 'stopping' })
  going.end(new LabError('stopped', 'a stop'))
  await t.rejects(ended[1]!, { code: 'stopped' })
  await t.rejects(ended[2]!, { code: 'stopped' })
  const next = untilAborted({}, new AbortController().signal)
  lose('unplugged')
  await t.rejects(next, { code: 'disconnected', message: /unplugged/ })
  await t.rejects(untilAborted({}, mine.signal), { code: 'stopping' }, 'one that is aborted already does not begin')
})

test('an operation that has ended leaves nothing behind', async (t) => {
  const { going, seen } = started()
  const { signal } = new AbortController()
  const work = going.operation(async (n: number, its) => {
    seen.push(its)
    return n + 1
  })
  t.equal(await work(1, signal), 2)
  t.same(getEventListeners(signal, 'abort'), [])
  going.end(new LabError('stopped', 'a stop'))
  t.notOk(seen[0]!.aborted)
})

test('an operation gets what the service gives besides the signal', async (t) => {
  const { going } = started()
  const operation = going.operation(async (_: object, _signal, { progressed }: { progressed(): string }) => progressed())
  t.equal(await operation({}, new AbortController().signal, { progressed: () => 'half' }), 'half')
})
