// A run that stands, because a device call takes too long or the service restarted, as an operator deals with it at a shell: over the
// network, on a service whose time the test lets go by.

import { type Test, test } from 'tap'
import { closeServer, listen, serverOf } from '../../http/server.ts'
import { benchd, running } from '../../testing/cli.ts'
import { atTheEnd, usualBounds } from '../../testing/http.ts'
import { atPad1, beginRun, ended, plateRun, type Scripted, seal, shake } from '../../testing/http_runs.ts'

/** The shaker answers that it still shakes, for 250 s; it has 200 s and the margin of 30 s. */
const methods = { shake_it: [{ ...shake, with: { speed: 500, duration: 200 } }], seal_it: [seal] }
const workflow = plateRun([{ method: 'shake_it' }, { method: 'seal_it' }], { methods })

/** A shell beside the service, which it reaches over the network. */
async function reached(t: Test, run: Scripted) {
  const { hono, secrets, data_dir } = run.bench
  const server = serverOf(() => hono, await usualBounds())
  const { port } = await listen(server, '127.0.0.1', 0)
  atTheEnd(t).push(async () => closeServer(server, 0))
  const [url, env] = [['--url', `http://127.0.0.1:${port}`], { BENCHD_API_KEY: secrets.operate }]
  const cli = (...args: string[]) => benchd(data_dir, [...args, ...url], env)
  return { run, cli, id: run.execution_id, url, env }
}

/** What `--follow` and `runs follow` end with. */
function standing(id: string, why: string): RegExp {
  const run = id.slice(0, 8)
  return new RegExp(
    `^benchd: the run stands: ${why}.*; what to do: benchd runs why ${run}; to follow it afterwards: benchd runs follow ${run}\n$`,
  )
}

/** A run that stands because of it, and its incident. */
async function late(t: Test) {
  const run = await beginRun(t, { workflow, time_scale: 0.8 })
  await run.thread('plate', 'PAUSED')
  const [{ incident_id: incident = '' } = {}] = await run.incidents()
  return { ...(await reached(t, run)), incident }
}

test('runs why says what to type about it, and so do runs show and the incident', async (t) => {
  const { run, cli, id, incident } = await late(t)
  const { thread_id } = await run.thread('plate', 'PAUSED')
  const [call, thread] = [incident.slice(0, 8), thread_id.slice(0, 8)]
  const why = await cli('runs', 'why', id)
  t.match(why, { code: 0, stderr: '' })
  t.equal(
    why.stdout,
    [
      'In the way:',
      'plate: shake of shaker-1 for plate has not ended within 230 s',
      `  -> see what shaker-1 does; then benchd runs extend ${call} SECONDS, benchd runs abort-call ${call} or benchd runs complete-call ${call}. Cut off, shaker-1 is stopped until it is initialized`,
      `     benchd runs recover ${thread} DECISION, which is one of`,
      '       CONTINUE      it is dealt with: go on after it',
      '       ABORT_THREAD  end the thread; its labware stays where it is',
      '',
      'plate (PAUSED) has stood for 0 s: see above',
      '',
    ].join('\n'),
  )
  t.match(
    (await cli('runs', 'show', id)).stdout,
    new RegExp(`plate +PAUSED +shaker_in +shake .*\n\nwhat to do: benchd runs why ${id.slice(0, 8)}\n$`),
  )
  t.match((await cli('incidents')).stdout, /RECOVERABLE_TIMEOUT +shake of shaker-1 for plate has not ended within 230 s, and goes on/)
  const shown = await cli('incidents', 'show', call)
  for (const words of ['extend .* SECONDS', 'abort-call', 'complete-call'])
    t.match(shown.stdout, new RegExp(`^ {10}benchd runs ${words.replace('.*', call)}`, 'm'))
  t.match(shown.stdout, new RegExp(`^to do {5}benchd runs why ${id.slice(0, 8)}$`, 'm'))
})

