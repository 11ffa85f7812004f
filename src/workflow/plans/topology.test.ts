import { test } from 'tap'
import { type Loose, says, smallBench, topologyWith } from '../../testing/plans.ts'
import { scannerAt, scannerOf } from './scanners.ts'
import { Hops } from './timing.ts'
import { compileTopology, hasDevice } from './topology.ts'

test('a topology knows its devices: what they can do, how many labware they hold, and whether there is a driver', async (t) => {
  const { devices, pools, graph, name } = topologyWith()
  t.equal(name, 'demo')
  t.same([...devices.keys()], ['shaker-1', 'shaker-2', 'sealer-1', 'washer'])
  t.match(devices.get('washer'), { configured: false, type: null, sites: 2 })
  t.same([...devices.get('washer')!.operations], [['run_protocol', { seconds: 240 }]])
  t.match(devices.get('sealer-1'), { configured: true, type: 'sealer', sites: 1, limits: { temperature: { max: 200 } } })
  t.same(devices.get('sealer-1')!.operations.get('seal'), { seconds: 7 })
  t.ok(devices.get('sealer-1')!.operations.has('get_temperature'))
  t.same(pools.get('shakers'), ['shaker-1', 'shaker-2'])
  t.equal(graph.route('pad_1', 'washer_in/site-2')?.length, 1)
})

test('the topology of the manual is taken as it stands there', async (t) => {
  const devices = [{ ...smallBench.devices[0]! }, { ...smallBench.devices[2]! }, { ...smallBench.devices[3]! }]
  const document = {
    format: 1,
    name: 'demo',
    transporters: { 'arm-1': { positions: ['pad_1', 'shaker_in', 'sealer_in'], seconds: { pick: 5, move: 2, place: 5 } } },
    positions: { pad_1: { parking: true }, shaker_in: { device: 'shaker-1' }, sealer_in: { device: 'sealer-1' } },
    pools: { shakers: ['shaker-1'] },
  }
  t.equal(compileTopology(document, { ...smallBench, devices }, 'x').devices.size, 2)
})

