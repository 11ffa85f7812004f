import { test } from 'tap'
import { compiled, type Loose, says } from '../../testing/plans.ts'
import { allSteps, mayFeed, type StepPlan, takes } from './plan.ts'

test('each step and action has a name of its own, and a path that finds it again', async (t) => {
  const { threads, methods } = compiled({
    workflow: (d) => {
      d.threads.plate.steps.push({ method: 'shake_it' }, { name: 'shake_it-2', wait_for: 'x' }, { action: { instruct: 'Look at it' } })
      d.methods.shake_it.push({ emit: 'again' })
    },
  })
  const { steps, lists } = threads.get('plate')!
  t.same(
    [...allSteps(steps)].map(({ name, path }) => [name, path]),
    [
      ['shake_it', 'threads.plate.steps[0]'],
      ['branch', 'threads.plate.steps[1]'],
      ['seal_it', 'threads.plate.steps[1].cases.complete[0]'],
      ['wash', 'threads.plate.steps[2]'],
      ['shake_it-3', 'threads.plate.steps[3]'],
      ['shake_it-2', 'threads.plate.steps[4]'],
      ['instruct', 'threads.plate.steps[5]'],
    ],
  )
  t.same([...lists.keys()].sort(), ['threads.plate.steps', 'threads.plate.steps[1].cases.complete', 'threads.plate.steps[1].else'])
  for (const [path, list] of lists)
    list.forEach((step, i) => {
      t.equal(step.path, `${path}[${i}]`)
    })
  t.same(
    methods.get('shake_it')!.actions.map(({ name, path, kind }) => [name, path, kind]),
    [
      ['shake', 'methods.shake_it[0]', 'do'],
      ['emit', 'methods.shake_it[1]', 'emit'],
      ['emit-2', 'methods.shake_it[2]', 'emit'],
    ],
  )
})

test('a value that is no word is quoted in a path', async (t) => {
  const { threads } = compiled({ workflow: (d) => (d.threads.plate.steps[1].cases['not "done"'] = [{ wait_for: 'x' }]) })
  t.ok(threads.get('plate')!.lists.has('threads.plate.steps[1].cases["not \\"done\\""]'))
})

test('an action knows the devices it may be at, and the labware it wants', async (t) => {
  const { methods, carrier } = compiled()
  const [shake, emit] = methods.get('shake_it')!.actions
  t.same([shake!.devices, shake!.labware], [['shaker-1', 'shaker-2'], ['plate']])
  t.same([emit!.devices, emit!.labware], [[], []])
  t.same(methods.get('seal_it')!.actions[0]!.labware, ['plate'], 'the labware of the one thread that does it')
  t.same(methods.get('wash')!.owners, ['plate'])
  t.same([...methods.get('wash')!.labware], ['plate', 'tips'])
  t.same([carrier('plate'), carrier('tips'), carrier('nothing')], ['plate', 'tips', undefined])
})

test('a method of several threads wants the labware of whichever does it', async (t) => {
  const { methods } = compiled({ workflow: (d) => d.threads.tips.steps.push({ method: 'seal_it' }) })
  const [seal] = methods.get('seal_it')!.actions
  t.same(seal!.labware, ['*'])
  t.same(methods.get('seal_it')!.owners, ['plate', 'tips'])
  t.ok(takes(seal!, 'tips', 'tips'))
  t.notOk(takes(seal!, 'plate', 'tips'))
})

test('places are positions: the sites of a device that has several are all of them', async (t) => {
  const { threads } = compiled({ workflow: (d) => (d.threads.plate.end.at = ['pad_2', 'washer_in']) })
  t.same(threads.get('plate')!.start, { position: 'pad_1', mode: 'REUSE_EXISTING' })
  t.same(threads.get('plate')!.end.positions, ['pad_2', 'washer_in/site-1', 'washer_in/site-2'])
  t.same(threads.get('tips')!.end, { positions: ['rack'], mode: 'MANUAL_REMOVE' })
})

