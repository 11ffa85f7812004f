// `benchd teachpoints …` on the demo's bench.

import { readFileSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { demo } from '../../testing/cli.ts'

type Points = { teachpoints: { name: string; coords: Record<string, number> }[] }

/** The demo, with points that are hard to write down. */
async function odd(t: Test) {
  const bench = await demo(t)
  const { ask } = bench
  const coords = { x: -0.1, y: 1e-7, z: 123456.789, yaw: -180, pitch: 0.30000000000000004, roll: 1e21 }
  const joint = { base: 1, shoulder: -2.5, elbow: 3, wrist: 4, rail: 5.5, gripper: 6 }
  for (const point of [
    { name: 'a, "b"', coord_type: 'cartesian', coords, orientation: 'left', access: 'from above', gateway: 'home' },
    { name: 'jöint', coord_type: 'joint', coords: joint, access: { access_type: 'vertical', vertical_clearance: 12.5 } },
    { name: '=1+1', coord_type: 'cartesian', coords, access: '{no json}' },
    { name: "'@a", coord_type: 'cartesian', coords, access: '-side', gateway: '+gate' },
    { name: '"quoted', coord_type: 'cartesian', coords },
    {
      coord_type: 'cartesian',
      coords,
      name: 'turned \u202e\u200b\\u202e',
      gateway: 'g\u202e',
      access: { name: 'p\u202e', access_type: 'vertical' },
    },
  ])
    t.match(await ask('POST', '/api/teachpoints', { device_id: 'arm-1', ...point }), { name: point.name })
  return bench
}

test('a point is made, changed, shown and deleted', async (t) => {
  const { run, json } = await demo(t)
  t.match(await run('teachpoints', 'list', 'arm-1'), { code: 0, stdout: /^NAME .*\n[\s\S]*pad_1 +cartesian +x 120 {2}y 320 {2}z 40 / })
  const set = (...args: string[]) => run('teachpoints', 'set', 'arm-1', ...args)
  t.match(await set('pad_1', '--z', '-40.5', '--gateway', 'home'), {
    code: 0,
    stdout: 'pad_1 is changed: x 120  y 320  z -40.5  yaw 0  pitch 0  roll 0\n',
  })
  t.match(await run('teachpoints', 'get', 'arm-1', 'pad_1'), { code: 0, stdout: /z -40\.5 .*gateway home\n$/ })
  t.match(await set('j1', '--base', '1', '--shoulder', '2', '--elbow', '3'), { code: 2, stderr: /^benchd: --wrist is missing\n$/ })
  t.match(await set('j1', '--base', '1', '--shoulder', '2', '--elbow', '3', '--wrist', '-4'), {
    code: 0,
    stdout: /^j1 is new: base 1 .*rail 0/,
  })
  t.match(await json('teachpoints', 'set', 'arm-1', 'j1', '--elbow', '9'), {
    name: 'j1',
    coord_type: 'joint',
    coords: { base: 1, elbow: 9 },
  })
  for (const [args, code, sentence] of [
    [['set', 'arm-1', 'p'], 2, /no such point yet/],
    [['set', 'arm-1', 'p', '--x', '1', '--base', '2'], 2, /cartesian or joint, not both/],
    [['set', 'arm-1', 'pad_1', '--x', 'left'], 2, /--x left is not a number/],
    [['get', 'arm-1', 'nowhere'], 3, /nowhere/],
    [['list', 'arm-9'], 3, /arm-9/],
    [['rm', 'arm-1', 'j1'], 2, /delete the teachpoint j1 of arm-1.*--yes/],
    [['rm', 'arm-1', 'nowhere', '--yes'], 3, /nowhere/],
  ] as const)
    t.match(await run('teachpoints', ...args), { code, stdout: '', stderr: sentence }, args.join(' '))
  t.match(await run('teachpoints', 'rm', 'arm-1', 'j1', '--yes'), { code: 0, stdout: /j1/ })
  t.match(await run('teachpoints', 'get', 'arm-1', 'j1'), { code: 3 })
})

test('what export writes import takes, as JSON and as comma-separated values, to the last digit', async (t) => {
  const { home, run, json } = await odd(t)
  const before = await json<Points>('teachpoints', 'export', 'arm-1')
  t.equal(before.teachpoints.length, 18)
  for (const ending of ['json', 'csv']) {
    const path = `${home}/points.${ending}`
    t.match(await run('teachpoints', 'export', 'arm-1', path), { code: 0, stdout: `18 points of arm-1 are in ${path}\n` })
    t.equal((await run('teachpoints', 'export', 'arm-1', '--format', ending)).stdout, readFileSync(path, 'utf8'), 'stdout has the same')
    t.match(await run('teachpoints', 'diff', 'arm-1', path), { code: 0, stdout: '0 new, 0 changed, 0 missing, 18 the same\n' })
    for (const { name } of before.teachpoints.slice(0, 5)) await run('teachpoints', 'rm', 'arm-1', name, '--yes')
    await run('teachpoints', 'set', 'arm-1', 'waste', '--x', '0')
    t.match(await run('teachpoints', 'import', 'arm-1', path, '--yes'), { code: 5, stderr: /nothing was stored/ })
    t.match(await run('teachpoints', 'import', 'arm-1', path, '--overwrite'), { code: 2, stderr: /123456\.789 mm, which no arm.*--yes/ })
    t.match(await run('teachpoints', 'import', 'arm-1', path, '--overwrite', '--yes'), { code: 0, stdout: '5 created, 13 updated\n' })
    t.same(await json('teachpoints', 'export', 'arm-1'), before, ending)
  }
  const csv = readFileSync(`${home}/points.csv`, 'utf8')
  t.match(csv, /^arm-1,'=1\+1,cartesian,-0\.1,/m, 'text is no formula, and a number stays one')
  t.match(csv, /^arm-1,''@a,.*,'-side,'\+gate$/m)
  const [head] = csv.split('\r\n')
  t.match(
    head,
    /^device_id,name,coord_type,x_mm,y_mm,z_mm,yaw_deg,pitch_deg,roll_deg,base_deg,.*,rail_mm,gripper_deg,orientation,access,gateway$/,
  )
})

test('a dry run shows what would change, and changes nothing', async (t) => {
  const { home, run, json } = await demo(t)
  const path = `${home}/points.csv`
  await run('teachpoints', 'export', 'arm-1', path)
  const before = await json('teachpoints', 'export', 'arm-1')
  const text = readFileSync(path, 'utf8').replace('pad_2,cartesian,260,', 'pad_2,cartesian,261.5,').replace('arm-1,waste,', 'arm-1,bin,')
  writeFileSync(path, text)
  const changes = '+ bin\n~ pad_2  coords.x 260 -> 261.5 mm\n1 new, 1 changed, 0 missing, 10 the same\n'
  t.match(await run('teachpoints', 'import', 'arm-1', path, '--dry-run'), {
    code: 5,
    stdout: changes,
    stderr: /11 of them are there already/,
  })
  t.match(await run('teachpoints', 'import', 'arm-1', path, '--dry-run', '--overwrite'), { code: 0, stdout: changes, stderr: '' })
  t.match(await run('teachpoints', 'diff', 'arm-1', path), {
    code: 1,
    stdout: /\+ bin\n~ pad_2 .*\n- waste\n1 new, 1 changed, 1 missing, 10 the same\n/,
  })
  const { changes: told } = JSON.parse((await run('teachpoints', 'diff', 'arm-1', path, '--json')).stdout) as {
    changes: { what: string }[]
  }
  t.match(
    told.filter(({ what }) => what === 'changed'),
    [{ name: 'pad_2', members: { 'coords.x': { from: 260, to: 261.5 } } }],
  )
  t.same(await json('teachpoints', 'export', 'arm-1'), before)
})

test('a file with something wrong is refused whole, and says where', async (t) => {
  const { home, run, json } = await demo(t)
  const before = await json('teachpoints', 'export', 'arm-1')
  const head = 'name,coord_type,x_mm,y_mm,z_mm,yaw_deg,pitch_deg,roll_deg\n'
  const good = 'new,cartesian,1,2,3,4,5,6\n'
  const point = { name: 'new', coord_type: 'cartesian', coords: { x: 1, y: 2, z: 3, yaw: 4, pitch: 5, roll: 6 } }
  const wrong: [name: string, text: string | Buffer, sentence: RegExp][] = [
    ['a.csv', '', /line 1: there is no header/],
    ['a.csv', `x,${head}`, /line 1: the column "x_mm" is there twice/],
    ['a.csv', `u,${head}`, /line 1: the column "u" is not known; there is: device_id, name, /],
    ['a.csv', `Name,${head}`, /line 1: the column "Name" is not known; did you mean "name"\?/],
    ['a.csv', `name,${head}`, /line 1: the column "name" is there twice/],
    ['a.csv', Buffer.from(`${head}M\xfcller,cartesian,1,2,3,4,5,6\n`, 'latin1'), /a\.csv is not UTF-8 text: save it as UTF-8/],
    ['a.csv', 'name,x_mm\n', /line 1: the column coord_type is missing/],
    ['a.csv', `${head}next,cartesian,0x10,2,3,4,5,6\n`, /line 2, column x_mm: "0x10" is not a number/],
    [
      'a.xml',
      '<teachpoints><teachpoint name="pad"/></teachpoints>',
      /line 1: "pad" has a name and no coordinates: they are in the controller/,
    ],
    ['a.xml', '<a>\n<teachpoint name="p" shoulder="1" elbow="2" wrist="3"/></a>', /line 2: "p" has no base: nobody may guess/],
    ['a.xml', '<a><teachpoint name="p" x="0x10" y="1" z="1" yaw="1" pitch="1" roll="1"/></a>', /x of "p" is not a number: 0x10/],
    ['a.xml', '<a><teachpoint name="p" x="1"</a>', /is no whole XML/],
    ['a.xml', '<root><point/></root>', /XML without an element teachpoint \(its root is root\); write the points as CSV/],
    ['a.xml', '<!DOCTYPE a [<!ENTITY b "c">]><a><teachpoint name="&b;"/></a>', /a document type is not taken/],
    ['a.json', '{"$otSharedSchema": "#/protocol/schemas/8", "commands": []}', /is an Opentrons protocol, and nothing was stored/],
    ['a.json', '{"ordering": [["A1"]], "wells": {"A1": {}}, "schemaVersion": 2}', /is a labware definition of Opentrons/],
    ['a.json', '{"name": "deck", "type": "HamiltonSTARDeck", "children": []}', /is a deck of PyLabRobot/],
    ['a.reg', 'Windows Registry Editor Version 5.00\n', /is an export of the Windows registry/],
    ['a.txt', "<?xml version='1.0'?>\n<Velocity11 file='Protocol_Data'/>", /is a file of VWorks/],
    ['a.txt', '0001:Safe, 195, 0, -385, -5744\n', /counts of its motors/],
    ['a.yaml', 'name: w\nformat: 1\n', /is YAML, and nothing was stored: benchd reads JSON; to make JSON of it: python3/],
    ['a.csv', `${head}${good}next,cartesian,1,2,"3,5",4,5,6\n`, /line 3, column z_mm: "3,5" is not a number/],
    ['a.csv', `${head}${good}next,cartesian,1,2,,4,5,6\n`, /line 3, column z_mm: .*coords\.z is missing/],
    [
      'a.csv',
      `${head}${good}next,cartesian,1,2\n`,
      /line 3, column z_mm: the line has 4 cells, the header 8|line 3, column .*: the line has 4 cells/,
    ],
    ['a.csv', `${head}${good}next,polar,1,2,3,4,5,6\n`, /line 3, column coord_type: it must be cartesian or joint/],
    ['a.csv', `${head}${good}${good}`, /line 3, column name: "new" is there twice/],
    ['a.csv', `device_id,${head}arm-2,${good}`, /line 2, column device_id: the point "new" is of arm-2, not of arm-1/],
    ['a.csv', `base_deg,${head}1,${good}`, /line 2, column base_deg: a cartesian point has none/],
    ['a.csv', `${head}"new,cartesian\n`, /line 2: a quote is not closed/],
    ['a.json', '{\n  "teachpoints": [1 2]\n}', /line 2,? column 21/],
    ['a.json', JSON.stringify([point, { ...point, name: 'b', coords: { x: 1 } }]), /\[1\]\.coords\.y.*missing/],
    ['a.json', JSON.stringify({ teachpoints: [point, { ...point, name: 'b', x: 1 }] }), /teachpoints\[1\].*there is no member x/],
    ['a.json', JSON.stringify({ points: [] }), /there is no member points/],
  ]
  for (const [name, text, sentence] of wrong) {
    writeFileSync(`${home}/${name}`, text)
    t.match(await run('teachpoints', 'import', 'arm-1', `${home}/${name}`), { code: 2, stdout: '', stderr: sentence }, String(text))
  }
  t.same(await json('teachpoints', 'export', 'arm-1'), before)
  t.match(await run('teachpoints', 'import', 'arm-1', `${home}/none.csv`), { code: 3, stderr: /none\.csv cannot be read/ })
  t.match(await run('teachpoints', 'import', 'arm-1', `${home}/a.csv`, '--format', 'xlsx'), {
    code: 2,
    stderr: /--format xlsx is none of json, csv, xml/,
  })
  writeFileSync(`${home}/a.csv`, head + good)
  t.match(await run('teachpoints', 'import', 'arm-1', `${home}/a.csv`), { code: 0, stdout: '1 created, 0 updated\n' })
})

test('two who change one point at once both have their way', async (t) => {
  const { run, json } = await demo(t)
  const all = await Promise.all(['--x', '--y', '--z', '--yaw'].map((member) => run('teachpoints', 'set', 'arm-1', 'pad_1', member, '77')))
  for (const { code, stderr } of all) t.equal(code, 0, stderr)
  t.match(await json('teachpoints', 'get', 'arm-1', 'pad_1'), { coords: { x: 77, y: 77, z: 77, yaw: 77 } })
})

test('a table as Excel writes it is taken, with semicolons or tabs, decimal commas and rows of empty cells', async (t) => {
  const { home, run, json } = await demo(t)
  const head = ['name', 'coord_type', 'x_mm', 'y_mm', 'z_mm', 'yaw_deg', 'pitch_deg', 'roll_deg']
  for (const [i, separator, opening] of [
    [1, ';', '\uFEFF'],
    [2, '\t', ''],
    [3, ';', 'sep=;\r\n'],
  ] as const) {
    const rows = [head, [`p${i}`, 'cartesian', '12,5', '-3', '4', '5', '6', '7'], head.map(() => ''), head.map(() => '')]
    writeFileSync(`${home}/p.csv`, opening + rows.map((row) => `${row.join(separator)}\r\n`).join(''))
    t.match(await run('teachpoints', 'import', 'arm-1', `${home}/p.csv`), { code: 0, stdout: '1 created, 0 updated\n' })
    t.match(await json('teachpoints', 'get', 'arm-1', `p${i}`), { coords: { x: 12.5, y: -3 } })
  }
  writeFileSync(`${home}/p.csv`, `${head.join(';')}\nq;cartesian;12,5;1.234;4;5;6;7\n`)
  t.match(await run('teachpoints', 'import', 'arm-1', `${home}/p.csv`), { code: 2, stderr: /line 2, column y_mm: "1\.234" has a point/ })
})

test('XML of programs for arms and a table of joints are taken, in the units that are said', async (t) => {
  const { home, run, json } = await demo(t)
  const points = async () => (await json<Points>('teachpoints', 'export', 'arm-1')).teachpoints
  const named = async (name: string) => (await points()).find((point) => point.name === name)
  const import_ = (file: string, text: string, ...more: string[]) => {
    writeFileSync(`${home}/${file}`, text)
    return run('teachpoints', 'import', 'arm-1', `${home}/${file}`, ...more)
  }
  const xml = `<?xml version="1.0"?>
<!-- <teachpoint name="gone" x="1"/> -->
<teachpoints>
  <teachpoint name="hotel &amp; lid" x="312.5" y='-20' z="150" yaw="90" pitch="90" roll="180" approach_height="25"/>
  <teachpoint name="j" base="10.5" shoulder="-20" elbow="30" wrist="40" rail="500"></teachpoint>
</teachpoints>`
  t.match(await import_('arm.xml', xml), { code: 0, stdout: '2 created, 0 updated\n' })
  t.match(await named('hotel & lid'), {
    coord_type: 'cartesian',
    coords: { x: 312.5, y: -20, z: 150, yaw: 90, pitch: 90, roll: 180 },
    access: { access_type: 'vertical', vertical_clearance: 25 },
  })
  t.match(await named('j'), { coord_type: 'joint', coords: { base: 10.5, shoulder: -20, rail: 500, gripper: 0 } })
  t.match(await import_('joints.csv', 'name,base,shoulder,elbow,wrist\nk,10,-20.5,30,40\n'), { code: 0, stdout: '1 created, 0 updated\n' })
  t.match(await named('k'), { coord_type: 'joint', coords: { base: 10, shoulder: -20.5, rail: 0 } })

  const metres = 'name,x,y,z,yaw,pitch,roll\nm,0.3125,-0.02,0.15,1.5707963267948966,0,3.141592653589793\n'
  t.match(await import_('m.csv', metres), { code: 2, stderr: /every length is below 5 mm, as if they were metres.*--yes/ })
  t.match(await import_('m.csv', metres, '--dry-run'), { code: 0, stderr: /see the units of the file: every length is below 5 mm/ })
  t.match(await import_('m.csv', metres, '--units', 'm,deg'), { code: 2, stderr: /every angle is below 6\.3°, as if they were radians/ })
  t.match(await import_('m.csv', metres, '--units', 'm,rad'), { code: 0 })
  t.match(await named('m'), { coords: { x: 312.5, y: -20, z: 150, yaw: 90, pitch: 0, roll: 180 } })
  const coords = { x: 0.3125, y: 0, z: 0.15, yaw: Math.PI, pitch: 0, roll: 0 }
  const access = { access_type: 'vertical', vertical_clearance: 0.025 }
  const asJson = JSON.stringify([{ name: 'n', coord_type: 'cartesian', coords, access }])
  t.match(await import_('n.json', asJson, '--units', 'm,rad'), { code: 0 })
  t.match(await named('n'), { coords: { x: 312.5, z: 150, yaw: 180 }, access: { vertical_clearance: 25 } })
  for (const [units, sentence] of [
    ['m', /--units m is not two units/],
    ['rad,m', /is not two units/],
  ] as const)
    t.match(await import_('m.csv', metres, '--units', units), { code: 2, stderr: sentence })
  t.match(
    await import_(
      'x.csv',
      metres.replace('x,y', 'x_mm,y_mm').replace('z,yaw,pitch,roll', 'z_mm,yaw_deg,pitch_deg,roll_deg'),
      '--units',
      'm,rad',
    ),
    {
      code: 2,
      stderr: /its columns name their units, and --units says others/,
    },
  )
})
