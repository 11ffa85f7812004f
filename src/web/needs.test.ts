import { test } from 'tap'
import { emptyState, type State } from '../clients/ts/benchd.ts'
import { requestOf } from './need.ts'
import { initializing, needsOf, solvedOf, uninitialized } from './needs.ts'
import { reminders } from './tasks.ts'

const device = (state: string, fault: object | null = null) => ({ device_id: 'sealer-1', state, fault }) as never
const fault = { error: 'the lid is open.', since: 1000, may_still_be_moving: true }

function stateOf(parts: object): State {
  return { ...emptyState, ready: true, ...parts }
}

test('a bench on which all is well needs nobody', (t) => {
  t.same(needsOf(stateOf({ device: { 'sealer-1': device('ready') } })), [])
  t.same(needsOf(stateOf({ device: { 'sealer-1': device('stopped') } })), [])
  t.end()
})

test('devices that are stopped or not initialized are initialized together, and one with a fault or a lease is not among them', (t) => {
  const states = ['stopped', 'faulted', 'not_initialized', 'ready', 'busy', 'disconnected', 'external']
  const leased = { ...(device('stopped') as object), lock: { owner: 'ann', note: null, expires_at: 5 } }
  const all = { leased, ...Object.fromEntries(states.map((state) => [state, device(state)])) }
  t.same(
    uninitialized(stateOf({ device: all })).map(({ state }) => state),
    ['stopped', 'not_initialized'],
  )
  const incident = { i: { detail: { safe_mode: true } } }
  t.same(uninitialized(stateOf({ device: all, incident })), [], 'none in safe mode, which refuses it')
  t.end()
})

test('a fault says what happened, that it may still move, and how it is cleared', (t) => {
  const [need, ...others] = needsOf(stateOf({ device: { 'sealer-1': device('faulted', fault) } }))
  t.same(others, [])
  t.match(need, {
    title: 'Fault on sealer-1',
    severe: true,
    href: '#/devices/sealer-1',
    text: 'the lid is open. It may still be moving. Look at it first.',
  })
  t.match(need?.decisions, [
    { label: 'Initialize sealer-1', request: { operation: 'initializeDevice', asked: { headers: { 'If-State': 'faulted' } } } },
    { label: 'Clear fault', request: { operation: 'clearDeviceFault', asked: { path: { device_id: 'sealer-1' } } } },
  ])
  t.match(needsOf(stateOf({ device: { 'sealer-1': device('disconnected') } })), [{ title: 'sealer-1 is disconnected', decisions: [] }])
  t.end()
})

const held = {
  ...{
    thread_id: 't1',
    thread_name: 'plate',
    execution_id: 'e1',
    status: 'PAUSED',
    decisions: ['RETRY', 'ABORT_THREAD'],
    retry_on: ['sealer-2'],
    retry_by: [],
    retry_by_if_off: [],
  },
  ...{ last_error: 'it jammed', since: 5, labware: { name: 'plate-1' }, position: 'pad_1', waiting: null },
}

test('an error that holds a thread has a button for each decision, another device among them', (t) => {
  const [need] = needsOf(stateOf({ thread: { t1: held }, run: { e1: { workflow_name: 'seal', paused: null, ended_at: null } } }))
  t.match(need, { title: 'plate is held by an error in seal', text: 'It jammed. plate-1 stands at pad_1.', href: '#/runs/e1' })
  t.same(
    need?.decisions.map(({ label }) => label),
    ['Retry', 'Retry on sealer-2', 'Abort thread'],
  )
  t.match(need?.decisions[1]?.request, { operation: 'recoverThread', asked: { body: { decision: 'RETRY', on: 'sealer-2' } } })
  for (const { consequence } of need!.decisions) t.match(consequence, /\.$/)
  const what = 'the service restarted in the midst of seal: resume it, which does that again; possible decisions: RETRY, ABORT_THREAD'
  const [after] = needsOf(stateOf({ thread: { t1: { ...held, pause_reason: 'system', waiting: { kind: 'operator', what, since: 5 } } } }))
  t.match(after, {
    title: 'plate was interrupted by a restart',
    text: 'The service restarted in the midst of seal: resume it, which does that again. plate-1 stands at pad_1.',
  })
  t.end()
})