test('a step feeds what its methods want, what those bring along, and what its thread says it feeds', async (t) => {
  const { threads } = compiled({
    workflow: (d) => {
      d.labware.lid = { type: 'lid' }
      d.threads.tips.steps.unshift({ method: 'lift' })
      d.methods.lift = [{ do: 'run_protocol', on: 'washer', labware: ['tips', 'lid'] }]
      d.threads.lid = { labware: 'lid', start: { at: 'pad_2' }, end: { at: ['pad_2'] }, steps: [{ join: ['lift'] }] }
    },
  })
  const { steps } = threads.get('plate')!
  t.ok(mayFeed(steps, 'tips'))
  t.ok(mayFeed(steps, 'lid'), 'the tips bring it along')
  t.notOk(mayFeed(steps.slice(0, 2), 'tips'), 'only the last step sends for them')
  t.notOk(mayFeed([], 'tips'))
  const declared = compiled({ workflow: (d) => (d.threads.plate.contributes_to = ['tips']) })
  t.ok(mayFeed(declared.threads.get('plate')!.steps.slice(0, 1), 'tips'))
  const inBranch = compiled({
    workflow: (d) => {
      d.threads.plate.steps = [{ branch: 'x', cases: { y: [{ method: 'wash' }] } }]
    },
  })
  t.ok(mayFeed(inBranch.threads.get('plate')!.steps, 'tips'))
})

test('the hash is that of what the document says, not of how it is written', async (t) => {
  const { hash, hasCode, form } = compiled()
  t.match(hash, /^[0-9a-f]{64}$/)
  t.same([hasCode, form], [false, 'typescript'])
  t.equal(compiled({ workflow: (d) => (d.labware = { tips: d.labware.tips, plate: d.labware.plate }) }).hash, hash)
  t.equal(compiled({ form: 'json' }).hash, hash)
  t.not(compiled({ workflow: (d) => (d.threads.plate.start.mode = 'MANUAL_PLACE') }).hash, hash)
})

test('code is part of the hash, and of no JSON', async (t) => {
  const withBody = (body: unknown) => (d: Loose) => d.methods.seal_it.push({ name: 'look', body })
  const one = compiled({ workflow: withBody(async () => {}) })
  t.ok(one.hasCode)
  t.equal(one.methods.get('seal_it')!.actions[1]!.kind, 'code')
  t.not(one.hash, compiled({ workflow: withBody(async () => void 1) }).hash)
  const handler = { handle: () => {} }
  t.ok(
    compiled({ workflow: (d) => (d.on = { 'THREAD.COMPLETED': [handler], 'ACTION.abc.ERRORED': [() => {}], 'EXECUTION.FAILED': [] }) })
      .hasCode,
  )
  says(
    t,
    () => compiled({ workflow: withBody(() => {}), form: 'json' }),
    'the file: methods.seal_it[1] must be an action, with one of do, emit, wait_for, instruct, remove_lid, put_lid',
  )
  says(
    t,
    () => compiled({ workflow: (d) => (d.on = {}), form: 'json' }),
    'the file: there is no member on; there is: $schema, format, name, topology, labware, variables, values, objective, overtaking, start, before, after, methods, threads',
  )
})

test('what is no JSON is no part of a document', async (t) => {
  const circle: Loose = {}
  circle.itself = circle
  says(t, () => compiled({ workflow: (d) => (d.variables.speed.default = circle) }), 'the file: it is nested without end')
  const big = () => compiled({ workflow: (d) => (d.variables.speed.default = 1n) })
  says(t, big, 'workflow seal-and-spin: it holds what JSON cannot: Do not know how to serialize a BigInt')
})

test('an action without labware waits for none, whoever does it', async (t) => {
  const { methods } = compiled({ workflow: (d) => d.methods.seal_it.unshift({ do: 'get_temperature', on: 'sealer-1', labware: [] }) })
  t.same(methods.get('seal_it')!.actions[0]!.labware, [])
})

const at = 'workflow seal-and-spin:'
type Mistake = [change: (document: Loose) => void, sentence: string]

