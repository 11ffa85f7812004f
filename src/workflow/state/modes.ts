// The modes in which a run reaches its instruments.

/** LIVE: the configured devices. DEVICE_SIM: each driver with a simulator of its own. PURE_SIM: no drivers, and virtual time. */
export const runModes = ['LIVE', 'DEVICE_SIM', 'PURE_SIM'] as const
export type RunMode = (typeof runModes)[number]

/** The modes as people read them. The API has the values. */
export const modeWords: Readonly<Record<RunMode, string>> = {
  LIVE: 'On the bench',
  DEVICE_SIM: 'Rehearse on simulators',
  PURE_SIM: 'Plan only',
}

/** Words a mode; that of a later version stays as it is. */
export function modeText(mode: string): string {
  return Object.hasOwn(modeWords, mode) ? modeWords[mode as RunMode] : mode
}
