// For tests: a simulated instrument that was just switched on, and a host that asks it in text.

import type { InstrumentEnd, Simulator } from '../../../drivers/transports/simulator.ts'
import { VirtualClock } from '../../kit/clock.ts'

/** `ask` sends latin1 text with the ending, and returns what the instrument says in the next `ms`; empty text sends nothing. */
export function switchedOn<Settings, Its extends Simulator>(
  simulate: (at: InstrumentEnd<Settings>) => Its,
  settings: Settings,
  { ending = '', ms: usual_ms = 100 } = {},
) {
  const clock = new VirtualClock()
  const said: string[] = []
  const simulator = simulate({ clock, settings, send: (bytes) => said.push(Buffer.from(bytes).toString('latin1')) })
  const hear = (text: string) => simulator.receive(Buffer.from(text, 'latin1'))
  const ask = async (text: string, ms = usual_ms) => {
    said.length = 0
    if (text) hear(`${text}${ending}`)
    await clock.advance(ms)
    return said.join('')
  }
  return { clock, simulator, said, hear, ask, places: simulator.places! }
}