const wrongNames: Mistake[] = [
  [
    (d) => (d.threads.plate.steps[1].cases.complete[0].method = 'seel_it'),
    `${at} threads.plate.steps[1].cases.complete[0].method: there is no method seel_it; did you mean "seal_it"?`,
  ],
  [(d) => (d.topology = 'other'), `${at} topology: it is made for other, and this is demo`],
  [(d) => (d.start = ['plates']), `${at} start[0]: there is no thread plates; did you mean "plate"?`],
  [(d) => (d.start = ['plate', 'plate']), `${at} start[1]: plate is there twice`],
  [(d) => (d.threads.plate.labware = 'plat'), `${at} threads.plate.labware: there is no labware plat; did you mean "plate"?`],
  [
    (d) => (d.threads.tips.contributes_to = ['plaet']),
    `${at} threads.tips.contributes_to[0]: there is no labware plaet; did you mean "plate"?`,
  ],
  [
    (d) => (d.methods.shake_it[0].on = 'shaker'),
    `${at} methods.shake_it[0].on: there is no device or pool shaker; did you mean "shakers"?`,
  ],
  [
    (d) => (d.methods.wash[0].labware = ['plate', 'tip']),
    `${at} methods.wash[0].labware[1]: there is no labware tip; did you mean "tips"?`,
  ],
  [(d) => (d.methods.wash[0].labware = ['plate', 'plate']), `${at} methods.wash[0].labware[1]: plate is there twice`],
  [(d) => (d.methods.wash[0].tips = { tipps: 1 }), `${at} methods.wash[0].tips: there is no labware tipps; did you mean "tips"?`],
  [(d) => (d.methods.wash[0].sites = { tipps: 1 }), `${at} methods.wash[0].sites: there is no labware tipps; did you mean "tips"?`],
  [(d) => (d.threads.plate.start.at = 'pad_9'), `${at} threads.plate.start.at[0]: there is no position pad_9; did you mean "pad_1"?`],
  [
    (d) => (d.threads.plate.end.at = ['pad_1', 'pad_9']),
    `${at} threads.plate.end.at[1]: there is no position pad_9; did you mean "pad_1"?`,
  ],
  [
    (d) => d.threads.plate.steps.push({ park: ['pad_9'] }),
    `${at} threads.plate.steps[3].park[0]: there is no position pad_9; did you mean "pad_1"?`,
  ],
  [(d) => (d.threads.tips.steps[0].join = ['wsh']), `${at} threads.tips.steps[0].join[0]: there is no method wsh; did you mean "wash"?`],
  [(d) => (d.threads.tips.steps[0].join = ['wash', 'wash']), `${at} threads.tips.steps[0].join[1]: wash is there twice`],
  [
    (d) => (d.methods.shake_it[0].with.speed = { variable: 'sped' }),
    `${at} methods.shake_it[0].with.speed: there is no variable sped; did you mean "speed"?`,
  ],
  [
    (d) => {
      d.threads.plate.steps[0].name = 'one'
      d.threads.plate.steps[1].cases.complete[0].name = 'one'
    },
    `${at} threads.plate: two things in it have the name one; give each its own`,
  ],
  [
    (d) => d.methods.shake_it.push({ emit: 'OPERATOR.CONFIRM.x' }),
    `${at} methods.shake_it[2].emit: names that begin with OPERATOR. are the service’s own; give the event another`,
  ],
  [(d) => (d.on = { COMPLETED: [] }), `${at} on.COMPLETED: an event is called THREAD.COMPLETED or THREAD.<id>.COMPLETED`],
  [(d) => (d.on = { 'THREADS.COMPLETED': [] }), `${at} on["THREADS.COMPLETED"]: there is no type of event THREADS; did you mean "THREAD"?`],
  [(d) => (d.on = { 'THREAD.COMPLETE': [] }), `${at} on["THREAD.COMPLETE"]: THREAD has no status COMPLETE; did you mean "COMPLETED"?`],
  [
    (d) => (d.on = { 'EXECUTION.CREATED': [] }),
    `${at} on["EXECUTION.CREATED"]: EXECUTION has no status CREATED; there is: COMPLETED, FAILED, ABORTED`,
  ],
]

