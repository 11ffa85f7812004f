// The table of tools. Each is a route of the API, named by its operation id; the OpenAPI document of the bench has its words and schemas.

/**
 * The effect of a tool: `read` changes nothing; `stop` is there for every key and is never asked about; `hold` keeps work from going on. A
 * person has to confirm each call of `motion`, which may move, heat or decide.
 */
export type Effect = 'read' | 'stop' | 'hold' | 'motion'

export type ToolRow = {
  /** The operation id of the route. */
  operation_id: string
  effect: Effect
  /** The title, in place of the summary of the route. */
  title?: string
  /** Parameters of the route that the tool does not have. */
  without?: readonly string[]
  /** A sentence for the model, after the words of the route. */
  more?: string
}

const read = (operation_id: string, more: Partial<ToolRow> = {}): ToolRow => ({ operation_id, effect: 'read', ...more })
const hold = (operation_id: string): ToolRow => ({ operation_id, effect: 'hold' })
const motion = (operation_id: string, more: Partial<ToolRow> = {}): ToolRow => ({ operation_id, effect: 'motion', ...more })

/** Jogging, going to a point, free drive, keys, pairing, configuration and teachpoints are no tools. */
export const toolTable: Readonly<Record<string, ToolRow>> = {
  stop_device: { operation_id: 'stopDevice', effect: 'stop' },
  stop_all: { operation_id: 'stopAll', effect: 'stop' },

  get_health: read('getHealth'),
  who_am_i: read('whoAmI'),
  get_system: read('getSystem'),
  examine_system: read('examineSystem', { more: 'The problems that `benchd doctor` finds.' }),
  list_devices: read('listDevices'),
  get_device: read('getDevice'),
  get_capabilities: read('getDeviceCapabilities', { more: 'Names the operations of a device with their parameters and limits.' }),
  get_readings: read('getDeviceReadings'),
  list_operations: read('listOperations'),
  get_operation: read('getOperation'),
  list_events: read('getEvents', { without: ['wait', 'envelope'] }),
  list_incidents: read('listIncidents'),
  get_incident: read('getIncident'),
  get_topology: read('getTopology'),
  list_workflows: read('listWorkflows'),
  get_workflow: read('getWorkflow'),
  list_workflow_versions: read('listWorkflowVersions'),
  check_samples: read('checkSamples'),
  dry_run: read('simulate', { more: 'Nothing moves, and no run begins.' }),
  list_runs: read('listExecutions'),
  get_run: read('getExecution'),
  explain_run: read('explainExecution'),
  list_threads: read('listThreads'),
  get_timeline: read('getTimeline'),
  list_blockers: read('listBlockers'),
  get_forecast: read('getForecast'),
  list_record_rows: read('getRecord'),
  list_values: read('listValues'),
  list_submissions: read('listSubmissions'),
  get_queue: read('getQueue'),
  get_queue_entry: read('getQueueEntry'),
  list_manual_steps: read('listManualSteps'),
  list_labware: read('listLabware'),
  get_labware_history: read('getLabwareHistory'),
  get_inventory: read('getInventory'),

  pause_run: hold('pauseExecution'),
  pause_thread: hold('pauseThread'),
  pause_queue: hold('pauseQueue'),

  operate: motion('performOperation', {
    title: 'Operate a device',
    more: 'Answers as soon as the operation has begun; `get_operation` tells what it came to. `get_capabilities` names operations and parameters.',
  }),
  end_operation: motion('endOperation'),
  clear_fault: motion('clearDeviceFault'),
  submit: motion('submit'),
  withdraw_submission: motion('withdrawSubmission'),
  add_to_queue: motion('addToQueue'),
  remove_from_queue: motion('removeFromQueue'),
  move_in_queue: motion('moveInQueue'),
  start_queue_entry: motion('startQueueEntry'),
  resume_queue: motion('resumeQueue'),
  resume_run: motion('resumeExecution'),
  resume_thread: motion('resumeThread'),
  stop_run: motion('stopExecution'),
  stop_thread: motion('stopThread'),
  close_run: motion('closeExecution'),
  prioritize_run: motion('prioritizeExecution'),
  skip_step: motion('skipStep'),
  recover_thread: motion('recoverThread'),
  labware_placed: motion('labwarePlaced'),
  labware_removed: motion('labwareRemoved'),
  confirm_step: motion('confirmManualStep'),
  acknowledge_incident: motion('acknowledgeIncident'),
  extend_late_call: motion('extendLateCall'),
  abort_late_call: motion('abortLateCall'),
  complete_late_call: motion('completeLateCall'),
}

/** Operations that need a person who watches: no tool performs them. */
export const operationsOfPeople: ReadonlySet<string> = new Set(['jog', 'go_to', 'free_drive'])

/** The headers of a route that a tool takes as parameters. */
export const headerParameters: Readonly<Record<string, string>> = { 'Idempotency-Key': 'idempotency_key', 'If-State': 'if_state' }
