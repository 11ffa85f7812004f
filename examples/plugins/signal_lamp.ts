// A signal lamp. Red: a device is faulted or stopped. Yellow: somebody is needed. Green: neither. Dark: nobody knows.
//
// Settings, for one of three kinds of lamps:
//   {"pins": {"chip": "gpiochip0", "green": 17, "yellow": 27, "red": 22}}     lines of a GPIO chip, through `gpioset` of the package gpiod
//   {"modbus": {"host": "lamp.lab", "port": 502, "unit": 1, "green": 0, "yellow": 1, "red": 2}}     coils of a relay box, Modbus TCP
//   {"http": {"green": "http://lamp.lab/green", "yellow": "…", "red": "…", "dark": "…"}}     an address to POST to for each colour

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type PluginBench, plugin } from 'benchd/plugin'

const colours = ['green', 'yellow', 'red'] as const
type Colour = (typeof colours)[number] | 'dark'
type Places = Record<(typeof colours)[number], number>
/** Switches one light on and the others off. */
type Lamp = { show(colour: Colour): Promise<void> | void }

/** Types of events after which the colour may be another. */
const telling = ['DEVICE', 'INCIDENT', 'THREAD', 'EXECUTION', 'OPERATOR']
/** The wait for further events, and the time after which a lamp that was switched off and on again shows the colour again. */
const gather_ms = 200
const again_ms = 10_000
const answer_ms = 3000

export default plugin({
  name: 'signal lamp',
  async start(bench) {
    const lamp = lampOf(bench.settings)
    let timer: NodeJS.Timeout | undefined
    let failed = false
    let isOver = false
    const look = async () => {
      try {
        await lamp.show(await colourOf(bench))
        if (failed) bench.log('the lamp answers again')
        failed = false
      } catch (error) {
        if (!failed) bench.log(`the lamp cannot be switched: ${(error as Error).message}`)
        failed = true
      }
      later(again_ms)
    }
    const later = (ms: number) => {
      clearTimeout(timer)
      if (!isOver) timer = setTimeout(() => void look(), ms)
    }
    bench.registerSink({ onEvent: ({ entity_type }) => void (telling.includes(entity_type) && later(gather_ms)) })
    void look()
    return async () => {
      isOver = true
      clearTimeout(timer)
      await lamp.show('dark')
    }
  },
})

async function colourOf(bench: PluginBench): Promise<Colour> {
  const { devices } = await answer<{ devices: { device_id: string }[] }>(bench, '/api/devices')
  for (const { device_id } of devices) {
    const { state } = await answer<{ state: string }>(bench, `/api/devices/${device_id}`)
    if (state === 'faulted' || state === 'stopped') return 'red'
  }
  const { incidents } = await answer<{ incidents: unknown[] }>(bench, '/api/incidents?acknowledged=false&limit=1')
  const { steps } = await answer<{ steps: unknown[] }>(bench, '/api/operator/steps')
  return incidents.length > 0 || steps.length > 0 ? 'yellow' : 'green'
}

async function answer<Body>(bench: PluginBench, path: string): Promise<Body> {
  const { status, body } = await bench.request('GET', path)
  if (status !== 200) throw new Error(`${path} is answered with ${status}`)
  return body as Body
}

function lampOf({ pins, modbus, http }: Readonly<Record<string, unknown>>): Lamp {
  if (pins) return pinLamp(pins as Parameters<typeof pinLamp>[0])
  if (modbus) return modbusLamp(modbus as Parameters<typeof modbusLamp>[0])
  if (http) return httpLamp(http as Parameters<typeof httpLamp>[0])
  throw new Error('the settings name no lamp: give "pins", "modbus" or "http"')
}

/** The lines keep their levels as long as gpioset runs, and are let go with it: with the plug-in the lamp goes dark. */
function pinLamp({ chip, ...places }: Places & { chip: string }): Lamp {
  const isFirst = /v1\./.test(execFileSync('gpioset', ['--version'], { encoding: 'utf8' }))
  const words = isFirst ? ['--mode=signal', chip] : [`--chip=${chip}`]
  let holding: ChildProcess | undefined
  let shown: Colour | undefined
  return {
    async show(colour) {
      if (colour === shown && holding?.exitCode === null) return
      if (holding && holding.exitCode === null && holding.signalCode === null) {
        const ended = once(holding, 'exit')
        holding.kill()
        await ended
      }
      const next = spawn('gpioset', [...words, ...colours.map((one) => `${places[one]}=${Number(one === colour)}`)], { stdio: 'inherit' })
      holding = next
      await once(next, 'spawn')
      shown = colour
    },
  }
}

/** Writes all three coils, one after the other. */
function modbusLamp({ host, port = 502, unit = 1, ...places }: Places & { host: string; port?: number; unit?: number }): Lamp {
  return {
    async show(colour) {
      const socket = connect({ host, port }).setTimeout(answer_ms)
      socket.on('timeout', () => socket.destroy(new Error(`${host} does not answer`)))
      try {
        await once(socket, 'connect')
        for (const [i, one] of colours.entries()) {
          // Transaction, protocol 0, 6 bytes follow; function 5 writes one coil.
          const request = Buffer.from([0, i, 0, 0, 0, 6, unit, 5, 0, 0, one === colour ? 0xff : 0, 0])
          request.writeUInt16BE(places[one], 8)
          socket.write(request)
          const [reply] = (await once(socket, 'data')) as [Buffer]
          if (reply[7] !== 5) throw new Error(`${host} refuses coil ${places[one]} (exception ${reply[8]})`)
        }
      } finally {
        socket.destroy()
      }
    },
  }
}

function httpLamp(addresses: Record<Colour, string>): Lamp {
  return {
    async show(colour) {
      const response = await fetch(addresses[colour], { method: 'POST', signal: AbortSignal.timeout(answer_ms) })
      if (!response.ok) throw new Error(`${new URL(addresses[colour]).host} answers ${response.status}`)
    },
  }
}
