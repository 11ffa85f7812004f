import { LabError } from 'benchd/driver'

const alarms: Record<string, string> = {
  R: 'it lost its power; see its plug, then initialize',
  S: 'its motor is stalled; see what blocks the syringe, then initialize',
  T: 'its safe mode timed out; see its cable, then initialize',
  E: 'its program has an error; switch it off and on, then initialize',
  O: 'its program is out of range; switch it off and on, then initialize',
}
export function alarmed(alarm: string): LabError {
  return new LabError('device_failed', alarms[alarm] ?? 'it reports an alarm; see its display, then initialize')
}