const wrongSharing: Mistake[] = [
  [
    (d) => {
      d.threads.other = { ...d.threads.plate, steps: [] }
    },
    `${at} threads.other.labware: thread plate carries plate already; a labware has one thread`,
  ],
  [
    (d) => d.threads.plate.steps.splice(2, 1),
    `${at} threads.tips.steps[0].join[0]: no thread does wash; give one the step {"method": "wash"}`,
  ],
  [
    (d) => d.threads.plate.steps.push({ join: ['wash'] }),
    `${at} threads.plate.steps[3].join[0]: thread plate does wash itself, and cannot join it as well`,
  ],
  [
    (d) => (d.threads.tips.steps[0].join = ['seal_it']),
    `${at} threads.tips.steps[0].join[0]: no action of seal_it lists tips as its labware`,
  ],
  [
    (d) => (d.threads.tips.steps = []),
    `${at} methods.wash[0].labware: thread tips carries tips, and never joins wash; give it the step {"join": ["wash"]}`,
  ],
  [(d) => delete d.threads.tips, `${at} methods.wash[0].labware: no thread carries tips`],
  [
    (d) => (d.methods.wash[0].labware = ['tips']),
    `${at} methods.wash[0].labware: plate is missing, the labware of the thread that does wash; put it in, or leave labware out`,
  ],
  [
    (d) => d.threads.plate.steps.push({ action: d.methods.wash[0] }),
    `${at} threads.plate.steps[3].action.labware: tips cannot be brought to an action that is a step; make it a method, which others join`,
  ],
  [
    (d) => d.threads.tips.steps.push({ while_more_work: [{ park: ['pad_2'] }] }),
    `${at} threads.tips.steps[1].while_more_work: it can be gone through without a join, and would then go round for ever; put a join on every way`,
  ],
]

