// A part that sets the speed of a motor, a converter or a pulse width, from zero to full.

export interface Throttle {
  /** Makes the part ready, at zero. */
  prepare(): Promise<void>
  /** Sets the output, from 0 to 1. */
  set(fraction: number): Promise<void>
  /** Sets the output to zero before it returns. Throws `stop_not_sent`. */
  offNow(): Promise<void>
  /** Throws `device_failed` if a prepared part has lost its value, after a dip of its supply. */
  mustHold(): Promise<void>
}

export const throttleNames = ['mcp4725', 'pca9685'] as const
export type ThrottleName = (typeof throttleNames)[number]
