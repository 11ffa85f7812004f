// The types of entities that benchd itself fires events about. A client or a simulation may name others.

export const entityTypes = [
  ...['EXECUTION', 'SUBMISSION', 'GROUP', 'WORKFLOW', 'THREAD', 'METHOD', 'ACTION', 'SLOT', 'TIP_RACK'],
  ...['DEVICE', 'DEVICE_OP', 'INCIDENT', 'OPERATOR', 'CUSTOM', 'RECORD', 'SIM'],
] as const
