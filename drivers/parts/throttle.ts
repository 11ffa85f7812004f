// A part that sets the speed of a motor: a converter or a pulse width, from nothing to full.

export interface Throttle {
  /** Brings the part to where it takes values, at nothing. */
  prepare(): Promise<void>
  /** From 0 to 1. */
  set(fraction: number): Promise<void>
  /** To nothing, before it returns. Throws `stop_not_sent`. */
  offNow(): Promise<void>
  /** Throws `device_failed` when a part that was prepared does not have any more what it was set to: after a dip of its supply. */
  mustHold(): Promise<void>
}

export const throttleNames = ['mcp4725', 'pca9685'] as const
export type ThrottleName = (typeof throttleNames)[number]
