// `benchd runs …`, `topology …`, `workflows …` as a person types them, on the demo's bench.

import { writeFileSync } from 'node:fs'
import { test } from 'tap'
import { demo, patient, running, spawnedDemo } from '../../testing/cli.ts'
import { standing, workflowOf } from '../../testing/documents.ts'

const waits = patient([{ branch: 'go', cases: { ask: [{ method: 'ask' }] } }])

test('a workflow is submitted and followed to its end', async (t) => {
  const { run, json } = await demo(t)
  const followed = await run('runs', 'submit', 'seal-and-spin', '--mode', 'PURE_SIM', '--var', 'speed=600', '--operator', 'ann', '--follow')
  t.match(followed, { code: 0, stderr: '' })
  const [id = '', ...lines] = followed.stdout.trim().split('\n')
  const zone = /^\d\d:\d\d:\d\dZ {2}/
  for (const line of lines) t.match(line, zone)
  t.same(
    lines.map((line) => line.replace(zone, '')),
    [
      'seal-and-spin: submitted',
      'plate: moved from pad_1 to shaker_in by arm-1',
      'plate: shaking on shaker-1, 600 rpm, 5 s',
      'event qc.done: complete',
      'plate: moved from shaker_in to sealer_in by arm-1',
      'plate: sealing on sealer-1, 165 °C, 3 s',
      'plate: moved from sealer_in to centrifuge_in by arm-1',
      'plate: spinning in centrifuge-1, 500 ×g, 10 s',
      'plate: moved from centrifuge_in to pad_1 by arm-1',
      'plate: done',
      'seal-and-spin: the run is COMPLETED',
    ],
  )
  const all = await run('runs', 'follow', id, '--all')
  t.match(all.stdout, /^\d\d:\d\d:\d\d\.\d{3}Z {2}plate {2}CREATED\n/)
  t.match(all.stdout, /plate {2}shake {2}EXECUTING_ACTION\n.*\n?[\s\S]*execution {2}COMPLETED\n$/)
  t.match(await json('runs', 'show', id), { submissions: [{ variables: { speed: 600 }, operator_id: 'ann' }] })
  t.match((await run('runs', 'list')).stdout, new RegExp(`^ID .*\\n${id.slice(0, 8)} +seal-and-spin +Plan only +COMPLETED +1 `))
  t.match((await run('runs', 'show', id.slice(0, 8))).stdout, /seal-and-spin {2}Plan only {2}COMPLETED\n[\s\S]*plate +COMPLETED/)
  t.match((await run('runs', 'timeline', id.slice(0, 8))).stdout, /plate +pad_1 -> shaker_in +arm-1 +COMPLETED/)
  t.match(await json('runs', 'timeline', id), { rows: [{ name: 'shake', device: 'shaker-1' }] })
  t.match(await run('runs', 'delete', id.slice(0, 8), '--yes'), { code: 0, stdout: /deleted/ })
  t.match(await run('runs', 'show', id), { code: 3, stderr: /no execution/ })
  t.match(await run('runs', 'show', id.slice(0, 8)), { code: 3, stderr: /benchd runs list/ })
  const groups = await run('runs', 'submit', 'smc_assay', '--mode', 'PURE_SIM', '--groups', '2', '--follow', '--json')
  t.equal(groups.code, 0)
  const end = JSON.parse(groups.stdout.trim().split('\n').at(-1)!) as { event_name: string; execution_id: string }
  t.match(end, { event_name: /^EXECUTION\..*\.COMPLETED$/ })
  t.match((await run('runs', 'show', end.execution_id)).stdout, /\nGROUP +OUTCOME +THREADS\n\S+ +COMPLETED +\d+ COMPLETED\n/)
})