const wrongActions: Mistake[] = [
  [(d) => (d.methods.shake_it[0].do = 'shaek'), `${at} methods.shake_it[0].do: shaker-1 has no operation shaek; did you mean "shake"?`],
  [
    (d) => (d.methods.shake_it[0] = { do: 'lock_plate', on: 'shakers' }),
    `${at} methods.shake_it[0].do: shaker-2 has no operation lock_plate; there is: initialize, stop, shake`,
  ],
  [(d) => (d.methods.wash[0].do = 'wash'), `${at} methods.wash[0].do: washer has no operation wash; there is: run_protocol`],
  [
    (d) => (d.methods.seal_it[0].do = 'stop'),
    `${at} methods.seal_it[0].do: a stop is for people: it latches the device until somebody initializes it`,
  ],
  [
    (d) => d.methods.seal_it.push({ do: 'get_temperature', on: 'sealer-1', with: { unit: 'K' } }),
    `${at} methods.seal_it[1].with: get_temperature has no parameter unit`,
  ],
  [(d) => delete d.methods.shake_it[0].with.duration, `${at} methods.shake_it[0].with: shake wants duration too`],
  [(d) => (d.methods.shake_it[0].with.sped = 1), `${at} methods.shake_it[0].with: shake has no parameter sped; did you mean "speed"?`],
  [
    (d) => (d.methods.shake_it[0].with.speed = { varable: 'speed' }),
    `${at} methods.shake_it[0].with: speed must be a number, not an object`,
  ],
  [(d) => (d.methods.shake_it[0].with.speed = 'fast'), `${at} methods.shake_it[0].with: speed must be a number, not "fast"`],
  [
    (d) => (d.methods.shake_it[0].with.speed = 5000),
    `${at} methods.shake_it[0].with: speed 5000 rpm is outside what shaker-1 takes: 200 to 3000 rpm`,
  ],
  [
    (d) => (d.methods.shake_it[0].with.speed = 2000),
    `${at} methods.shake_it[0].with: speed 2000 rpm is outside what shaker-2 takes: 100 to 1000 rpm`,
  ],
  [
    (d) => (d.methods.shake_it[0].with.duration = 1.5),
    `${at} methods.shake_it[0].with: duration 1.5 s is finer than shaker-1 knows: give a multiple of 1, 1 to 99999 s`,
  ],
  [(d) => (d.methods.seal_it[0].with.duration = -1), `${at} methods.seal_it[0].with: duration must not be negative`],
  [
    (d) => {
      d.variables.speed.default = 5000
      d.methods.shake_it[0].with.speed = { variable: 'speed' }
    },
    `${at} methods.shake_it[0].with: speed 5000 rpm is outside what shaker-1 takes: 200 to 3000 rpm`,
  ],
  [
    (d) => {
      d.labware.lid = { type: 'lid' }
      d.methods.wash[0].labware.push('lid')
      d.threads.lid = { labware: 'lid', start: { at: 'pad_2' }, end: { at: ['pad_2'] }, steps: [{ join: ['wash'] }] }
    },
    `${at} methods.wash[0].labware: 3 labware are more than washer has sites for: 2`,
  ],
  [(d) => (d.methods.wash[0].sites = { tips: 3 }), `${at} methods.wash[0].sites.tips: washer has no site 3: it has 2`],
  [(d) => (d.methods.wash[0].sites = { tips: 1, plate: 1 }), `${at} methods.wash[0].sites.plate: tips is on site 1 already`],
  [(d) => (d.methods.seal_it[0].sites = { tips: 1 }), `${at} methods.seal_it[0].sites.tips: tips is not among the labware of the action`],
  [(d) => (d.methods.seal_it[0].tips = { tips: 1 }), `${at} methods.seal_it[0].tips.tips: tips is not among the labware of the action`],
  [
    (d) => (d.methods.wash[0].tips = { plate: 1 }),
    `${at} methods.wash[0].tips.plate: plate is a plate, and has no tips; its kind must be tip_rack`,
  ],
  [(d) => (d.methods.wash[0].tips = { tips: 97 }), `${at} methods.wash[0].tips.tips: 97 tips are more than the 96 that tips holds`],
  [
    (d) => delete d.labware.tips.tips,
    `${at} methods.wash[0].tips.tips: nobody knows how many tips tips holds; say so in labware.tips.tips`,
  ],
  [
    (d) => d.methods.seal_it.push({ name: 'look', labware: ['plate'], body: async () => {} }),
    `${at} methods.seal_it[1].labware: labware is brought to a device; say to which with "on"`,
  ],
]

const wrongPlaces: Mistake[] = [
  [
    (d) => (d.threads.plate.start = { at: 'pad_1', mode: 'DISPENSE' }),
    `${at} threads.plate.start: labware is dispensed from a storage, and pad_1 is none`,
  ],
  [
    (d) => d.threads.plate.steps.push({ park: ['rack'] }),
    `${at} threads.plate.steps[3].park: rack is a storage: what is put there cannot be had back`,
  ],
  [
    (d) => (d.threads.plate.start.at = 'washer_in'),
    `${at} threads.plate.start.at: there are several places at washer_in; say washer_in/site-1, for example`,
  ],
]

for (const [change, sentence] of [...wrongNames, ...wrongSharing, ...wrongActions, ...wrongPlaces]) {
  test(`a wrong workflow is refused: ${sentence}`, async (t) => {
    says(t, () => compiled({ workflow: change }), sentence)
  })
}

const farAway = (d: Loose) => {
  d.transporters['arm-1'].positions = ['pad_1', 'pad_2', 'rack', 'shaker_in', 'washer_in', 'station_1']
  d.transporters.arm_2 = { positions: ['station_2', 'sealer_in', 'shaker_2_in'] }
  d.positions.station_1 = {}
  d.positions.station_2 = {}
}

