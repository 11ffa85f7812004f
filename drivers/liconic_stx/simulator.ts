// A simulated STX with its controller. README.md marks its behaviour that no source describes.

import { slotAt } from '../racks.ts'
import { Heater, Table } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import { Shuttle, type ShuttleFault } from '../simulated_storage.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import type { Settings } from './models.ts'

export const simulate: Simulate<Settings> = (at) => new SimulatedStx(at)

const rpmPerSecond = 500
const serial = 4711
const errors: Record<ShuttleFault, number> = { 'nothing to take': 16, 'no room': 108, door: 10, jam: 9 }
/** The other data memories that hosts write, such as positions of the lift. */
const plain = [20, 21, 22, 24, 26, 27, 28, 29, 46, 47, 48, 80, 82, 893, 894]
const targets = { temperature: 890, humidity: 893, co2: 894 }

class SimulatedStx extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #port = new TextPort({
    ...this.at,
    longest: 64,
    answer_ms: 20,
    ending: '\r\n',
    speed: 9600,
    hear: (words) => this.#port.say(this.#answer(words)),
  })
  readonly #shuttle = new Shuttle(this.at.clock, this.at.settings.simulated_plates, (fault) => this.#arrived(fault))
  readonly #table = new Table(this.at.clock, rpmPerSecond)
  readonly #chamber = new Heater(this.at.clock, 3600)
  readonly places = this.#shuttle.places
  /** The data memories by number. */
  readonly #memory = new Map<number, number>([
    ...plain.map((number): [number, number] => [number, 0]),
    ...[0, 5, 25, 23].map((number): [number, number] => [number, 1]),
    [39, 50],
    [109, serial],
    [200, 0],
    [targets.temperature, 370],
    [targets.humidity, 900],
    [targets.co2, 500],
  ])
  #isOpen = false
  #isInitialized = false
  #isShaking = false
  #gateIsOpen = false

  constructor(at: InstrumentEnd<Settings>) {
    super(at)
    this.#chamber.heatTo(37)
  }

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  get world() {
    const moving = this.#shuttle.isMoving || this.#table.moving
    return {
      ...{ moving, heating: false, initialized: this.#isInitialized, gate_open: this.#gateIsOpen || this.#shuttle.gateIsOpen },
      climate: `${this.#memory.get(targets.temperature)}`,
    }
  }

  #answer(words: string): string {
    if (words === 'CR' || words === 'CQ') {
      this.#isOpen = words === 'CR'
      return words === 'CR' ? 'CC' : 'CF'
    }
    const [, verb = '', dm, number = '', value] = /^(RD|WR|ST|RS) (DM)?(\d{1,4})(?: (\d{1,5}))?$/.exec(words) ?? []
    if (!this.#isOpen || !verb) return 'E1'
    if (verb === 'RD') return dm ? this.#readMemory(Number(number)) : this.#readFlag(Number(number))
    if (verb === 'WR') return dm && value !== undefined ? this.#write(Number(number), Number(value)) : 'E1'
    return verb === 'ST' ? this.#set(Number(number)) : this.#reset(Number(number))
  }

  #readMemory(number: number): string {
    const measured = { 982: Math.round(this.#chamber.temperature * 10), 983: 885, 984: 492 }[number]
    const value = measured ?? this.#memory.get(number)
    return value === undefined ? 'E0' : String(value).padStart(5, '0')
  }

  #readFlag(number: number): string {
    const seen: Record<number, boolean> = {
      1807: false,
      1812: this.places.has('handler'),
      1813: this.places.has('station'),
      1814: this.#error !== 0,
      1815: this.places.has('station'),
      1912: false,
      1913: this.#isShaking,
      1914: this.places.has('station') && !this.#shuttle.isMoving,
      1915: !this.#shuttle.isMoving && this.#error === 0,
    }
    const flag = seen[number]
    return flag === undefined ? 'E0' : flag ? '1' : '0'
  }

  get #error(): number {
    return this.#memory.get(200)!
  }

  #write(number: number, value: number): string {
    if (number === 109 || number === 200) return 'E4'
    if (!this.#memory.has(number)) return 'E0'
    this.#memory.set(number, value)
    if (number === targets.temperature) this.#chamber.heatTo(value / 10)
    if (number === 39 && this.#isShaking) this.#turn()
    return 'OK'
  }

  /** Begins what a flag means. A motion that cannot begin is answered OK, and shows as an error. */
  #set(number: number): string {
    const acts: Record<number, () => void> = {
      1800: () => this.#clear(),
      1801: () => this.#home(),
      1900: () => this.#clear(),
      1901: () => this.#moveGate(true),
      1902: () => this.#moveGate(false),
      1903: () => this.#moveGate(false),
      1904: () => this.#takeIn(),
      1905: () => this.#bringOut(),
      1911: () => {},
      1913: () => this.#shake(),
    }
    const act = acts[number]
    if (!act || (number === 1913 && !this.at.settings.shaker)) return 'E0'
    const needsRest = number !== 1800 && number !== 1900
    if (!this.#shuttle.isMoving || !needsRest) act()
    return 'OK'
  }

  #reset(number: number): string {
    if (number !== 1913 || !this.at.settings.shaker) return number === 1911 || number === 1912 ? 'OK' : 'E0'
    this.#isShaking = false
    this.#table.goTo(0)
    return 'OK'
  }

  #clear(): void {
    this.#memory.set(200, 0)
  }

  #home(): void {
    if (this.#error !== 0) return
    this.#gateIsOpen = false
    this.#isInitialized = false
    if (this.places.has('handler')) this.#fail(15)
    else this.#shuttle.home()
  }

  #moveGate(open: boolean): void {
    this.#gateIsOpen = open
  }

  #shake(): void {
    this.#isShaking = true
    this.#turn()
  }

  #turn(): void {
    this.#table.goTo(this.#memory.get(39)! * (this.at.settings.speed_unit === '10 rpm' ? 10 : 6))
  }

  #takeIn(): void {
    const slot = this.#slotToMove()
    if (slot !== undefined) this.#shuttle.carry({ from: 'station', to: slot })
  }

  #bringOut(): void {
    const slot = this.#slotToMove()
    if (slot === undefined) return
    if (this.places.has('station')) this.#fail(13)
    else this.#shuttle.carry({ from: slot, to: 'station' })
  }

  #slotToMove(): number | undefined {
    if (this.#error !== 0) return undefined
    const slot = slotAt(this.at.settings.racks, this.#memory.get(0)!, this.#memory.get(5)!)
    if (slot === undefined) this.#fail(12)
    else if (!this.#isInitialized) this.#fail(14)
    else if (this.places.has('handler')) this.#fail(15)
    else return slot
    return undefined
  }

  #arrived(fault: ShuttleFault | undefined): void {
    if (fault) this.#fail(errors[fault])
    else this.#isInitialized = true
  }

  #fail(code: number): void {
    this.#isInitialized = false
    this.#memory.set(200, code)
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    return this.#shuttle.setFault(fault, present)
  }

  powerOff(): void {
    this.#port.powerOff()
    this.#shuttle.powerOff()
    this.#table.block()
  }
}