const mistakes: [change: (document: Loose) => void, sentence: string][] = [
  [(d) => delete d.positions, 'the file: positions is missing'],
  [(d) => (d.postions = {}), 'the file: there is no member postions; did you mean "positions"?'],
  [(d) => (d.name = 'de.mo'), 'the file: name must be 1 to 64 letters, digits, hyphens and underscores'],
  [(d) => (d.positions.far = {}), 'topology demo: positions.far: no transporter reaches it; put it among the positions of one'],
  [
    (d) => d.transporters['arm-1'].positions.push('pad_3'),
    'topology demo: transporters.arm-1.positions[7]: there is no position pad_3; did you mean "pad_1"?',
  ],
  [(d) => d.transporters['arm-1'].positions.push('pad_1'), 'topology demo: transporters.arm-1.positions[7]: pad_1 is there twice'],
  [
    (d) => (d.positions.shaker_in.device = 'shaker-3'),
    'topology demo: positions.shaker_in.device: neither the configuration nor devices has a device shaker-3; did you mean "shaker-1"?',
  ],
  [
    (d) => (d.positions.shaker_in.device = 'constructor'),
    'topology demo: positions.shaker_in.device: neither the configuration nor devices has a device constructor',
  ],
  [(d) => (d.positions.shaker_in.device = 'arm-1'), 'topology demo: positions.shaker_in.device: arm-1 is a transporter, and has no nest'],
  [
    (d) => (d.positions.shaker_in.parking = true),
    'topology demo: positions.shaker_in: it has both device and parking; labware is not parked in the nest of a device',
  ],
  [
    (d) => (d.positions.rack.parking = true),
    'topology demo: positions.rack: it has both parking and storage; a storage needs no parking: it has room for all that is brought there',
  ],
  [
    (d) => (d.positions.washer_in.storage = true),
    'topology demo: positions.washer_in: it has both device and storage; a storage is no nest of a device: labware that stands in a nest takes up the place',
  ],
  [
    (d) => (d.positions.shaker_in.handover = true),
    'topology demo: positions.shaker_in: it has both device and handover; a carrier never reaches into a device',
  ],
  [
    (d) => (d.positions.rack.handover = true),
    'topology demo: positions.rack: it has both storage and handover; labware that is handed over has a place of its own',
  ],
  [
    (d) => {
      d.positions['washer_in/site-1'] = {}
      d.transporters['arm-1'].positions.push('washer_in/site-1')
    },
    'topology demo: positions.washer_in/site-1: so a site of washer is called; give the position another name',
  ],
  [
    (d) => {
      d.devices.washer.sites = 3
      d.positions.pad_1.device = 'washer'
    },
    'topology demo: devices.washer.sites: 2 positions are nests of washer, each of one labware; leave sites out',
  ],
  [
    (d) => (d.transporters['shaker-1'] = { positions: ['pad_1'] }),
    'topology demo: transporters.shaker-1: shaker-1 is a shaker, and carries nothing',
  ],
  [(d) => (d.devices['arm-1'] = {}), 'topology demo: devices.arm-1: arm-1 is a transporter; it is declared by being in transporters'],
  [(d) => (d.devices.reader = {}), 'topology demo: devices.reader: no position is a nest of reader; say which with "device": "reader"'],
  [
    (d) => (d.devices['sealer-1'].operations = { seel: {} }),
    'topology demo: devices.sealer-1.operations: sealer-1 has no operation seel; did you mean "seal"?',
  ],
  [(d) => (d.pools.washer = ['washer']), 'topology demo: pools.washer: washer is a device already; give the pool another name'],
  [(d) => d.pools.shakers.push('shaker-1'), 'topology demo: pools.shakers[2]: shaker-1 is there twice'],
  [
    (d) => d.pools.shakers.push('shaker-9'),
    'topology demo: pools.shakers[2]: there is no device with a position shaker-9; did you mean "shaker-1"?',
  ],
  [
    (d) => (d.translators = { 'arm-1': ['pad_1', 'pad_2'] }),
    'topology demo: translators.arm-1: arm-1 is a transporter already; give the translator another name',
  ],
  [
    (d) => (d.translators = { shuttle: ['pad_1', 'pad_3'] }),
    'topology demo: translators.shuttle[1]: there is no position pad_3; did you mean "pad_1"?',
  ],
  [
    (d) => (d.translators = { shuttle: ['pad_1', 'pad_1'] }),
    'topology demo: translators.shuttle[1]: pad_1 is a station of shuttle already; the stations of a translator are its own',
  ],
  [
    (d) => (d.translators = { shuttle: ['pad_1', 'pad_2'] }),
    'topology demo: translators.shuttle[1]: pad_2 is a station, which only passes labware on: no device, storage, slots, parking or handover',
  ],
  [
    (d) => (d.positions.pad_1.scanner = 'scan-9'),
    'topology demo: positions.pad_1.scanner: neither the configuration nor devices has a device scan-9',
  ],
  [(d) => (d.positions.pad_1.scanner = 'arm-1'), 'topology demo: positions.pad_1.scanner: arm-1 is a transporter, and reads no barcodes'],
  [
    (d) => (d.transporters['arm-1'].scanner = 'shaker-1'),
    'topology demo: transporters.arm-1.scanner: shaker-1 is a shaker, and has no operation scan',
  ],
  [
    (d) => {
      d.positions.pad_1.scanner = 'scan-1'
      d.devices['scan-1'] = { operations: { read: {} } }
    },
    'topology demo: positions.pad_1.scanner: scan-1 has no operation scan; there is: read',
  ],
]

test('a scanner that only the topology declares is known, and runs in PURE_SIM alone', async (t) => {
  const change = (d: Loose) => {
    d.positions.pad_1.scanner = 'scan-1'
    d.transporters['arm-1'].scanner = 'scan-1'
    d.devices['scan-1'] = { operations: { scan: { seconds: 3 } } }
  }
  const topology = topologyWith(change)
  t.equal(scannerAt(topology, 'pad_1'), 'scan-1')
  t.equal(scannerAt(topology, 'pad_2'), undefined)
  t.equal(scannerOf(topology, 'arm-1'), 'scan-1')
  t.equal(hasDevice(topology, 'scan-1'), true)
  t.equal(new Hops(topology.document).hop('arm-1'), new Hops(topologyWith().document).hop('arm-1') + 3)
})

test('a person and a storage are no scanners', async (t) => {
  const [, , , arm] = smallBench.devices
  const document = { format: 1, name: 'demo', transporters: { 'arm-1': { positions: ['a'], scanner: 's' } }, positions: { a: {} } }
  const bench = (isPerson: boolean, type: string) => ({
    ...smallBench,
    devices: [
      { ...arm!, isPerson },
      { ...smallBench.devices[0]!, device_id: 's', type, operations: ['scan'] },
    ],
  })
  says(
    t,
    () => compileTopology(document, bench(true, 'scanner'), 'x'),
    'topology demo: transporters.arm-1.scanner: arm-1 is a person, whose tasks ask for the barcode with the setting ask_barcode',
  )
  says(
    t,
    () => compileTopology(document, bench(false, 'storage'), 'x'),
    'topology demo: transporters.arm-1.scanner: s is a storage, whose scan reads its slots; name a scanner',
  )
  t.equal(compileTopology(document, bench(false, 'scanner'), 'x').name, 'demo')
})

for (const [change, sentence] of mistakes) {
  test(`a wrong topology is refused: ${sentence}`, async (t) => {
    says(t, () => topologyWith(change), sentence)
  })
}