test('manual steps, labware to be placed, pauses of the service, keys and safe mode ask for their own word', (t) => {
  const words = (parts: object) => needsOf(stateOf(parts)).map(({ title, decisions }) => [title, ...decisions.map(({ label }) => label)])
  const waiting = { ...held, decisions: [], retry_on: [], retry_by: [], retry_by_if_off: [] }
  t.same(words({ thread: { t1: { ...waiting, status: 'AWAITING_MANUAL_PLACE' } } }), [['Place plate-1', 'Placed']])
  t.same(words({ thread: { t1: { ...waiting, status: 'AWAITING_MANUAL_REMOVE' } } }), [['Remove plate-1', 'Removed']])
  const asked = {
    ...waiting,
    status: 'AWAITING_MANUAL_PLACE',
    waiting: { kind: 'operator', what: 'an operator to put plate at pad_2', since: 1 },
  }
  t.match(needsOf(stateOf({ thread: { t1: asked } })), [{ text: 'Put plate at pad_2.' }])
  t.same(words({ step: { s1: { step_id: 's1', execution_id: 'e1', instruction: 'Fill it', since: 1 } } }), [['Manual step', 'Done']])
  const run = { execution_id: 'e1', workflow_name: 'seal', ended_at: null }
  t.same(words({ run: { e1: { ...run, paused: { at: 1, reason: 'system' } } } }), [['seal was paused by the service', 'Resume run']])
  t.same(words({ run: { e1: { ...run, paused: { at: 1, reason: 'manual' } } } }), [], 'who paused it knows of it')
  t.same(words({ key_request: { r: { request_id: 'r', app_name: 'tablet', scope: 'read', code: 'AB12' } } }), [
    ['tablet requests a key', 'Approve', 'Deny'],
  ])
  const confirming = {
    confirmation_id: 'c',
    text: 'Shake: operate {}',
    client: 'helper 1',
    name: 'assistant',
    code: 'K7M-2QX',
    expires_at: 121,
  }
  t.match(needsOf(stateOf({ confirmation: { c: confirming } })), [
    {
      title: 'A program asks you: code K7M-2QX',
      text: /^Shake: operate \{\}.*"helper 1", as it calls itself, with the key assistant/,
      since: 1,
    },
  ])
  t.match(needsOf(stateOf({ confirmation: { c: { ...confirming, code: null } } })), [{ title: 'A program asks you', text: /other keys/ }])
  const incident = {
    incident_id: 'i',
    message: 'm',
    severity: 'CRITICAL',
    category: 'OTHER',
    detail: { safe_mode: true },
    timestamp: 1,
    thread_id: null,
  }
  t.same(words({ incident: { i: incident } }), [['Safe mode', 'Acknowledge']])
  t.same(words({ incident: { i: { ...incident, detail: {}, severity: 'WARNING' } } }), [], 'a warning waits for nobody')
  const ofThread = { ...incident, detail: {}, thread_id: 't1', category: 'ACTION_FAILED' }
  t.equal(words({ incident: { i: ofThread }, thread: { t1: held } }).length, 1, 'an error is asked about once')
  const failed = { e1: { ...run, paused: null, ended_at: 5, status: 'FAILED' } }
  t.equal(words({ incident: { i: { ...ofThread, execution_id: 'e1' } }, run: failed }).length, 1)
  t.end()
})

const move = {
  ...{ transporter: 'hands', labware_id: 'l1', labware: 'plate-1', barcode: null, from: 'pad_1', to: 'shaker_in', usual_s: null },
  ...{ confirm: 'once', ask_barcode: false, is_taken: false, is_again: false },
}
const stepOf = (more: object, instruction = 'Take plate-1 from pad_1 to shaker_in') => ({
  ...{ step_id: 's1', execution_id: 'e1', thread_id: 't1', instruction, since: 7, move: { ...move, ...more } },
})
const answersOf = (more: object) =>
  needsOf(stateOf({ step: { s1: stepOf(more) } })).flatMap(({ decisions }) =>
    decisions.map(({ label, request, asks }) => [label, (request.asked as { body: object }).body, asks?.member]),
  )