test('an operator tells a run what to do, and a word too little is an error that says what is missing', async (t) => {
  const { home, run, json } = await demo(t)
  writeFileSync(`${home}/patient.json`, `// waits\n${JSON.stringify(waits)}`)
  t.match(await run('workflows', 'put', `${home}/patient.json`), { code: 0, stdout: 'workflow patient on topology demo is kept\n' })
  const id = (await run('runs', 'submit', 'patient')).stdout.trim()
  t.match(id, /^[0-9a-f-]{36}$/)
  t.match(await run('topology', 'unload'), { code: 5, stderr: /open/ })
  t.match(await run('runs', 'pause', id), { code: 0, stdout: /safe point/ })
  t.match((await run('runs', 'list', '--status', 'IN_PROGRESS')).stdout, /patient +On the bench +paused/)
  t.match(await run('runs', 'resume', id.slice(0, 6)), { code: 0 })
  t.match(await run('runs', 'recover', id.slice(0, 6), 'RETRY'), { code: 3, stderr: /no thread/ })
  const { threads } = await json<{ threads: { thread_id: string }[] }>('runs', 'show', id)
  t.match(await run('runs', 'recover', threads[0]!.thread_id.slice(0, 6), 'retry'), { code: 5, stderr: /no error holds thread plate/ })
  t.match(await run('runs', 'recover', threads[0]!.thread_id, 'pray'), { code: 2, stderr: /decision/ })
  t.match(await run('runs', 'emit', id, 'go', 'ask'), { code: 0, stdout: 'go is emitted\n' })
  t.match(await run('runs', 'confirm', 'manual_step-0000'), { code: 3, stderr: /waits for a confirmation/ })
  t.match(await run('runs', 'stop', id, '--confirm'), { code: 5, stderr: /not armed/ })
  t.match(await run('runs', 'stop', id), { code: 0, stdout: /^armed: .* with --confirm / })
  t.match(await run('runs', 'stop', id, '--confirm'), { code: 0 })
  t.match(await run('runs', 'close', id), { code: 5, stderr: /has ended|stopping|takes no more/ })
  t.match(await run('workflows', 'delete', 'patient', '--yes'), { code: 0, stdout: /deleted/ })
  for (const [args, code, sentence] of [
    [['runs', 'submit', 'seal-and-sipn'], 3, /did you mean "seal-and-spin"/],
    [['runs', 'submit', 'nothing'], 3, /there is no workflow "nothing"; there is: .*seal-and-spin.*smc_assay/],
    [['runs', 'simulate', 'nothing'], 3, /there is no workflow "nothing"; there is: .*seal-and-spin.*smc_assay/],
    [['runs', 'simulate', 'seal-and-sipn'], 3, /did you mean "seal-and-spin"/],
    [['workflows', 'show', 'nothing'], 3, /there is no workflow "nothing"; there is: .*seal-and-spin/],
    [['runs', 'submit', 'seal-and-spin', '--var', 'speed'], 2, /NAME=VALUE/],
    [['runs', 'submit', 'seal-and-spin', '--groups', 'many'], 2, /0 to 1000/],
    [['runs', 'submit', 'seal-and-spin', '--mode', 'DREAM'], 2, /--mode DREAM is none of LIVE, DEVICE_SIM, PURE_SIM/],
    [['runs', 'emit', id], 2, /NAME is missing/],
    [['workflows', 'put', `${home}/none.json`], 3, /cannot be read/],
    [['workflows', 'delete', 'smc_assay', '--yes'], 5, /comes with the program/],
    [['topology', 'load', 'nowhere'], 3, /there is no topology "nowhere"; there is: .*demo.*read by benchd config reload/],
  ] as const) {
    t.match(await run(...args), { code, stdout: '', stderr: sentence }, args.join(' '))
  }
})

test('topologies and workflows are listed, with those that are left out', async (t) => {
  const { run, json } = await demo(t, { topologies: { 'bad.json': '{ "format": 1, "positions": {} }' } })
  const listed = await run('topology', 'list')
  t.match(listed, {
    code: 0,
    stdout: /^NAME .*\ndemo +loaded +8 +seal-and-spin\nsmc +53 /,
    stderr: /bad\.json is left out: .*name is missing/,
  })
  t.match((await run('topology', 'show')).stdout, /^demo\n\nPOSITION .*\npad_1/)
  t.match(await run('topology', 'unload'), { code: 0, stdout: /unloaded/ })
  t.match(await run('topology', 'show'), { code: 3, stderr: /no topology is loaded/ })
  t.match(await run('topology', 'load', 'demo'), { code: 0 })
  t.match(await run('workflows', 'list'), { code: 0, stdout: /seal-and-spin +demo +typescript +example +speed temperature/ })
  t.match(await json('workflows', 'list'), { workflows: [{ name: 'seal-and-spin' }] })
  t.match(JSON.parse((await run('workflows', 'show', 'seal-and-spin')).stdout), { name: 'seal-and-spin', start: ['plate'] })
})

test('runs are known after the service was killed', async (t) => {
  const { home, service, run } = await spawnedDemo(t)
  const done = (await run('runs', 'submit', 'seal-and-spin', '--mode', 'PURE_SIM', '--follow')).stdout.split('\n')[0]!
  writeFileSync(`${home}/patient.json`, JSON.stringify(waits))
  await run('workflows', 'put', `${home}/patient.json`)
  const open = (await run('runs', 'submit', 'patient', '--mode', 'PURE_SIM')).stdout.trim()
  service.child.kill('SIGKILL')
  await service.ended
  const again = running(t, home, ['demo', '--port', '0', '--data-dir', `${home}/data`])
  await again.line(/^ +API +http/)
  const { stdout } = await run('runs', 'list')
  t.match(stdout, new RegExp(`${open.slice(0, 8)} +patient +Plan only +ABORTED`))
  t.match(stdout, new RegExp(`${done.slice(0, 8)} +seal-and-spin +Plan only +COMPLETED`))
  t.match((await run('runs', 'show', open)).stdout, /ABORTED: the service restarted/)
  const events = await run('events', 'export', '--execution', open)
  t.match(
    events.stdout.trim().split('\n').slice(-4).join('\n'),
    /THREAD\..*\.ABORTED[\s\S]*WORKFLOW\..*ERRORED[\s\S]*SUBMISSION\..*ABORTED[\s\S]*EXECUTION\..*ABORTED/,
  )
  t.match((await run('workflows', 'list')).stdout, /patient +demo +json +api/)
  t.match((await run('topology', 'list')).stdout, /demo +loaded/)
})

