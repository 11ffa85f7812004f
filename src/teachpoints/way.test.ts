import { test } from 'tap'
import type { Teachpoint } from './teachpoint.ts'
import { mostGateways, wayTo } from './way.ts'

const coords = { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 }
const joints = { base: 1, shoulder: 2, elbow: 3, wrist: 4, rail: 0, gripper: 0 }
const point = (name: string, more: object = {}): Teachpoint =>
  ({ device_id: 'arm-1', name, coord_type: 'cartesian', coords, ...more }) as Teachpoint

const way = (points: Teachpoint[]) => wayTo(points[0]!, points)

test('the gateways come in the order in which they are passed, each as it is taught', (t) => {
  const nest = point('nest', { gateway: 'gate', orientation: 'left' })
  const gate = point('gate', { gateway: 'hall', orientation: 'right' })
  const hall = { ...point('hall', { orientation: 'left' }), coord_type: 'joint', coords: joints } as Teachpoint
  t.same(way([nest, gate, hall]), {
    ...{ at: 'nest', pose: coords, elbow: 'left' },
    via: [
      { at: 'hall', joints },
      { at: 'gate', pose: coords, elbow: 'right' },
    ],
  })
  t.same(way([point('pad')]), { at: 'pad', pose: coords })
  t.end()
})

test('a gateway that is not taught, a circle and a chain that is too long are named', (t) => {
  const message = (points: Teachpoint[]) => {
    try {
      way(points)
      return 'it was taken'
    } catch (error) {
      return (error as Error).message
    }
  }
  const untaught = /^arm-1 cannot go to its teachpoint nest: its gateway gat is not taught; did you mean "gate".*teach it, or leave it out$/
  t.match(message([point('nest', { gateway: 'gat' }), point('gate')]), untaught)
  const circle = [point('nest', { gateway: 'gate' }), point('gate', { gateway: 'hall' }), point('hall', { gateway: 'gate' })]
  t.match(message(circle), /nest: its gateways lead in a circle .nest → gate → hall → gate./)
  const chain = Array.from({ length: mostGateways + 2 }, (_, i) => point(`p${i}`, { gateway: `p${i + 1}` }))
  t.match(message(chain), /p0: it has more than 8 gateways/)
  t.same(way([...chain.slice(0, mostGateways), point(`p${mostGateways}`)]).via?.length, mostGateways, 'the longest that may be')
  t.end()
})

test('a named access pattern is that of the point of the device that has it', (t) => {
  const pattern = { access_type: 'vertical', vertical_clearance: 50 }
  const owner = point('pad', { access: { name: 'from above', ...pattern } })
  t.match(way([point('nest', { access: 'from above' }), owner]).access, pattern)
  t.match(way([owner]).access, pattern)
  t.throws(() => way([point('nest', { access: 'from abov' }), owner]), {
    message: /its access pattern from abov is in no point of the device/,
  })
  const other = point('shelf', { access: { name: 'from above', access_type: 'horizontal' } })
  t.throws(() => way([point('nest', { access: 'from above' }), owner, other]), { message: /from above differs between the points/ })
  t.end()
})