test('a task to carry labware has one large button, which says what comes next', (t) => {
  t.same(answersOf({}), [['Done', {}, undefined]])
  t.same(answersOf({ confirm: 'twice' }), [['Taken', { answer: 'taken' }, undefined]])
  t.same(answersOf({ confirm: 'twice', is_taken: true }), [['Done', {}, undefined]])
  t.same(answersOf({ confirm: 'twice', is_again: true }), [['Done', {}, undefined]], 'nobody knows how far it had come')
  t.same(answersOf({ ask_barcode: true }), [['Done', {}, 'barcode']])
  const text = (more: object, instruction?: string) => needsOf(stateOf({ step: { s1: stepOf(more, instruction) } }))[0]?.text
  t.equal(text({}), 'Take plate-1 from pad_1 to shaker_in.')
  t.equal(text({ is_taken: true, barcode: 'P-1' }), 'Put plate-1 down at shaker_in (barcode P-1).')
  t.end()
})

test('tasks come first, oldest first, and one that is shown again after a restart is shown once and says so', (t) => {
  const again = stepOf({ is_again: true }, 'Shown again after a restart: take plate-1 from pad_1 to shaker_in, if it is not there already')
  const lost = { labware_id: 'l1', name: 'plate-1', thread_id: 't1', position: 'pad_1', remedy: 'look, and say where it is' }
  const [task, ...others] = needsOf(stateOf({ step: { s1: again }, thread: { t1: held }, labware: { l1: lost } }))
  t.same(others, [])
  t.match(task, {
    text: 'Take plate-1 from pad_1 to shaker_in, if it is not there already.',
    task: { note: 'Shown again after a restart' },
  })
  const older = { ...held, thread_id: 't2', decisions: [], retry_on: [], status: 'AWAITING_MANUAL_PLACE', since: 5 }
  const all = needsOf(
    stateOf({
      step: { s1: stepOf({}) },
      thread: { t2: older },
      incident: {
        i: { incident_id: 'i', message: 'm', severity: 'CRITICAL', category: 'OTHER', detail: {}, timestamp: 1, thread_id: null },
      },
    }),
  )
  t.same(
    all.map(({ title }) => title),
    ['Place plate-1', 'Carry plate-1', 'Incident'],
  )
  t.end()
})

test('a reminder of a task sounds once more, and not after the answer', (t) => {
  const incident = { i: { incident_id: 'i', severity: 'WARNING', detail: { step_id: 's1' } } }
  t.same(reminders(stateOf({ step: { s1: stepOf({}) }, incident })), ['reminder i'])
  t.same(reminders(stateOf({ incident })), [])
  t.end()
})

test('labware with a barcode is placed with what was read of it', (t) => {
  const plate = {
    ...held,
    decisions: [],
    retry_on: [],
    retry_by: [],
    retry_by_if_off: [],
    status: 'AWAITING_MANUAL_PLACE',
    labware: { name: 'plate-1', barcode: 'P-1' },
  }
  const [need] = needsOf(stateOf({ thread: { t1: plate } }))
  t.match(need, { text: 'plate waits until plate-1 is placed. Its barcode must be P-1.' })
  const [placed, ...others] = need!.decisions
  t.same(others, [])
  t.match(placed?.asks, { label: /Barcode/ })
  t.match(requestOf(placed!, 'P-1'), { operation: 'labwarePlaced', asked: { path: { thread_id: 't1' }, body: { barcode: 'P-1' } } })
  const [removed] = needsOf(stateOf({ thread: { t1: { ...plate, status: 'AWAITING_MANUAL_REMOVE' } } }))
  t.notMatch(removed, { text: /barcode/ })
  t.same(requestOf(removed!.decisions[0]!, 'x'), removed!.decisions[0]!.request)
  t.end()
})

