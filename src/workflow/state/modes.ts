// The modes in which a run reaches its instruments.

/** LIVE: the configured devices. DEVICE_SIM: each driver with a simulator of its own. PURE_SIM: no drivers, and virtual time. */
export const runModes = ['LIVE', 'DEVICE_SIM', 'PURE_SIM'] as const
export type RunMode = (typeof runModes)[number]