test('extend lets the call go on, and the run comes to its end', async (t) => {
  const { run, cli, incident } = await late(t)
  t.match(await cli('runs', 'extend', incident.slice(0, 8), '60'), {
    code: 0,
    stdout: 'shake of shaker-1 for plate has 60 s more\n',
    stderr: '',
  })
  await run.thread('plate', 'EXECUTING_ACTION')
  t.equal(await run.over(), 'COMPLETED')
  t.match(ended(await run.events()), ['ACTION shake COMPLETED', 'METHOD shake_it COMPLETED'])
  t.match(await cli('runs', 'extend', incident, '60'), { code: 5, stdout: '', stderr: /somebody has decided, or it has ended/ })
})

test('abort-call stops the device, and then somebody decides about the call that failed', async (t) => {
  const { run, cli, id, incident } = await late(t)
  t.match(await cli('runs', 'abort-call', incident, '--yes'), { code: 0, stdout: /shake of shaker-1 for plate is cut off/, stderr: '' })
  const { thread_id } = await run.heldAgain('plate', 'DEVICE_OP')
  t.match(await run.get('/api/devices/shaker-1'), { state: 'stopped' })
  const { stdout } = await cli('runs', 'why', id)
  t.match(stdout, /^shaker-1 was stopped\n {2}-> see that it is safe, then initialize shaker-1\n +benchd devices init shaker-1\n/m)
  t.match(stdout, /plate: shake of shaker-1 for plate was cut off: it had not ended within 230 s\n[\s\S]*RETRY_OP +make the call again/)
  await run.post('/api/devices/shaker-1/initialize')
  t.match(await cli('runs', 'recover', thread_id.slice(0, 8), 'ABORT_METHOD'), {
    code: 0,
    stdout: 'the decision about plate is ABORT_METHOD\n',
  })
  t.equal(await run.over(), 'COMPLETED')
  t.match(ended(await run.events()), ['ACTION shake ERRORED', 'METHOD shake_it PARTIAL_COMPLETE', 'ACTION seal COMPLETED'])
})

test('complete-call counts it as done, and the labware is fetched once the device is initialized', async (t) => {
  const { run, cli, id, incident } = await late(t)
  t.match(await cli('runs', 'complete-call', incident.slice(0, 8)), { code: 0, stdout: /counts as done, and is cut off/, stderr: '' })
  const { thread_id } = await run.heldAgain('plate', 'MOVE')
  const { labware_id } = (await run.labware())[0]!
  const { stdout } = await cli('runs', 'why', id)
  t.match(stdout, /plate: shaker-1 was stopped; see that it is safe, then benchd devices init shaker-1\n/)
  t.match(stdout, new RegExp(`say where \\(benchd labware put ${labware_id.slice(0, 8)} PLACE\\)`))
  t.match((await cli('incidents')).stdout, /MOVE_FAILED +plate was not brought from shaker_in to sealer_in by arm-1: shaker-1 was stopped/)
  await run.post('/api/devices/shaker-1/initialize')
  t.match(await cli('runs', 'recover', thread_id, 'RETRY'), { code: 0 })
  t.equal(await run.over(), 'COMPLETED')
  t.match(ended(await run.events()), ['ACTION shake COMPLETED', 'METHOD shake_it COMPLETED', 'ACTION seal COMPLETED'])
})

test('after a restart runs why says what was interrupted, and what each decision means', async (t) => {
  const before = await beginRun(t, { workflow })
  await before.does('shaker-1', 'shake')
  const { run, cli, id } = await reached(t, await before.afterPowerCut())
  const thread = (await run.thread('plate', 'PAUSED')).thread_id.slice(0, 8)
  const wanted = [
    'plate: the service restarted in the midst of shake: resume it, which does that again',
    '  -> see how far shake has come and that plate is at shaker_in; then resume the thread or recover it',
    `     benchd runs resume-thread ${thread}`,
    `     benchd runs recover ${thread} DECISION, which is one of`,
    '       RETRY         do it again, all of it',
    '       CONTINUE      it is dealt with: go on after it',
  ].join('\n')
  t.match((await cli('runs', 'why', id)).stdout, wanted)
  t.match(await cli('runs', 'follow', id), {
    code: 6,
    stdout: /plate: shaking on shaker-1/,
    stderr: standing(id, 'plate: the service restarted in the midst of shake'),
  })
})