test('a fault and the thread that it holds are one thing, and what is possible comes first', (t) => {
  const at = {
    ...held,
    device: 'sealer-1',
    decisions: ['RETRY', 'CONTINUE', 'ABORT_THREAD'],
    retry_on: [],
    retry_by: [],
    retry_by_if_off: [],
  }
  const labels = (state: string, its: object | null) => {
    const [need, ...others] = needsOf(stateOf({ thread: { t1: at }, device: { 'sealer-1': device(state, its) } }))
    t.same(others, [])
    return [need?.title, ...need!.decisions.map(({ label, why }) => (why ? `(${label})` : label))]
  }
  t.same(labels('faulted', fault), [
    'Fault on sealer-1: plate is held by an error',
    ...['Initialize sealer-1', 'Clear fault', 'Continue', 'Abort thread', '(Retry)'],
  ])
  t.same(labels('stopped', fault), [
    'sealer-1 was stopped: plate is held by an error',
    'Initialize sealer-1',
    'Continue',
    'Abort thread',
    '(Retry)',
  ])
  t.same(labels('ready', null), ['plate is held by an error', 'Retry', 'Continue', 'Abort thread'])
  const [need] = needsOf(stateOf({ thread: { t1: at } }))
  t.match(need?.decisions[0]?.request, { asked: { headers: { 'If-State': 'PAUSED' } } }, 'for the state that was shown')
  t.end()
})

test('the device that its error names is made ready before the device that the thread is at', (t) => {
  const last_error = 'arm-1 was stopped during place; see that it is safe, then initialize it'
  const at = { ...held, last_error, device: 'sealer-1', decisions: ['RETRY'], retry_on: [], retry_by: [], retry_by_if_off: [] }
  const labels = (arm: string) => {
    const [need] = needsOf(
      stateOf({
        thread: { t1: at },
        device: { 'sealer-1': device('stopped', null), 'arm-1': { device_id: 'arm-1', state: arm, fault: null } },
      }),
    )
    return [need?.title, ...need!.decisions.map(({ label, why }) => why ?? label)]
  }
  t.same(labels('stopped'), ['arm-1 was stopped: plate is held by an error', 'Initialize arm-1', 'arm-1 must be ready first.'])
  t.same(labels('ready'), ['sealer-1 was stopped: plate is held by an error', 'Initialize sealer-1', 'sealer-1 must be ready first.'])
  t.end()
})

test('a run on simulators offers nothing that would move the instrument of the same name', (t) => {
  const run = (run_mode: string) => ({ e1: { workflow_name: 'seal', run_mode, paused: null, ended_at: null } })
  const devices = { 'sealer-1': device('faulted', fault) }
  const at = { ...held, device: 'sealer-1', retry_on: [], retry_by: [], retry_by_if_off: [] }
  const labels = (run_mode: string) => {
    const needs = needsOf(stateOf({ thread: { t1: at }, run: run(run_mode), device: devices }))
    return needs.map(({ id, decisions }) => [id, ...decisions.map(({ label }) => label)])
  }
  t.same(labels('LIVE'), [['thread t1', 'Initialize sealer-1', 'Clear fault', 'Abort thread', 'Retry']])
  t.same(labels('DEVICE_SIM'), [
    ['device sealer-1', 'Initialize sealer-1', 'Clear fault'],
    ['thread t1', 'Retry', 'Abort thread'],
  ])
  const inTheWay = (kind: 'device_fault' | 'simulator_fault') => initializing({ kind, device_id: 'sealer-1' }, devices)
  t.match(inTheWay('device_fault'), [{ label: 'Initialize sealer-1' }])
  t.same(inTheWay('simulator_fault'), [])
  t.end()
})

