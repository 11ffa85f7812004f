// Example requests for the demo's bench, from which the snippets of /docs are made.

type Example = {
  /** Parameters of path and query that differ from `usual`. */
  parameters?: Record<string, string | number>
  body?: unknown
}

const padOne = { coord_type: 'cartesian', coords: { x: 120, y: 320, z: 40, yaw: 0, pitch: 0, roll: 0 } }
const onArm = { parameters: { device_id: 'arm-1' } }
const sinceMorning = { parameters: { since: '2026-01-31T08:00:00Z' } }
const onThermocycler = { parameters: { device_id: 'thermocycler-1' } }
const onCentrifuge = { parameters: { device_id: 'centrifuge-1' } }

const justShake = {
  format: 1,
  name: 'just-shake',
  topology: 'demo',
  labware: { plate: { type: '96-well' } },
  methods: { shake_it: [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } }] },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'shake_it' }],
    },
  },
  start: ['plate'],
}

/** Keyed by name of parameter. */
export const usual: Record<string, string | number> = {
  device_id: 'shaker-1',
  name: 'pad_1',
  since: 0,
  workflow_name: 'seal-and-spin',
  topology_name: 'demo',
  version: '1',
  plugin_name: 'signal_lamp',
  labware: 'P-0042',
}

/** Keyed by id of operation. */
export const examples: Record<string, Example> = {
  checkSamples: { body: { samples: 'group,barcode,speed\nA1,P-001,500\nA2,P-002,600\n' } },
  getAudit: sinceMorning,
  listOperations: sinceMorning,
  listExecutions: sinceMorning,
  getLabwareHistory: sinceMorning,
  shakeDevice: { body: { speed: 500, duration: 10 } },
  centrifugeDevice: { ...onCentrifuge, body: { g: 500, duration: 60 } },
  sealDevice: { parameters: { device_id: 'sealer-1' }, body: { temperature: 165, duration: 1.2 } },
  peelDevice: { parameters: { device_id: 'peeler-1' }, body: { parameter_set: 4, adhere: 1 } },
  setTemperature: { body: { temperature: 37 } },
  setLidTemperature: { ...onThermocycler, body: { lid_temperature: 105 } },
  runProfile: {
    ...onThermocycler,
    body: {
      steps: [
        { temperature: 95, seconds: 30 },
        { temperature: 60, seconds: 45 },
      ],
      repetitions: 35,
    },
  },
  performOperation: { body: { operation: 'shake', params: { speed: 500, duration: 10 } } },
  jogDevice: { ...onArm, body: { axis: 'x', direction: '+', speed: 10 } },
  freeDrive: onArm,
  goTo: { ...onArm, body: { teachpoint: 'pad_1', offset_z: 50 } },
  openDevice: onCentrifuge,
  closeDevice: onCentrifuge,
  listTeachpoints: onArm,
  exportTeachpoints: onArm,
  getTeachpoint: onArm,
  deleteTeachpoint: onArm,
  createTeachpoint: { body: { device_id: 'arm-1', name: 'pad_5', ...padOne } },
  restoreTeachpoint: { ...onArm, body: { version: '3f9a02c1d4b7e6580a1c2d3e4f506172' } },
  updateTeachpoint: { ...onArm, body: padOne },
  importTeachpoints: { body: { device_id: 'arm-1', teachpoints: [{ device_id: 'arm-1', name: 'pad_1', ...padOne }], overwrite: true } },
  loadTopology: { body: { name: 'demo' } },
  unloadTopology: { body: { force: false } },
  putWorkflow: { parameters: { workflow_name: 'just-shake' }, body: justShake },
  restoreWorkflowVersion: { parameters: { workflow_name: 'just-shake', version: '2' }, body: { note: 'the faster one jammed' } },
  compareWorkflowDocument: { parameters: { workflow_name: 'just-shake' }, body: justShake },
  compareTopologyDocument: { parameters: { topology_name: 'demo' }, body: { format: 1, name: 'demo', positions: { pad_1: {} } } },
  deleteWorkflow: { parameters: { workflow_name: 'just-shake' } },
  simulate: { body: { workflow: 'seal-and-spin', run_mode: 'PURE_SIM' } },
  submit: { body: { workflow: 'seal-and-spin', run_mode: 'LIVE' } },
  addToQueue: { body: { submission: { workflow: 'seal-and-spin', run_mode: 'LIVE' }, requires: { devices: ['shaker-1'] } } },
  moveInQueue: { body: { to: 'first' } },
  resumeQueue: { body: {} },
  emitCustomEvent: { body: { name: 'qc.done', value: 'complete' } },
  stopExecution: { body: { confirm: true } },
  addNote: { body: { text: 'the lid was not seated; pressed on by hand', tags: ['deviation'] } },
  prioritizeExecution: { body: { priority: 9 } },
  skipStep: { body: { item: 'plate/spin_it' } },
  insertStep: { body: { after: 'plate/seal_it', item: { method: 'spin_it' } } },
  spawnThread: { body: { thread: 'plate' } },
  extendLateCall: { body: { seconds: 120 } },
  confirmManualStep: { body: { answer: 'done' } },
  storeDevice: { parameters: { device_id: 'incubator-1' }, body: { slot: 12 } },
  retrieveDevice: { parameters: { device_id: 'incubator-1' }, body: { slot: 12 } },
  getInventory: { parameters: { device_id: 'incubator-1' } },
  correctInventory: {
    parameters: { device_id: 'incubator-1' },
    body: {
      slots: [
        { slot: 12, labware: { barcode: 'P-0042', type: '96-well' } },
        { slot: 13, labware: null },
      ],
    },
  },
  relocateLabware: { body: { position: 'pad_2' } },
  recoverThread: { body: { decision: 'RETRY' } },
  labwarePlaced: { body: { barcode: 'P-0001' } },
  createKey: { body: { name: 'notebook', scope: 'operate' } },
  requestConfirmation: {
    body: { text: 'Shake: operate {"device_id":"shaker-1","operation":"shake","params":{"speed":500,"duration":10}}' },
  },
  checkConfirmation: { body: { code: 'K7M-2QX' } },
  requestKey: { body: { app_name: 'notebook', scope: 'operate' } },
  approveKeyRequest: { body: { expires_at: 2_000_000_000 } },
  putPreset: { parameters: { operation: 'shake', preset: 'gentle' }, body: { params: { speed: 300, duration: 60 } } },
  deletePreset: { parameters: { operation: 'shake', preset: 'gentle' } },
  putDeviceNote: { body: { text: 'Belt replaced in May; squeaks above 2,000 rpm' } },
  leaseDevice: { body: { owner: 'Night shift', note: 'belt is off', ttl_s: 3600 } },
  identifyInstrument: {
    parameters: { driver: 'bioshake' },
    body: { transport: { kind: 'serial', path: '/dev/serial/by-id/usb-FTDI_A50285BI-if00-port0' } },
  },
  addDevice: { body: { device_id: 'shaker-2', driver: 'bioshake', transport: { kind: 'simulated' } } },
  createBackup: { body: { with_keys: false, with_events: false } },
  signTrial: { body: { sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' } },
  rotateKey: { body: { overlap_s: 3600 } },
  setSimulatedFault: { body: { fault: 'no_reply', after: 5 } },
  setFaultOfRun: { body: { fault: 'no_reply', after: 5 } },
  setSimulatedLoad: { body: { rate: 10, seconds: 5 } },
  emitSimulatedEvent: { body: { event_name: 'CUSTOM.qc_done.EMITTED', context: { value: 'complete' } } },
  startJourney: { body: { journey: 'assay', labware: 'P-0042' } },
  decideJourney: { body: { decision: 'retry' } },
  simulateJourney: { body: { journey: 'assay' } },
  confirmTask: { parameters: { task_id: '1a2b3c4d-12' }, body: { barcode: 'P-0042' } },
}
