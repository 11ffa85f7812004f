// A bridge in Python for benchmarks, as large as the largest class of PyLabRobot, and the parts of the service that talk with it.

import { copyFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Bridge, settings } from '../../../drivers/bridge/bridge.ts'
import { programLine } from '../../../drivers/transports/program_line.ts'
import { inMemory, type KeptDescription } from '../../../src/devices/descriptions.ts'
import { checked } from '../../../src/kit/schema.ts'

const library = fileURLToPath(new URL('../../../../src/clients/python/benchd_bridge.py', import.meta.url))

/** PyLabRobot's STAR has 310 operations, and 158 kB of description. */
export const operations = 310
const params = ['channel: int = 1', 'volume: float = 10.5', 'height: float = 98.25', 'speed: float = 120.0', 'mode: str = "usual"']
const operation = (i: number) => `
    @operation(seconds=60, margin=540)
    def operation_of_the_machine_${i}(self, ${params.join(', ')}, is_safe: bool = True) -> None:
        """Moves channel ${i} of the machine, as its manual says it. Returns when it stands"""
`
const program = (count: number) => `from benchd_bridge import Bridge, operation

class Large(Bridge):
    type = "liquid_handler"
    model = "Large"
    def initialize(self): pass
    def halt(self): pass
    def temperature(self): return 22.5
${Array.from({ length: count }, (_, i) => operation(i)).join('')}
Large().serve()
`

/** Writes the program beside its library into a folder. Returns its command. */
export function bridgeIn(folder: string, count = operations): string[] {
  copyFileSync(library, `${folder}/benchd_bridge.py`)
  writeFileSync(`${folder}/bridge.py`, program(count))
  return ['python3', `${folder}/bridge.py`]
}

/** Makes a device of the program, which is started when its line is opened. */
export function deviceOf(command: readonly string[], kept: KeptDescription = inMemory(undefined)) {
  const line = programLine(command)
  return {
    line,
    device: new Bridge({ device_id: 'large-1', type: 'liquid_handler', line, settings: checked(settings, {}, 'settings'), kept }),
  }
}
