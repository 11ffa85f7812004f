// The modes in which a run reaches its instruments.

/** LIVE: the devices as they are configured. DEVICE_SIM: each driver over its own simulator. PURE_SIM: no driver, and time that jumps. */
export const runModes = ['LIVE', 'DEVICE_SIM', 'PURE_SIM'] as const
export type RunMode = (typeof runModes)[number]
