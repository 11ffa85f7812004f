// A workflow for very many labware at once: lanes of two instruments each, between which every labware goes to and fro. Nothing takes time.

import { topology, workflow } from '../../../src/workflow/plans/author.ts'

const lanesOfOneArm = 10
const methodsOfOne = 10
const instant = { pick: 0, move: 0, place: 0 }

type Lane = Record<'stack' | 'pad' | 'left' | 'right', string>

/** Each has a stack that its labware comes from and goes back to, and a pad to make room. Ten share an arm. */
export function laneTopology(count: number) {
  const lanes = lanesOf(count)
  const arms = Array.from({ length: Math.ceil(count / lanesOfOneArm) }, (_, i) => lanes.slice(i * lanesOfOneArm, (i + 1) * lanesOfOneArm))
  const devices = lanes.flatMap(({ left, right }) => [left, right])
  return topology({
    format: 1,
    name: 'lanes',
    transporters: Object.fromEntries(
      arms.map((its, i) => [`arm_${i}`, { positions: its.flatMap((lane) => Object.values(lane)), seconds: instant }]),
    ),
    positions: Object.fromEntries([
      ...lanes.flatMap(({ stack, pad }) => [[stack, { storage: true }] as const, [pad, { parking: true }] as const]),
      ...devices.map((device) => [device, { device }] as const),
    ]),
    devices: Object.fromEntries(devices.map((device) => [device, { operations: { mix: { seconds: 0 } } }])),
  })
}

/** A group has a labware for each lane, which is mixed left and right by turns, so often. */
export function laneWorkflow(count: number) {
  const lanes = lanesOf(count)
  const mixOn = (device: string) => [`mix_${device}`, [{ do: 'mix', on: device }]] as const
  const threadOf = ({ stack, left, right }: Lane) => ({
    labware: stack,
    start: { at: stack, mode: 'DISPENSE' as const },
    end: { at: [stack], mode: 'LEAVE_IN_PLACE' as const },
    steps: Array.from({ length: methodsOfOne }, (_, i) => ({ name: `step_${i}`, method: `mix_${i % 2 ? right : left}` })),
  })
  return workflow({
    format: 1,
    name: 'to_and_fro',
    topology: 'lanes',
    labware: Object.fromEntries(lanes.map(({ stack }) => [stack, { type: '96-well' }])),
    methods: Object.fromEntries(lanes.flatMap(({ left, right }) => [mixOn(left), mixOn(right)])),
    threads: Object.fromEntries(lanes.map((lane) => [lane.stack, threadOf(lane)])),
    start: lanes.map(({ stack }) => stack),
  })
}

function lanesOf(count: number): Lane[] {
  return Array.from({ length: count }, (_, i) => ({ stack: `stack_${i}`, pad: `pad_${i}`, left: `left_${i}`, right: `right_${i}` }))
}