test('a workflow is tried out and drawn, and the exit code says whether it completes', async (t) => {
  const { run, json } = await demo(t)
  const drawn = await run('runs', 'simulate', 'smc_assay', '--mode', 'PURE_SIM')
  t.match(drawn, { code: 0, stderr: '', stdout: /^smc_assay {2}completes {2}\d:\d\d:\d\d {2}\d+ actions {2}\d+ moves\n\n/ })
  t.match(drawn.stdout, /\nplate_1 +>[\s\S]*> moves {2}· waits\n\nBUSY +FOR +SHARE\n/)
  t.notMatch(drawn.stdout, '\u001b')
  t.match(await json('runs', 'simulate', 'seal-and-spin', '--mode', 'PURE_SIM', '--groups', '1'), { verdict: 'completes', gantt: [{}] })
  t.match(await run('runs', 'simulate', 'no-such', '--mode', 'PURE_SIM'), { code: 3, stderr: /no-such/ })
  t.match(await run('runs', 'list'), { stdout: /^ID .*\n$/ })
})

test('a plan is told before the run with dispatch alone and the bound, and afterwards with what became of it', async (t) => {
  const { home, run, json } = await demo(t)
  const shake = [{ do: 'shake', on: 'shaker-1', with: { speed: 300, duration: 5 } }]
  const threads = Object.fromEntries(['pad_1', 'pad_2', 'pad_3'].map((pad) => [pad, { ...standing(pad), steps: [{ method: 'shake' }] }]))
  writeFileSync(`${home}/plates.json`, JSON.stringify(workflowOf('plates', threads, { topology: 'demo', methods: { shake } })))
  await run('workflows', 'put', `${home}/plates.json`)
  const figures = /^planned \d+:\d\d, by dispatch alone \d+:\d\d, cannot be under \d+:\d\d \(bound\)$/m
  const foretold = await run('runs', 'simulate', 'plates', '--mode', 'PURE_SIM')
  t.match(foretold.stdout.split('\n')[1], figures)
  t.match(await json('runs', 'simulate', 'plates', '--mode', 'PURE_SIM'), {
    plan: { planned_s: Number, dispatch_s: Number, bound_s: Number },
  })
  t.notMatch((await run('runs', 'simulate', 'plates', '--mode', 'PURE_SIM', '--plan', 'off')).stdout, 'planned')
  const [id = ''] = (await run('runs', 'submit', 'plates', '--mode', 'DEVICE_SIM', '--follow')).stdout.split('\n')
  const after = (await run('runs', 'show', id)).stdout
  t.match(
    after,
    /\nplan: planned \d+:\d\d, cannot be under \d+:\d\d \(bound\), (never made anew|made anew .*), took \d+:\d\d.*; in simulated time\n/,
  )
  const [off = ''] = (await run('runs', 'submit', 'plates', '--mode', 'DEVICE_SIM', '--plan', 'off', '--follow')).stdout.split('\n')
  t.notMatch((await run('runs', 'show', off)).stdout, 'plan:')
})

test('operations that were not done after a stopped run are listed by runs show, and by runs follow before its last line', async (t) => {
  const { home, run } = await demo(t)
  const after = [{ do: 'set_temperature', on: 'shaker-1', with: { temperature: null } }]
  const framed = workflowOf('framed', { plate: { ...standing('pad_1'), steps: [{ wait_for: 'go' }] } }, { topology: 'demo', after })
  writeFileSync(`${home}/framed.json`, JSON.stringify(framed))
  await run('workflows', 'put', `${home}/framed.json`)
  const id = (await run('runs', 'submit', 'framed')).stdout.trim()
  await run('devices', 'stop', 'shaker-1')
  await run('runs', 'stop', id)
  await run('runs', 'stop', id, '--confirm')
  const followed = await run('runs', 'follow', id)
  t.match(followed.stdout, /\nnot done: set_temperature of shaker-1 \(after\): shaker-1 .*stop.*\n\S+ {2}framed: the run is ABORTED/)
  t.match((await run('runs', 'show', id)).stdout, /\nnot done:\n {2}set_temperature of shaker-1 \(after\): shaker-1 /)
  t.match((await run('runs', 'show', id)).stdout, /after +ABORTED|after +COMPLETED/)
})
