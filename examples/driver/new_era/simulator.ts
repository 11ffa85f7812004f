// A simulated NE-1000, from the README.

import { type InstrumentEnd, latin1, type MechanicalFault, type Simulate, type Simulator, Timers, WithMount } from 'benchd/driver'

class SimulatedPump extends WithMount<InstrumentEnd<unknown>> implements Simulator {
  #heard = ''
  readonly #answers = new Timers(this.at.clock)
  readonly #run = new Timers(this.at.clock)
  #alarm = 'R'
  #jammed = false
  #isOff = false
  #volume = 1
  #rate = 1
  #infused = 0
  #began: number | undefined
  #paused = false

  receive(bytes: Uint8Array): void {
    if (this.#isOff) return
    const parts = (this.#heard + String.fromCharCode(...bytes)).split('\r')
    this.#heard = parts.pop()!.slice(-80)
    for (const line of parts) this.#hear(line.trim().toUpperCase())
  }

  get world(): Simulator['world'] {
    return { moving: this.#began !== undefined, heating: false }
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    if (fault !== 'jam') return false
    this.#jammed = isPresent
    if (isPresent && this.#began !== undefined) this.#stall()
    return true
  }

  powerOff(): void {
    this.#isOff = true
    this.#answers.clear()
    this.#halt()
  }

  get #done(): number {
    return this.#began === undefined ? this.#infused : this.#infused + ((this.at.clock.now() - this.#began) / 60_000) * this.#rate
  }

  #halt(): void {
    this.#infused = this.#done
    this.#began = undefined
    this.#run.clear()
  }

  #stall(): void {
    this.#halt()
    this.#alarm = 'S'
  }

  #hear(line: string): void {
    if (this.#alarm) {
      this.#say(`A?${this.#alarm}`)
      this.#alarm = ''
      return
    }
    const [, word = '', value] = /^([A-Z]*)\s*(.*)$/.exec(line) ?? []
    const answer = this.#obey(word, value ?? '')
    this.#say(`${this.#began !== undefined ? 'I' : this.#paused ? 'P' : 'S'}${answer}`)
  }

  #obey(word: string, value: string): string {
    const isRunning = this.#began !== undefined
    if (word === '') return ''
    if (word === 'VER') return 'NE1000V3.928'
    if (word === 'DIS') return `I${this.#done.toFixed(3)}W0.000ML`
    if (word === 'DIA') return '20.00'
    if (word === 'STP') {
      if (!isRunning && !this.#paused) return '?NA'
      this.#paused = isRunning
      this.#halt()
      return ''
    }
    if (isRunning) return '?NA'
    if (word === 'VOL') this.#volume = Number.parseFloat(value)
    else if (word === 'RAT') this.#rate = Number.parseFloat(value)
    else if (word === 'CLD') this.#infused = 0
    else if (word === 'DIRINF' || word === 'DIR') return ''
    else if (word === 'RUN') this.#start()
    else return '?'
    return ''
  }

  #start(): void {
    this.#paused = false
    if (this.#jammed) {
      this.#stall()
      return
    }
    this.#began = this.at.clock.now()
    this.#run.after((this.#volume / this.#rate) * 60_000, () => this.#halt())
  }

  #say(text: string): void {
    this.#answers.after(10, () => this.at.send(latin1(`\x0200${text}\x03`)))
  }
}

export const simulate: Simulate<unknown> = (at) => new SimulatedPump(at)