test('runs why begins with safe mode and the command that ends it', async (t) => {
  const before = await beginRun(t, { workflow })
  await before.does('shaker-1', 'shake')
  const { run, cli, id } = await reached(t, await before.afterPowerCut(undefined, { safe: 'the service broke off 3 times in 5 minutes' }))
  await run.thread('plate', 'PAUSED')
  const { stdout } = await cli('runs', 'why', id)
  t.match(
    stdout,
    /^In the way:\nthe service is in safe mode, .*\n {2}-> look at the bench and at the log; when all is well: benchd incidents ack [0-9a-f-]+\n/,
  )
  t.match(await cli('runs', 'follow', id), { code: 6, stderr: standing(id, 'the service is in safe mode') })
  const [, incident = ''] = /incidents ack ([\w-]+)/.exec(stdout) ?? []
  t.match(await cli('runs', 'resume', id), { code: 5, stderr: /safe mode.*benchd incidents ack/ })
  t.match(await cli('incidents', 'ack', incident), { code: 0 })
  t.notMatch((await cli('runs', 'why', id)).stdout, /safe mode/)
  t.match(await cli('runs', 'resume', id), { code: 0 })
})

test('after a restart before an action began runs why says that nothing of it was done', async (t) => {
  const busy = plateRun([{ method: 'shake_it' }], { threads: undefined })
  const other = { labware: 'plate', ...atPad1, steps: [{ method: 'shake_it' }] }
  const lid = { ...other, labware: 'lid', start: { at: 'pad_2', mode: 'REUSE_EXISTING' }, end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' } }
  const two = {
    ...busy,
    labware: { plate: { type: '96-well' }, lid: { type: 'lid' } },
    threads: { plate: other, lid },
    start: ['plate', 'lid'],
  }
  const before = await beginRun(t, { workflow: two })
  await before.does('shaker-1', 'shake')
  await before.thread('lid', 'AWAITING_ACTION_RESERVATION')
  const { run, cli, id } = await reached(t, await before.afterPowerCut())
  await run.thread('lid', 'PAUSED')
  const { stdout } = await cli('runs', 'why', id)
  t.match(stdout, /lid: the service restarted before shake: .*\n {2}-> shake had not begun: see that lid is at pad_2; then resume/)
})

test('runs why of a run that was stopped in the midst of a pick says where its labware may be, and what to type', async (t) => {
  const { run, cli, id } = await reached(t, await beginRun(t, { workflow }))
  await run.until('PICKING', async () => (await run.events()).some(({ event_name }) => event_name.endsWith('.PICKING')), 100)
  for (const confirm of [[], ['--confirm']]) t.match(await cli('runs', 'stop', id, ...confirm), { code: 0 })
  await run.over()
  const { stdout } = await cli('runs', 'why', id)
  const where = 'plate is at pad_1 or held by arm-1; look, and say where it is'
  t.match(stdout, new RegExp(`^it has ended: nothing waits\\n${where}: benchd labware put [0-9a-f]{8} PLACE\\n$`))
})

test('runs submit says which place is taken by labware of an earlier run, and what to type', async (t) => {
  const { run, cli, id, incident } = await late(t)
  t.match(await cli('runs', 'abort-call', incident, '--yes'), { code: 0 })
  const { thread_id } = await run.heldAgain('plate', 'DEVICE_OP')
  t.match(await cli('runs', 'recover', thread_id, 'ABORT_THREAD'), { code: 0 })
  t.equal(await run.over(), 'COMPLETED')
  await run.post('/api/devices/shaker-1/initialize')
  const { labware_id } = (await run.labware())[0]!
  t.match(await cli('runs', 'submit', 'work', '--mode', 'LIVE'), {
    code: 0,
    stdout: /^[0-9a-f-]{36}\n$/,
    stderr: new RegExp(
      `^benchd: shaker_in is taken: plate has stood there since run ${id.slice(0, 8)}, .*: benchd labware put ${labware_id.slice(0, 8)} --off\n$`,
    ),
  })
})

test('--follow ends when nothing can move any more', async (t) => {
  const { run, cli, incident, url, env } = await late(t)
  await cli('runs', 'abort-call', incident, '--yes')
  const { thread_id } = await run.heldAgain('plate', 'DEVICE_OP')
  await cli('runs', 'recover', thread_id, 'ABORT_THREAD')
  await run.over()
  await run.post('/api/devices/shaker-1/initialize')
  const following = running(t, run.bench.data_dir, ['runs', 'submit', 'work', '--mode', 'LIVE', '--follow', ...url], env)
  const id = await following.line(/^[0-9a-f-]{36}$/)
  await run.of(id).thread('plate', 'PAUSED')
  await following.line(/incident: nothing can move any more/)
  const { code, stderr } = await following.ended
  t.equal(code, 6)
  t.match(stderr.split('\n').slice(1).join('\n'), standing(id, 'nothing could move any more: plate waits for shaker-1'))
})

test('runs follow goes on after a restart of the service, and says that the run stands', async (t) => {
  const before = await beginRun(t, { workflow })
  await before.does('shaker-1', 'shake')
  const [id, key] = [before.execution_id, before.bench.secrets.operate]
  const first = serverOf(() => before.bench.hono, await usualBounds())
  const { port } = await listen(first, '127.0.0.1', 0)
  const url = ['--url', `http://127.0.0.1:${port}`]
  const following = running(t, before.bench.data_dir, ['runs', 'follow', id, ...url], { BENCHD_API_KEY: key })
  await following.line(/plate: shaking on shaker-1/)
  await closeServer(first, 0)
  const { bench } = await before.afterPowerCut()
  const second = serverOf(() => bench.hono, await usualBounds())
  await listen(second, '127.0.0.1', port)
  atTheEnd(t).push(async () => closeServer(second, 0))
  await following.line(/plate: (waits for a decision|paused)/)
  const { code, stderr } = await following.ended
  t.equal(code, 6)
  const [away = '', ...rest] = stderr.split('\n')
  t.match(away, /^benchd: the service does not answer; trying again for a minute\. Ctrl-C ends this command, and not the run$/)
  t.match(rest.join('\n'), standing(id, 'plate: the service restarted in the midst of shake'))
})

test('runs why and incidents show name the other device of the pool, and runs recover --on has the action done there', async (t) => {
  const methods = { shake_it: [{ ...shake, on: 'shakers' }] }
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }], { methods }), has_second_shaker: true })
  await run.does('shaker-1', 'shake')
  await run.breaks('shaker-1', 'jam')
  const { thread_id } = await run.heldAgain('plate', 'DEVICE_OP')
  const { cli, id } = await reached(t, run)
  const thread = thread_id.slice(0, 8)
  t.match(
    (await cli('runs', 'why', id)).stdout,
    /\n {7}RETRY {9}do it again, all of it\n {7}RETRY --on shaker-2 {2}do it again, at shaker-2\n/,
  )
  const [{ incident_id = '' } = {}] = await run.incidents()
  t.match((await cli('incidents', 'show', incident_id)).stdout, new RegExp(`benchd runs recover ${thread} RETRY --on shaker-2\n`))
  t.match(await cli('runs', 'recover', thread, 'RETRY', '--on', 'sealer-1'), {
    code: 2,
    stderr: /shake can be done at shaker-1 or shaker-2/,
  })
  await run.mends('shaker-1')
  t.match(await cli('runs', 'recover', thread, 'retry', '--on', 'shaker-2'), {
    code: 0,
    stdout: 'the decision about plate is RETRY at shaker-2\n',
  })
  t.equal(await run.over(), 'COMPLETED')
  t.match(
    (await cli('incidents', '--execution', id)).stdout,
    /ACTION_REDIRECTED +an operator has shake of plate done at shaker-2 instead of shaker-1/,
  )
})