test('a failure that is over is no need but a line, which says who solved it and leaves out every order', (t) => {
  const failed = {
    ...{ incident_id: 'i', message: 'seal failed: remove the plate', severity: 'ERROR', category: 'ACTION_FAILED', timestamp: 1 },
    ...{ thread_id: 't1', execution_id: 'e1', detail: { device: 'sealer-1' } },
  }
  const run = (status: string, ended_at: number | null) => ({ e1: { workflow_name: 'seal', status, ended_at, paused: null } })
  const seen = (parts: object) => {
    const state = stateOf({ incident: { i: failed }, run: run('IN_PROGRESS', null), ...parts })
    return [needsOf(state).map(({ title }) => title), solvedOf(state).map(({ at, text }) => `${at} ${text}`)]
  }
  const over = 'Action failed at sealer-1 in seal: over'
  t.same(seen({ thread: { t1: held } }), [['plate is held by an error in seal'], []], 'it holds its thread')
  t.same(seen({ thread: { t1: { ...held, status: 'MOVING', decisions: [] } } }), [[], [`1 ${over}`]], 'its thread goes on')
  t.same(seen({ run: run('COMPLETED', 9) }), [[], [`1 ${over}`]])
  t.same(seen({ run: run('FAILED', 9) }), [['Incident'], []], 'the labware of a run that failed stands somewhere')
  const solved = { ...failed, solved: { by: 'ann', timestamp: 7, text: 'Retried' } }
  t.same(seen({ incident: { i: solved }, run: run('FAILED', 9) }), [[], ['7 Action failed at sealer-1 in seal: solved by ann']])
  const link = { ...failed, category: 'DEVICE_LINK', thread_id: null, execution_id: null, detail: { device_id: 'sealer-1' } }
  t.same(seen({ incident: { i: link }, device: { 'sealer-1': device('ready') } }), [[], ['1 Device link at sealer-1: over']])
  t.same(seen({ incident: { i: link }, device: { 'sealer-1': device('disconnected') } }), [['sealer-1 is disconnected'], []])
  t.same(seen({ incident: { i: { ...link, category: 'STORAGE' } } }), [['Incident'], []], 'nothing tells that it is over')
  t.same(seen({ incident: { i: { ...solved, severity: 'INFO' } } }), [[], []], 'what waited for nobody is no line either')
  t.end()
})

test('a late device call that holds a thread can be given time or cut off at the card of its thread', (t) => {
  const late = {
    ...{ incident_id: 'i', message: 'm', severity: 'ERROR', category: 'RECOVERABLE_TIMEOUT', timestamp: 1 },
    ...{ thread_id: 't1', execution_id: 'e1', detail: {} },
  }
  const labels = (decisions: string[], more: object = {}) => {
    const at = { ...held, decisions, retry_on: [], retry_by: [], retry_by_if_off: [] }
    const [need, ...others] = needsOf(stateOf({ thread: { t1: at }, incident: { i: { ...late, ...more } } }))
    t.same(others, [])
    return need?.decisions.map(({ label }) => label)
  }
  t.same(labels(['CONTINUE', 'ABORT_THREAD']), ['More time', 'Abort call', 'Continue', 'Abort thread'])
  t.same(labels(['RETRY', 'CONTINUE', 'ABORT_THREAD']), ['Retry', 'Continue', 'Abort thread'], 'another error holds it')
  t.same(labels(['CONTINUE', 'ABORT_THREAD'], { solved: { by: 'ann', timestamp: 2, text: 't' } }), ['Continue', 'Abort thread'])
  t.end()
})

test('a device call that takes too long can be given time, called done, or cut off', (t) => {
  const late = {
    incident_id: 'i',
    message: 'seal takes too long',
    severity: 'WARNING',
    category: 'RECOVERABLE_TIMEOUT',
    detail: {},
    timestamp: 1,
  }
  const [need] = needsOf(stateOf({ incident: { i: { ...late, thread_id: null } } }))
  t.equal(need?.title, 'A device takes too long')
  t.same(
    need?.decisions.map(({ label, request }) => [label, request.operation]),
    [
      ['More time', 'extendLateCall'],
      ['Mark as done', 'completeLateCall'],
      ['Abort call', 'abortLateCall'],
      ['Acknowledge', 'acknowledgeIncident'],
    ],
  )
  t.end()
})
