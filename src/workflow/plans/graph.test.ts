import { test } from 'tap'
import { oneArm, severalArms } from '../../testing/documents.ts'
import { graphOf, graphOn, smc } from '../../testing/scheduler.ts'
import type { Graph } from './graph.ts'

const route = (graph: Graph, from: string, to: string) => graph.route(from, to)?.map((hop) => `${hop.from} ${hop.transporter} ${hop.to}`)

test('a device with sites has a position for each, one without has the position of its entry', (t) => {
  const graph = smc()
  t.equal(graph.positions.size, 53 + 8 + 8)
  t.same(
    graph.positionsOf('bravo_96').map(({ name }) => name),
    Array.from({ length: 9 }, (_, i) => `bravo_96/site-${i + 1}`),
  )
  t.same(graph.positionsOf('sealer'), [
    { name: 'sealer', entry: 'sealer', device: 'sealer', parking: false, storage: false, handover: false, slot: null },
  ])
  t.same(graph.positionsOf('nothing'), [])
  t.end()
})

test('a route goes hop by hop, each by who reaches both of its ends', (t) => {
  const graph = smc()
  t.same(route(graph, 'stacker_3', 'bravo_96/site-1'), [
    'stacker_3 ddr_2 translator_1_end',
    'translator_1_end translator_1 translator_1_start',
    'translator_1_start ddr_1 bravo_96/site-1',
  ])
  t.same(route(graph, 'bravo_384/site-2', 'waste_1'), [
    'bravo_384/site-2 ddr_3 translator_2_end',
    'translator_2_end translator_2 translator_2_start',
    'translator_2_start ddr_2 translator_1_end',
    'translator_1_end translator_1 translator_1_start',
    'translator_1_start ddr_1 waste_1',
  ])
  t.same(route(graph, 'bravo_384/site-1', 'bravo_384/site-2'), ['bravo_384/site-1 ddr_3 bravo_384/site-2'])
  t.same(route(graph, 'translator_1_start', 'shaker_1'), [
    'translator_1_start translator_1 translator_1_end',
    'translator_1_end ddr_2 shaker_1',
  ])
  t.same(graph.route('pad_1', 'pad_1'), [])
  t.throws(() => graph.route('pad_1', 'pad_99'), { code: 'not_found' })
  t.end()
})

test('the hops of the labware of the assay are the fewest there can be', (t) => {
  const graph = smc()
  const hops = (words: string) => {
    const positions = words.split(' ')
    return positions.slice(1).reduce((sum, position, i) => sum + graph.hops(positions[i]!, position)!, 0)
  }
  const [b96, b384] = ['bravo_96/site-1', 'bravo_384/site-1']
  t.equal(
    hops(
      `stacker_3 ${b96} shaker_1 centrifuge biotek_1 ${b96} shaker_2 biotek_2 shaker_3 biotek_2 ${b384} shaker_4 biotek_2 ${b384} waste_1`,
    ),
    36,
  )
  t.equal(hops(`stacker_1 delidder ${b96} stacker_2`), 11)
  t.equal(hops(`stacker_8 ${b384} shaker_1 centrifuge ${b384} waste_1`), 15)
  t.equal(hops(`stacker_4 ${b384} centrifuge smc_pro hotel_pad_1`), 10)
  t.equal(hops(`stacker_5 delidder ${b96} waste_1`), 9)
  t.equal(hops(`stacker_6 delidder ${b384} hotel_pad_2 ${b384} hotel_pad_2 ${b384} stacker_7`), 11)
  t.equal(hops(`stacker_6 delidder ${b384} stacker_7`), 7)
  t.end()
})

