import { test } from 'tap'
import { Kept } from '../../testing/workflow.ts'
import { Entry, RunState } from './entry.ts'
import { Labware } from './labware.ts'
import { apart } from './parts.ts'
import { type Kinds, ThreadState } from './run.ts'

/** A group whose JSON is counted. */
function counted(group_id: string, made: string[]) {
  const state = { submission_id: 's', group_id, open: 0, is_complete: false, ended: {} }
  Object.defineProperty(state, 'toJSON', { value: () => made.push(group_id) && { ...state } })
  return state
}

function runOf(groups: number) {
  const made: string[] = []
  const run = new RunState()
  const entries = Array.from({ length: groups }, (_, i) => new Entry(run, 'group', counted(`g${i}`, made), `s g${i}`))
  return { run, entries, made }
}

test('a run that is not written remembers no changes; once it is, all of it is written, and then what has changed', (t) => {
  const { run, entries, made } = runOf(1000)
  entries[0]!.set({ open: 1 })
  run.writeTo(new Kept(), 'run')
  t.equal([...run.changes()].length, 1000)
  made.length = 0
  t.same([...run.changes()], [])
  entries[7]!.set({ open: 2 })
  entries[7]!.setIn('ended', entries[7]!.state.ended, { COMPLETED: 1 })
  const text = '{"submission_id":"s","group_id":"g7","open":2,"is_complete":false,"ended":{"COMPLETED":1}}'
  t.same([...run.changes()], [['group s g7', text]])
  t.same(made, ['g7'], 'however many values there are, the JSON of one is made')
  t.equal(run.standing.get('group s g7'), text)
  t.end()
})

test('what is written apart are members of a thread and of its labware', (t) => {
  for (const [name, its] of Object.entries(apart.thread!.often)) {
    t.ok(name in ThreadState.entries, name)
    if (its !== true) for (const inner of its) t.ok(inner in Labware.entries, inner)
  }
  t.end()
})

/** A thread with the members that tell its parts apart. */
const threadState = () =>
  ({
    ...{ thread_id: 't', status: 'CREATED', since: 1, seat: 'pad', last_error: null, move: { status: 'PICKING' } },
    labware: { name: 'plate', barcode: null, held_by: null },
  }) as unknown as Kinds['thread']

test('what changes often of a thread is written apart from the rest, and a change writes its part alone', (t) => {
  const run = new RunState()
  const state = threadState()
  const thread = new Entry(run, 'thread', state, 't')
  run.writeTo(new Kept(), 'run')
  const written = () => Object.fromEntries([...run.changes()].map(([key, text]) => [key, text === null ? null : JSON.parse(text)]))
  const [rest, often] = [
    { thread_id: 't', last_error: null },
    { status: 'CREATED', since: 1, seat: 'pad', move: { status: 'PICKING' } },
  ]
  t.same(written(), {
    'thread t': { ...rest, labware: { name: 'plate', barcode: null } },
    'progress t': { ...often, labware: { held_by: null } },
  })
  const cases = [
    [() => thread.set({ seat: 'nest' }), 'progress'],
    [() => thread.set({ last_error: 'no' }), 'thread'],
    [() => thread.setIn('move', state.move!, { status: 'PLACING' }), 'progress'],
    [() => thread.setIn('labware', state.labware, { held_by: 'arm' }), 'progress'],
    [() => thread.setIn('labware', state.labware, { placing: 'nest' }), 'progress'],
    [() => thread.setIn('labware', state.labware, { barcode: '1' }), 'thread'],
    [() => thread.setIn('labware', state.labware, { barcode: '2', held_by: null }), 'thread,progress'],
    [() => thread.set({ labware: { ...state.labware, barcode: '3', held_by: 'arm' } }), 'thread,progress'],
  ] as const
  for (const [i, [change, parts]] of cases.entries()) {
    change()
    t.same(run.unmarked(), [], `case ${i}`)
    t.same(Object.keys(written()).sort().reverse().join(), parts.replace(/\w+/g, '$& t'), `case ${i}`)
  }
  thread.remove()
  t.same(written(), { 'thread t': null, 'progress t': null })
  t.end()
})

test('a value that is removed is gone with the next transaction; one that came and went is not told of', (t) => {
  const { run, entries } = runOf(2)
  run.writeTo(new Kept(), 'run')
  for (const _ of run.changes());
  entries[1]!.remove()
  new Entry(run, 'group', counted('brief', []), 's brief').remove()
  t.same([...run.changes()], [['group s g1', null]])
  t.same([...run.standing.keys()], ['group s g0'])
  t.end()
})

test('a value that is as it was is not written again', (t) => {
  const { run, entries } = runOf(1)
  run.writeTo(new Kept(), 'run')
  for (const _ of run.changes());
  entries[0]!.set({ open: 1 })
  entries[0]!.set({ open: 0 })
  t.same([...run.changes()], [])
  t.end()
})

test('a value that is changed past its entry is found by tests', (t) => {
  const { run, entries } = runOf(2)
  run.writeTo(new Kept(), 'run')
  for (const _ of run.changes());
  // @ts-expect-error: only the entry changes the value
  entries[1]!.state.open = 3
  t.same(run.unmarked(), ['group s g1'])
  entries[1]!.set({ open: 3 })
  t.same(run.unmarked(), [])
  t.end()
})

test('changes that are gone through in later turns are those of the moment in which they were taken', (t) => {
  const { run, entries, made } = runOf(4)
  run.writeTo(new Kept(), 'run')
  const open = (changes: Iterable<readonly [string, string | null]>) =>
    [...changes].map(([key, text]) => `${key} ${text === null ? 'gone' : JSON.parse(text).open}`)
  open(run.changes())
  for (const [i, entry] of entries.entries()) entry.set({ open: i + 1 })
  made.length = 0
  const changes = run.changes()[Symbol.iterator]()
  t.match(changes.next().value, ['group s g0'])
  entries[0]!.set({ open: 10 })
  entries[2]!.set({ open: 30 })
  entries[2]!.set({ open: 31 })
  entries[3]!.remove()
  new Entry(run, 'group', counted('new', made), 's new')
  t.same(open({ [Symbol.iterator]: () => changes }).sort(), ['group s g1 2', 'group s g2 3', 'group s g3 4'])
  t.same(made, ['g0', 'g2', 'g3', 'g1'], 'each text is made once')
  t.same(open(run.changes()).sort(), ['group s g0 10', 'group s g2 31', 'group s g3 gone', 'group s new 0'])
  t.end()
})

test('changes of which nobody has taken the rest are not lost', (t) => {
  const { run, entries } = runOf(3)
  run.writeTo(new Kept(), 'run')
  for (const _ of run.changes()) break
  entries[0]!.set({ open: 1 })
  t.same([...run.changes()].map(([key]) => key).sort(), ['group s g0', 'group s g1', 'group s g2'])
  t.end()
})

test('a change that cannot be made changes nothing, in memory and on the card', (t) => {
  const { run, entries } = runOf(1)
  run.writeTo(new Kept(), 'run')
  for (const _ of run.changes());
  const [entry] = entries
  const count = (): number => {
    throw new Error('no')
  }
  t.throws(() => entry!.set({ open: 3, is_complete: count() > 0 }), { message: 'no' })
  t.throws(() => entry!.setIn('ended', entry!.state.ended, { COMPLETED: 1, FAILED: count() }), { message: 'no' })
  t.match(entry!.state, { open: 0, is_complete: false, ended: {} })
  t.same([run.unmarked(), [...run.changes()]], [[], []])
  t.end()
})