test('a device that no transporter leads to is told with the way that is missing', async (t) => {
  says(
    t,
    () => compiled({ topology: farAway }),
    `${at} methods.shake_it[0]: there is no way from pad_1 to shaker_2_in; see which transporters reach them`,
  )
  const linked = (d: Loose) => {
    farAway(d)
    d.translators = { shuttle: ['station_1', 'station_2'] }
  }
  t.ok(compiled({ topology: linked }))
  for (const [where, change] of [
    ['threads.plate.start.at', (d: Loose) => (d.threads.plate.start.at = 'station_1')],
    ['threads.plate.end.at', (d: Loose) => (d.threads.plate.end.at = ['station_1'])],
    ['threads.plate.steps[3].park', (d: Loose) => d.threads.plate.steps.push({ park: ['station_1'] })],
  ] as const) {
    const sentence = `${at} ${where}: station_1 is a station of a translator, where nothing rests`
    says(t, () => compiled({ topology: linked, workflow: change }), sentence)
  }
})

test('the way back from a branch, out of a loop and of what is joined is looked at as well', async (t) => {
  const missing = (d: Loose) => {
    farAway(d)
    d.pools.shakers = ['shaker-1']
  }
  const without = (d: Loose) => {
    d.threads.plate.steps.splice(1, 1)
  }
  t.ok(compiled({ topology: missing, workflow: without }))
  says(
    t,
    () => compiled({ topology: missing }),
    `${at} methods.seal_it[0]: there is no way from shaker_in to sealer_in; see which transporters reach them`,
  )
  says(
    t,
    () =>
      compiled({
        topology: missing,
        workflow: (d) => {
          without(d)
          d.threads.tips.steps = [{ while_more_work: [{ join: ['wash'] }, { park: ['station_2'] }] }]
        },
      }),
    `${at} threads.tips.steps[0].while_more_work[1].park: there is no way from washer_in/site-1 to station_2; see which transporters reach them`,
  )
  says(
    t,
    () =>
      compiled({
        topology: missing,
        workflow: (d) => {
          without(d)
          d.threads.plate.end.at = ['pad_1', 'station_2']
        },
      }),
    `${at} threads.plate.end.at: there is no way from washer_in/site-1 to station_2; see which transporters reach them`,
  )
})

test('a way leads through no device, and a loop is gone through more than once', async (t) => {
  // Both arms reach the washer, and nothing else is common to them.
  const beyond = (d: Loose) => {
    d.transporters.arm_2 = { positions: ['washer_in', 'far'] }
    d.positions.far = {}
  }
  const loop = (...steps: object[]) => ({
    topology: beyond,
    workflow: (d: Loose) => {
      d.threads.tips.steps = [{ while_more_work: steps }]
    },
  })
  t.ok(compiled(loop({ join: ['wash'] }, { park: ['washer_in'] })))
  says(
    t,
    () => compiled(loop({ join: ['wash'] }, { park: ['far'] })),
    `${at} threads.tips.end.at: there is no way from far to rack; see which transporters reach them`,
  )
  says(
    t,
    () => compiled(loop({ park: ['pad_2'] }, { join: ['wash'] }, { park: ['far'] })),
    `${at} threads.tips.steps[0].while_more_work[0].park: there is no way from far to pad_2; see which transporters reach them`,
  )
})

test('a step is what its first word says', async (t) => {
  const { threads } = compiled({ workflow: (d) => d.threads.plate.steps.push({ wait_for: 'x' }, { park: ['pad_2'] }) })
  const kinds = threads.get('plate')!.steps.map(({ kind }) => kind)
  t.same(kinds, ['method', 'branch', 'method', 'wait_for', 'park'] satisfies StepPlan['kind'][])
  says(
    t,
    () => compiled({ workflow: (d) => d.threads.plate.steps.push({ mehtod: 'x' }) }),
    'the file: threads.plate.steps[3] must be a step, with one of method, action, join, park, wait_for, branch, while_more_work, if, repeat, delay, until_temperature',
  )
  says(
    t,
    () => compiled({ workflow: (d) => d.threads.plate.steps.push({ park: ['pad_2'], nmae: 'x' }) }),
    'the file: there is no member threads.plate.steps[3].nmae; did you mean "name"?',
  )
})