test('no route goes through a device or a storage, and through parking only if nothing else is there', (t) => {
  t.equal(graphOf({ left: 'd1 d2', right: 'd2 d3' }).route('d1', 'd3'), undefined)
  t.equal(graphOf({ left: 'd1 s1', right: 's1 d3' }).route('d1', 'd3'), undefined)
  t.same(route(graphOf({ left: 'd1 p1', right: 'p1 d3' }), 'd1', 'd3'), ['d1 left p1', 'p1 right d3'])
  const round = graphOf({ left: 'd1 p1 h1', middle: 'h1 h2', right: 'p1 h2 d3' })
  t.same(route(round, 'd1', 'd3'), ['d1 left h1', 'h1 middle h2', 'h2 right d3'])
  t.end()
})

test('among ways of one length the first in the document is taken', (t) => {
  const graph = graphOf({ left: 'd1 h2 h1', also: 'd1 h1 h2', right: 'h1 h2 d2' })
  t.same(route(graph, 'd1', 'd2'), ['d1 left h2', 'h2 right d2'])
  t.end()
})

test('a detour goes round what is closed', (t) => {
  const graph = graphOf({ left: 'd1 h1 p1', right: 'h1 p1 d2' })
  t.same(
    graph.detour('d1', 'd2', (position) => position === 'h1')?.map(({ to }) => to),
    ['p1', 'd2'],
  )
  t.equal(
    graph.detour('d1', 'd2', () => true),
    undefined,
  )
  t.end()
})

test('a place reaches all if each can be gone to without passing through a device', (t) => {
  const graph = graphOf({ left: 'p1 d1', right: 'd1 p2' })
  t.equal(graph.reachesAll('d1'), true)
  t.equal(graph.reachesAll('p1'), false)
  t.equal(smc().reachesAll('pad_1'), true)
  t.end()
})

test('places hang together by transporters, and by the nests of one device', (t) => {
  const graph = graphOf({ left: 'd1 p1', right: 'd2 p2', third: 'p2 d3' })
  t.equal(graph.islandOf('d1'), graph.islandOf('p1'))
  t.equal(graph.islandOf('d2'), graph.islandOf('d3'))
  t.not(graph.islandOf('d1'), graph.islandOf('d2'))
  const linked = graphOn(severalArms({ one: ['a', 'nest_1'], other: ['nest_2', 'b'] }, { nests: { nest_1: 'd1', nest_2: 'd1' } }))
  t.equal(linked.islandOf('a'), linked.islandOf('b'))
  t.equal(smc().islandOf('stacker_3'), smc().islandOf('waste_1'))
  t.end()
})

test('the stations of a shuttle are one pad', (t) => {
  const graph = smc()
  const stations = ['translator_1_start', 'translator_1_end']
  for (const station of stations) {
    t.same(
      graph.sameZone(station).map(({ name }) => name),
      stations,
    )
  }
  t.same(
    graph.sameZone('pad_1').map(({ name }) => name),
    ['pad_1'],
  )
  t.end()
})

test('several entries may be positions of one device, which has one position in each', (t) => {
  const graph = graphOn(oneArm({ nests: { left: 'd1', right: 'd1' }, sites: { d1: 2 } }))
  t.same(
    graph.positionsOf('d1').map(({ name }) => name),
    ['left', 'right'],
  )
  t.end()
})

test('labware is handed over where two transporters reach', (t) => {
  t.equal(graphOf({ left: 'd1 p1' }).isHandOver('p1'), false)
  t.equal(graphOf({ left: 'd1 p1', right: 'p1 d2' }).isHandOver('p1'), true)
  t.equal(graphOf({ left: 'd1 p1', right: 'd1 p1' }).isHandOver('p1'), false, 'arms that reach the same share the work')
  t.equal(graphOf({ left: 'd1 p1 d2', right: 'd1 p1' }).isHandOver('p1'), false, 'one arm reaches all')
  const graph = graphOf({ left: 'd1 p1 h1', middle: 'h1 d2', right: 'p1 h1 d3' })
  t.equal(
    graph.canDoWithout('p1', () => false),
    true,
  )
  t.equal(
    graph.canDoWithout('p1', (position) => position === 'h1'),
    false,
  )
  t.end()
})
