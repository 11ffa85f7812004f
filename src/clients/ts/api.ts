// Made by `npm run generate` from the routes: the bodies of the API, and what can be asked.

export type ErrorBody = { detail: string; mistakes?: Array<{ row: number | null; column: string | null; header: string | null; message: string }> }

export type DeviceSummary = { device_id: string; type: string; name: string; is_initialized: boolean }

export type DeviceInfo = { device_id: string; type: string; name: string; is_initialized: boolean; driver: string; simulated: boolean; state: 'not_initialized' | 'ready' | 'busy' | 'stopped' | 'faulted' | 'disconnected' | 'external'; operation: { operation_id: string; name: string; started: number; ending: boolean; notice: string | null; progress: { fraction: number | null; message: string | null } | null; seconds_left: number } | null; last_operation: OperationRecord | null; fault: Fault | null; stopped: { by: string | null; at: number; again?: { by: string | null; at: number } | null } | null; heating: { target: number | null; is_lowest: boolean } | null; parts: { plate_lock?: 'locked' | 'unlocked'; door?: 'open' | 'closed' }; heard_at: number | null; may_still_be_on: boolean; unfit: string | null; identity: Identity | null; lock: Lock | null }

export type Fault = { command: string | null; outcome: 'failed' | 'unknown'; error: string; error_type: string; may_still_be_moving: boolean; since: number }

export type Identity = { model: string | null; serial_number: string | null; firmware_version: string | null }

export type Initialized = { device_id: string; is_initialized: boolean }

export type Temperature = { device_id: string; temperature: number; target: number | null }

export type Reading = { at: number; temperature: number | null; target: number | null; others?: Record<string, { value: number; target: number | null; unit: string }> }

export type Capabilities = { device_id: string; type: string; driver: string; model: string; simulated: boolean; source: 'model' | 'instrument'; operations: Array<{ name: string; method: 'GET' | 'POST'; summary?: string; params: Record<string, unknown>; typical_seconds: number; max_seconds: number; can_end_early: boolean; renewed_within_ms?: number; labware_sites?: number; returns?: Record<string, string> }>; readings?: Array<{ name: string; unit: string }>; limits: Record<string, { min: number; max: number; unit: string; step?: number }>; features: Record<string, boolean>; safety: string }

export type OperationResult = { success: boolean; message: string }

export type OperationRecord = { operation_id: string; device_id: string; operation: string; params: Record<string, unknown>; status: 'running' | 'ended'; result: OperationResult | null; detail: string | null; reason?: string | null; ended_early?: boolean; notice?: string | null; started: number; ended: number | null; execution_id?: string | null; by?: string | null; operator?: string; data?: unknown }

export type StopAllResult = { success: boolean; message: string; devices: Array<{ device_id: string; success: boolean; message: string }> }

export type Teachpoint = CartesianTeachpoint | JointTeachpoint

export type CartesianTeachpoint = { device_id: string; name: string; coord_type: "cartesian"; coords: { x: number; y: number; z: number; yaw: number; pitch: number; roll: number }; orientation?: 'left' | 'right'; access?: string | Access; gateway?: string }

export type JointTeachpoint = { device_id: string; name: string; coord_type: "joint"; coords: { base: number; shoulder: number; elbow: number; wrist: number; rail?: number; gripper?: number }; orientation?: 'left' | 'right'; access?: string | Access; gateway?: string }

export type TeachpointUpdate = CartesianTeachpointUpdate | JointTeachpointUpdate

export type CartesianTeachpointUpdate = { device_id?: string; name?: string; coord_type: "cartesian"; coords: { x: number; y: number; z: number; yaw: number; pitch: number; roll: number }; orientation?: 'left' | 'right'; access?: string | Access; gateway?: string }

export type JointTeachpointUpdate = { device_id?: string; name?: string; coord_type: "joint"; coords: { base: number; shoulder: number; elbow: number; wrist: number; rail?: number; gripper?: number }; orientation?: 'left' | 'right'; access?: string | Access; gateway?: string }

export type Access = { name?: string; access_type: 'vertical' | 'horizontal'; gripper_offset?: number; vertical_clearance?: number; horizontal_clearance?: number }

export type KeyRequest = { name: string; scope: 'read' | 'operate' | 'admin'; expires_at?: number | null }

export type PublicKey = { key_id: string; name: string; scope: 'read' | 'operate' | 'admin'; created_at: number; expires_at: number | null; revoked_at: number | null; last_used_at: number | null }

export type CreatedKey = { key_id: string; name: string; scope: 'read' | 'operate' | 'admin'; created_at: number; expires_at: number | null; revoked_at: number | null; last_used_at: number | null; api_key: string }

export type PairingWish = { app_name: string; scope: 'read' | 'operate' | 'admin' }

export type PairingAnswer = { request_id: string; request_secret: string; code: string }

export type PairingRequest = { request_id: string; app_name: string; scope: 'read' | 'operate' | 'admin'; code: string; from: string | null; requested_at: number; expires_at: number }

export type Backup = { name: string; size: number; made_at: number; is_daily: boolean; with_keys: boolean; with_events: boolean; with_files: boolean }

export type LeaseWish = { owner: string; note?: string; ttl_s: number }

export type Lock = { owner: string; note: string | null; expires_at: number | null }

export type SubmissionRequest = { submission_id?: string; workflow: string; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; groups?: Array<Group>; batch_mode?: 'STANDALONE' | 'JOIN_EXISTING'; variables?: Record<string, unknown>; plan?: 'on' | 'off'; objective?: 'makespan' | 'flow_time' | 'open_time'; priority?: number; project?: string; tags?: Array<string>; notes?: string; operator_id?: string | null; samples?: string | Array<Record<string, unknown>> }

export type Group = { group_id: string; members?: Record<string, { pool: string } | { location: string; barcode?: string } | { barcode: string }>; variables?: Record<string, unknown> }

export type SubmissionRecord = { submission_id: string; execution_id: string; workflow_name: string; workflow_version?: number; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; batch_mode: 'STANDALONE' | 'JOIN_EXISTING'; group_ids: Array<string>; variables: Record<string, unknown>; operator_id: string | null; submitted_at: number; status: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'ABORTED'; reason: string | null; ended_at: number | null; request_sha256?: string; project?: string; tags?: Array<string>; notes?: string }

export type GroupOutcome = { submission_id: string; group_id: string; outcome: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'ABORTED'; open: number; ended: Record<string, number> }

export type ExecutionSummary = { execution_id: string; workflow_name: string; workflow_hash: string; workflow_version?: number; topology: string; topology_version?: number; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; status: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'ABORTED'; reason: string | null; started_at: number; ended_at: number | null; still_heating?: Array<StillHeating>; not_done?: Array<OperationNotDone>; phase: 'accepting' | 'draining' | 'stopping' | 'ended'; paused: { at: number; reason: 'manual' | 'system' } | null; thread_count: number; open_count: number; needs_person_count: number; eta?: number | null; eta_reason?: string | null; progress?: number | null }

export type Execution = { execution_id: string; workflow_name: string; workflow_hash: string; workflow_version?: number; topology: string; topology_version?: number; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; status: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'ABORTED'; reason: string | null; started_at: number; ended_at: number | null; still_heating?: Array<StillHeating>; not_done?: Array<OperationNotDone>; phase: 'accepting' | 'draining' | 'stopping' | 'ended'; paused: { at: number; reason: 'manual' | 'system' } | null; thread_count: number; open_count: number; needs_person_count: number; eta?: number | null; eta_reason?: string | null; progress?: number | null; is_abort_armed: boolean; is_live: boolean; submissions: Array<SubmissionRecord>; groups: Array<GroupOutcome>; threads: Array<Thread>; moves: Array<Move>; devices: Array<{ device_id: string; thread_id: string }>; slots: Array<Slot>; forecast?: { made_at: number; left_s: number; basis: { by: 'sum' | 'plan' | 'dispatch'; learned: number; declared: number; usual: number; assumed: Array<string> } } | null }

export type Thread = { thread_id: string; execution_id: string; thread_name: string; template_name: string; submission_id: string | null; group_id: string | null; status: 'CREATED' | 'AWAITING_MANUAL_PLACE' | 'RESOLVING_ACTION_LOCATION' | 'AWAITING_ACTION_RESERVATION' | 'ACTION_LOCATION_RESOLVED' | 'AWAITING_MOVE_RESERVATION' | 'AWAITING_MOVE_TARGET_AVAILABILITY' | 'MOVING' | 'AWAITING_CO_THREADS' | 'EXECUTING_ACTION' | 'AWAITING_EVENT' | 'AWAITING_MANUAL_REMOVE' | 'PAUSED' | 'STOPPING' | 'COMPLETED' | 'STOPPED' | 'ABORTED' | 'FAILED'; since: number; pause_reason: 'manual' | 'system' | 'error' | null; last_error: string | null; labware_id?: string; barcode?: string | null; part?: 'before' | 'after'; decisions: Array<'RETRY' | 'RETRY_OP' | 'CONTINUE' | 'ABORT_ACTION' | 'ABORT_METHOD' | 'ABORT_THREAD'>; held_at: 'ACTION_BODY' | 'DEVICE_OP' | 'MOVE' | 'MOVE_RESOLUTION' | 'IDENTITY' | 'ACTION_RESOLUTION' | 'DEADLOCK' | 'THREAD_STEP' | 'WAIT_EVENT_TIMEOUT' | 'SPAWN_CAPACITY' | 'DEVICE_TIMEOUT' | 'RESTART' | null; retry_on: Array<string>; retry_by: Array<string>; retry_by_if_off: Array<string>; labware: Labware | null; position: string | null; held_by: string | null; method: string | null; device: string | null; waiting: { kind: 'reservation' | 'peer' | 'event' | 'operator' | 'device'; what: string; since: number } | null; eta?: number | null; eta_reason?: string | null; progress?: number | null; next?: Array<{ name: string; at: string | null; from: number | null; to: number | null }> }

export type Slot = { key: string; labware: string; receiver: string | null; queue: Array<string>; pending: Array<string>; contributions: number; is_closed: boolean; is_orphaned: boolean }

export type Move = { action_id: string; thread_id: string; transporter: string; from: string; to: string; status: 'CREATED' | 'AWAITING_LOCATION_RESERVATION' | 'RESOLVED' | 'AWAITING_CO_THREADS' | 'EXECUTING_ACTION' | 'AWAITING_MOVE_RESERVATION' | 'PREPARING_TO_MOVE' | 'PICKING' | 'PLACING' | 'COMPLETED' | 'ERRORED' | 'SKIPPED' | 'ABORTED' }

export type TimelineRow = { action_id: string; thread_id: string; thread_name: string; kind: 'action' | 'move'; name: string | null; method_id: string | null; method_name: string | null; device: string | null; from: string | null; to: string | null; transporter: string | null; status: 'CREATED' | 'AWAITING_LOCATION_RESERVATION' | 'RESOLVED' | 'AWAITING_CO_THREADS' | 'EXECUTING_ACTION' | 'AWAITING_MOVE_RESERVATION' | 'PREPARING_TO_MOVE' | 'PICKING' | 'PLACING' | 'COMPLETED' | 'ERRORED' | 'SKIPPED' | 'ABORTED'; created: number; started: number | null; ended: number | null; group_id?: string | null; barcode?: string | null }

export type Labware = { labware_id: string; name: string; template: string; type: string; kind: 'plate' | 'tip_rack' | 'trough' | 'lid'; barcode: string | null; tips_left: number | null }

export type Topology = { name: string; transporters: Array<{ device_id: string; positions: Array<string> }>; translators: Array<{ name: string; stations: Array<string> }>; pools: Record<string, Array<string>>; devices: Array<{ device_id: string; configured: boolean; sites: number }>; positions: Array<{ name: string; device: string | null; parking: boolean; storage: boolean; handover: boolean; slot: number | null; labware: Labware | null; reserved_for: string | null }> }

export type WorkflowDocument = { '$schema'?: string; format: 1; name: string; topology: string; labware: Record<string, { type: string; kind?: 'plate' | 'tip_rack' | 'trough' | 'lid'; on?: string; lid_height_mm?: number; grip_offset_mm?: number; pad_offset_mm?: number; tips?: number; grip?: { width: number; force?: number }; group_sharing?: 'PER_GROUP' | 'SHARED_ACROSS_GROUPS'; submission_batching?: 'NOT_BATCHABLE' | 'BATCHABLE' }>; variables?: Record<string, { type?: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'integer'; unit?: string; minimum?: number; maximum?: number; one_of?: Array<number | string | boolean>; default?: unknown; example?: unknown; description?: string; nullable?: boolean }>; values?: Record<string, { example: number | string | boolean; description?: string }>; objective?: 'makespan' | 'flow_time' | 'open_time'; overtaking?: number; start: Array<string>; before?: Array<{ do: string; name?: string; on_failure?: 'PAUSE' | 'ABORT'; on: string; with?: Record<string, { variable: string } | string | number | boolean | null | Array<unknown> | Record<string, unknown>>; seconds?: number }>; after?: Array<{ do: string; name?: string; on_failure?: 'PAUSE' | 'ABORT'; on: string; with?: Record<string, { variable: string } | string | number | boolean | null | Array<unknown> | Record<string, unknown>>; seconds?: number }>; methods?: Record<string, WorkflowMethod>; threads: Record<string, { labware: string; start: { at: string; mode?: 'DISPENSE' | 'MANUAL_PLACE' | 'REUSE_EXISTING' }; end: { at: Array<string>; mode?: 'MANUAL_REMOVE' | 'LEAVE_IN_PLACE' }; steps: Array<WorkflowStep>; capacity?: { max: number; when_full?: 'NEW' | 'REJECT' | 'RECOVERABLE_REJECT' }; contributes_to?: Array<string>; immovable?: boolean }> }

export type WorkflowStep = { name?: string; method: string } | { name?: string; action: WorkflowAction } | { name?: string; join: Array<string> } | { name?: string; park: Array<string> } | { name?: string; wait_for: string; timeout?: number; across_groups?: boolean } | { name?: string; branch: string; cases: Record<string, Array<WorkflowStep>>; else?: Array<WorkflowStep>; timeout?: number; across_groups?: boolean } | { name?: string; while_more_work: Array<WorkflowStep> } | { name?: string; if: WorkflowCondition; then: Array<WorkflowStep>; else?: Array<WorkflowStep> } | { name?: string; repeat: { times: number } | { until: WorkflowCondition; at_most: number }; steps: Array<WorkflowStep> } | { name?: string; delay: number } | { name?: string; until_temperature: { device: string; within?: number }; timeout?: number }

export type WorkflowCondition = { value: string; above?: number; below?: number; at_least?: number; at_most?: number; equals?: number | string | boolean; one_of?: Array<number | string | boolean> } | { all: Array<WorkflowCondition> } | { any: Array<WorkflowCondition> }

export type WorkflowAction = { do: string; name?: string; on_failure?: 'PAUSE' | 'ABORT'; on: string; labware?: Array<string>; sites?: Record<string, number>; tips?: Record<string, number>; max_wait_after?: number; labware_timeout?: number; seconds?: number; lid?: 'on' | 'off'; with?: Record<string, { variable: string } | string | number | boolean | null | Array<unknown> | Record<string, unknown>>; save?: Record<string, string> } | { emit: string; value?: string | null; data?: Record<string, unknown>; across_groups?: boolean; name?: string; on_failure?: 'PAUSE' | 'ABORT' } | { wait_for: string; timeout?: number; across_groups?: boolean; name?: string; on_failure?: 'PAUSE' | 'ABORT' } | { instruct: string; timeout?: number; name?: string; on_failure?: 'PAUSE' | 'ABORT' } | { remove_lid: string; to: string | Array<string>; name?: string; on_failure?: 'PAUSE' | 'ABORT' } | { put_lid: string; name?: string; on_failure?: 'PAUSE' | 'ABORT' }

export type WorkflowMethod = Array<WorkflowAction> | { actions: Array<WorkflowAction>; on_start?: Array<{ emit: string; value?: string | null; data?: Record<string, unknown>; across_groups?: boolean }>; on_end?: Array<{ emit: string; value?: string | null; data?: Record<string, unknown>; across_groups?: boolean }> }

export type Incident = { incident_id: string; category: 'VARIABLE_RESOLUTION' | 'VARIABLE_VALIDATION' | 'CO_LABWARE_TIMEOUT' | 'AUTO_SPAWN_FAILED' | 'BARCODE_MISMATCH' | 'RESERVATION_DEADLOCK' | 'UNRESOLVABLE_DEADLOCK' | 'RECOVERABLE_TIMEOUT' | 'ACTION_FAILED' | 'ACTION_CONTINUED' | 'ACTION_REDIRECTED' | 'MOVE_FAILED' | 'MOVE_CONTINUED' | 'DEVICE_INIT_FAILED' | 'DEVICE_BUSY_EXHAUSTED' | 'PLUGIN_HANDLER_EXCEPTION' | 'EVENT_HANDLER_EXCEPTION' | 'UNRESOLVED_ANCHOR_INSERT' | 'SYSTEM_STALL' | 'ORPHANED_BACKLOG' | 'THREAD_DIED' | 'DECK_RECONCILE_CONFLICT' | 'LEDGER_CONTRADICTED' | 'STORAGE' | 'CLOCK' | 'POWER' | 'EVENT_FLOOD' | 'WINDOW_MISSED' | 'DEVICE_LINK' | 'OTHER'; severity: 'INFO' | 'WARNING' | 'ERROR' | 'CRITICAL'; message: string; recovery_action: 'THREAD_RECOVER_RETRY' | 'THREAD_RECOVER_RETRY_OP' | 'THREAD_RECOVER_ABORT' | 'PLUGIN_DISABLE' | 'MANUAL_SPAWN' | 'RESTART_EXECUTION' | 'RESUME_EXECUTION' | 'NONE'; execution_id: string | null; thread_id: string | null; detail: Record<string, unknown>; timestamp: number; acknowledged: { by: string; operator?: string; timestamp: number } | null; solved?: { by: string; operator?: string; timestamp: number; text: string }; pictures: Array<string> }

export type CustomEventContext = { execution_id: string; workflow_name: string; thread_id: string | null; group_id: string | null; event_name: string; value: string | null; data: Record<string, unknown> }

export type DeviceFaultContext = { device_name: string; cleared: boolean; command: string | null; outcome: 'failed' | 'unknown' | null; error: string | null; error_type: string | null; may_still_be_moving: boolean; message: string | null; execution_id: string | null }

export type DeviceReloadContext = { device_name: string; changed: Array<string> }

export type ExecutionLifecycleContext = { execution_id: string; workflow_name: string; reason: string | null; still_heating?: Array<StillHeating>; not_done?: Array<OperationNotDone> }

export type GroupLifecycleContext = { execution_id: string; workflow_name: string; submission_id: string; group_id: string; ended: Record<string, number> }

export type IncidentContext = { incident_id: string; category: string; severity: string; message: string; recovery_action: string; execution_id: string | null; thread_id: string | null }

export type LocationActionExecutionContext = { execution_id: string; workflow_name: string; method_id: string | null; method_name: string | null; thread_id: string | null; thread_name: string | null; participating_thread_ids: Array<string>; action_id: string; action_status: string; action_name: string | null; operation?: string; params?: Record<string, unknown>; operation_id?: string | null; device_id?: string | null; from?: string | null; to?: string | null; labware_id?: string; labware?: string; group_id?: string | null; barcode?: string | null; part?: string; others?: Array<{ labware_id: string; labware: string; barcode: string | null; group_id: string | null }>; values?: Array<{ name: string; unit: string | null; value?: unknown }> }

export type ManualInterventionContext = { execution_id: string; workflow_name: string; group_id?: string | null; barcode?: string | null; thread_id: string; thread_name: string; template_name: string; pause_reason: string | null; last_error: string | null; labware_id: string | null; labware_name: string | null; labware_template_name: string | null; target_location: string | null }

export type MethodExecutionContext = { execution_id: string; workflow_name: string; method_id: string | null; method_name: string | null; thread_id: string | null; thread_name: string | null; participating_thread_ids: Array<string> }

export type MoveActionExecutionContext = { execution_id: string; workflow_name: string; group_id?: string | null; barcode?: string | null; thread_id: string; thread_name: string; template_name: string; pause_reason: string | null; last_error: string | null; action_id: string; action_status: string; action_name: string | null; operation_id?: string | null; device_id?: string | null; from?: string | null; to?: string | null; labware_id?: string; labware?: string; part?: string; others?: Array<{ labware_id: string; labware: string; barcode: string | null; group_id: string | null }>; values?: Array<{ name: string; unit: string | null; value?: unknown }> }

export type OperationNotDone = { part: 'before' | 'after'; operation: string; on: string; reason: string }

export type OperatorInstructionContext = { execution_id: string; workflow_name: string; thread_id: string | null; instruction: string; step_id: string }

export type RecordRemovalContext = { execution_id: string; through: number }

export type StillHeating = { device_id: string; target: number | null }

export type SubmissionExecutionContext = { execution_id: string; workflow_name: string; submission_id: string; group_count: number; reason: string | null }

export type ThreadExecutionContext = { execution_id: string; workflow_name: string; group_id?: string | null; barcode?: string | null; thread_id: string; thread_name: string; template_name: string; pause_reason: string | null; last_error: string | null }

export type TipRackContext = { execution_id: string; workflow_name: string; group_id?: string | null; barcode?: string | null; thread_id: string; thread_name: string; template_name: string; pause_reason: string | null; last_error: string | null; labware_id: string; labware_name: string; labware_template_name: string; position: string | null; tips_left: number }

export type WorkflowExecutionContext = { execution_id: string; workflow_name: string }

export type ListDevicesResponse = { devices: Array<DeviceSummary> }

export type ListCapabilitiesResponse = { devices: Array<Capabilities> }

export type GetDeviceLidTemperatureResponse = { device_id: string; lid_temperature: number; target: number | null }

export type GetDeviceHumidityResponse = { device_id: string; humidity: number; target: number | null }

export type GetDeviceCo2Response = { device_id: string; co2: number; target: number | null }

export type GetDeviceWeightResponse = { device_id: string; weight: number; stable: boolean }

export type GetDeviceBarcodeResponse = { device_id: string; barcode: string | null }

export type GetDevicePoseResponse = { device_id: string; coord_type: "cartesian"; coords: { x: number; y: number; z: number; yaw: number; pitch: number; roll: number } }

export type GetDeviceReadingsResponse = { device_id: string; readings: Array<Reading> }

export type GetDeviceReadingResponse = { device_id: string; reading: string; value: number; target: number | null; unit: string }

export type GetDeviceWireResponse = { device_id: string; frames: Array<{ at: number; direction: 'to_device' | 'to_host'; hex: string; text: string }>; fault_frames: Array<{ at: number; direction: 'to_device' | 'to_host'; hex: string; text: string }> | null }

export type ListDriversResponse = { config_file: string | null; is_writable: boolean; drivers: Array<{ driver: string; instrument: string; type: string; is_tcp: boolean; source: 'shipped' | 'folder' | 'package'; tcp_port: number | null; models: Array<string>; model: string | null }> }

export type IdentifyInstrumentRequest = { transport: { kind: "serial"; path: string } | { kind: "tcp"; host: string; port?: number }; settings?: Record<string, unknown> }

export type IdentifyInstrumentResponse = { identity: Identity | null; expected: { model?: string; serial_number?: string; firmware_version?: string } | null; message: string; is_wrong: boolean; fitting_drivers: Array<string> }

export type AddDeviceRequest = { device_id: string; driver: string; name?: string; transport?: { kind: "serial"; path: string } | { kind: "tcp"; host: string; port?: number } | { kind: "simulated" }; settings?: Record<string, unknown>; identity?: { model?: string; serial_number?: string; firmware_version?: string } }

export type AddDeviceResponse = { success: boolean; message: string; device_id: string; config_file: string; old_copy: string; in_force: boolean }

export type Nothing = Record<string, never>

export type ShakeDeviceRequest = { speed: number; duration: number }

export type CentrifugeDeviceRequest = { g: number; duration: number }

export type SealDeviceRequest = { temperature: number; duration: number }

export type PeelDeviceRequest = { parameter_set?: number; adhere?: number }

export type SetTemperatureRequest = { temperature: number | null }

export type SetLidTemperatureRequest = { lid_temperature: number | null }

export type RunProfileRequest = { steps: Array<{ temperature: number; seconds: number }>; repetitions?: number }

export type StoreDeviceRequest = { slot?: number }

export type RetrieveDeviceRequest = { slot: number }

export type JogDeviceRequest = { axis: 'x' | 'y' | 'z' | 'yaw' | 'pitch' | 'roll' | 'base' | 'shoulder' | 'elbow' | 'wrist' | 'rail'; direction: '+' | '-'; speed?: number }

export type GoToRequest = { teachpoint: string; offset_z?: number }

export type PerformOperationRequest = { operation: string; params?: Record<string, unknown> }

export type PerformOperationResponse = { success: boolean; message: string; data?: unknown }

export type GetDeviceNoteResponse = { device_id: string; note: PutDeviceNoteResponse | null; photo: PutDevicePhotoResponse | null }

export type PutDeviceNoteRequest = { text: string }

export type PutDeviceNoteResponse = { text: string; by: string; operator?: string; at: number }

export type PutDevicePhotoResponse = { media_type: 'image/jpeg' | 'image/png' | 'image/webp'; bytes: number; sha256: string }

export type ListOperationsResponse = { operations: Array<{ operation_id: string; device_id: string; operation: string; params: Record<string, unknown>; status: 'running' | 'ended'; result: OperationResult | null; detail: string | null; reason?: string | null; ended_early?: boolean; notice?: string | null; started: number; ended: number | null; execution_id?: string | null; by?: string | null; operator?: string; data?: unknown; text: string; by_name: string | null }>; next: string | null }

export type GetUsageResponse = { usage: Array<{ device_id: string; operation: string; times: number; params: Record<string, unknown> }> }

export type ListPresetsResponse = { presets: Array<PutPresetResponse> }

export type PutPresetRequest = { params: Record<string, unknown> }

export type PutPresetResponse = { device_id: string; operation: string; name: string; params: Record<string, unknown> }

export type ListTeachpointsResponse = { teachpoints: Array<Teachpoint> }

export type ExportTeachpointsResponse = { device_id: string; teachpoints: Array<Teachpoint> }

export type ImportTeachpointsRequest = { device_id?: string; teachpoints: Array<Teachpoint>; overwrite?: boolean } | Array<Teachpoint>

export type ImportTeachpointsResponse = { success: boolean; message: string; created: number; updated: number }

export type ListTeachpointVersionsResponse = { versions: Array<{ version: string; at: number | null; by: string | null; point: Teachpoint | null }> }

export type RestoreTeachpointRequest = { version: string }

export type GetEventsResponse = { events: Array<RuntimeEvent>; next_since: number }

export type SetSimulatedFaultRequest = { fault: 'no_reply' | 'garbage' | 'half_reply' | 'late_reply' | 'unplug' | 'jam' | 'overtemperature' | 'interlock_open'; after?: number }

export type EmitSimulatedEventRequest = { event_name: string; execution_id?: string; context?: Record<string, unknown> }

export type SetSimulatedLoadRequest = { rate: number; seconds?: number; execution_id?: string }

export type WhoAmIResponse = { key_id: string; name: string; scope: string }

export type ListKeysResponse = { keys: Array<PublicKey> }

export type RotateKeyRequest = { overlap_s?: number; expires_at?: number | null }

export type ListKeyRequestsResponse = { requests: Array<PairingRequest> }

export type FetchRequestedKeyResponse = { api_key?: string }

export type ApproveKeyRequestRequest = { expires_at?: number | null }

export type RequestConfirmationRequest = { text: string }

export type RequestConfirmationResponse = { confirmation_id: string; expires_at: number }

export type ListConfirmationsResponse = { confirmations: Array<{ confirmation_id: string; text: string; name: string; client: string | null; code: string | null; expires_at: number }> }

export type CheckConfirmationRequest = { code: string }

export type GetHealthResponse = { status: 'ok' | 'degraded' | 'starting' | 'stopping'; version: string; uptime_s: number; reasons: Array<string> }

export type GetSystemResponse = { version: string; api_version: string; system_id: string; time_scale: number; tls_fingerprint: string | null }

export type GetTimeResponse = { time: number; utc: string; clock_synced: boolean | null; boot_id: string | null; uptime_s: number }

export type GetSystemChangesResponse = { config_file: string | null; at_once: Array<string>; needs_restart: Array<string> }

export type ListPortsResponse = { ports: Array<{ path: string; by_id: string | null; by_path: string | null; vendor_id: string | null; product_id: string | null; manufacturer: string | null; product: string | null; serial_number: string | null; device_id: string | null }> }

export type GetAuditResponse = { head: { seq: number; hash: string }; refused_head: { seq: number; hash: string }; entries: Array<{ file: 'audit.jsonl' | 'audit-refused.jsonl'; seq: number; hash: string; at: number; key_id: string | null; name: string | null; operator?: string; client?: string; confirmation?: string; scope: string | null; from: string | null; what: string; text: string; operation?: string; params?: Record<string, unknown>; decision?: string; place?: string; device_id?: string; execution_id?: string; outcome?: 'done' | 'accepted' | 'refused' | 'failed'; status: number | null; reason: string | null; operation_id: string | null; request_id?: string | null; left_out?: number; times?: number }>; next: string | null }

export type ExamineSystemResponse = { findings: Array<{ check: string; level: 'OK' | 'WARN' | 'FAIL' | 'SKIP'; finding: string; fix?: string }>; failed: number; warnings: number }

export type SignTrialRequest = { sha256: string }

export type SignTrialResponse = { algorithm: "Ed25519"; public_key: string; value: string }

export type ListBackupsResponse = { backups: Array<Backup> }

export type CreateBackupRequest = { with_keys?: boolean; with_events?: boolean; with_files?: boolean; keep?: boolean }

export type CreateBackupResponse = { name: string; size: number; made_at: number; is_daily: boolean; with_keys: boolean; with_events: boolean; with_files: boolean; left_out: Array<string> }

export type ListNotifyReceiversResponse = { receivers: Array<{ host: string; on: Array<'incident' | 'needs_person' | 'run_ended' | 'stopped' | 'storage' | 'safe_mode' | 'restarted' | 'certificate_ends' | 'key_ends' | 'alive'>; format: string; waiting: number; delivered_at: number | null; failure: string | null }>; dropped: number }

export type TestNotifyResponse = { receivers: Array<{ host: string; failure: string | null }> }

export type ListCamerasResponse = { cameras: Array<{ name: string; taken_at: number | null; failure: string | null; at_incidents: boolean; at_run_ends: boolean }> }

export type ListPluginsResponse = { plugins: Array<RestartPluginResponse> }

export type RestartPluginResponse = { name: string; title: string | null; module: string; layer: 'isolated' | 'in_process'; scope: 'read' | 'operate' | 'admin'; state: 'starting' | 'running' | 'waiting' | 'failed' | 'held' | 'stopped'; events_handled: number; events_waiting: number; events_dropped: number; restarts: number; last_error: string | null; last_error_at: number | null; memory_mib: number | null }

export type GetLabResponse = { link: { lab: string; name: string; servers: Array<string>; state: 'connected' | 'away' | 'foreign'; failure: string | null; epoch: string; machine: string; waiting: number | null; lag_s: number; sent: number; lost: number } | null; benches: Array<{ name: string; state: 'here' | 'silent' | 'unknown'; heard_s: number | null; url: string; fingerprint: string | null; version: string; epoch: string; machine: string; health: string; devices: Record<string, number>; incidents: number; positions: Array<string> }> }

export type DrawEpochResponse = { link: { lab: string; name: string; servers: Array<string>; state: 'connected' | 'away' | 'foreign'; failure: string | null; epoch: string; machine: string; waiting: number | null; lag_s: number; sent: number; lost: number } }

export type GetMqttResponse = { link: { url: string; topic: string; is_connected: boolean; failure: string | null; sent: number; dropped: number } | null }

export type ListTopologiesResponse = { topologies: Array<{ name: string; loaded: boolean; positions: number; devices: Array<string>; workflows: Array<string> }>; faults: Array<{ origin: string; reason: string }> }

export type LoadTopologyRequest = { name: string; force?: boolean }

export type UnloadTopologyRequest = { force?: boolean }

export type ReloadSystemResponse = { success: boolean; message: string; config_file: string | null; applied: Array<string>; needs_restart: Array<string>; faults: Array<{ origin: string; reason: string }> }

export type ListWorkflowsResponse = { workflows: Array<PutWorkflowResponse>; faults: Array<{ origin: string; reason: string }> }

export type GetWorkflowResponse = { name: string; topology: string; form: 'json' | 'typescript'; source: 'file' | 'api' | 'example'; hash: string; version: number | null; has_code: boolean; warnings: Array<string>; variables: Record<string, { type?: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'integer'; unit?: string; minimum?: number; maximum?: number; one_of?: Array<number | string | boolean>; default?: unknown; example?: unknown; description?: string; nullable?: boolean }>; document: Record<string, unknown> }

export type PutWorkflowResponse = { name: string; topology: string; form: 'json' | 'typescript'; source: 'file' | 'api' | 'example'; hash: string; version: number | null; has_code: boolean; warnings: Array<string>; variables: Record<string, { type?: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'integer'; unit?: string; minimum?: number; maximum?: number; one_of?: Array<number | string | boolean>; default?: unknown; example?: unknown; description?: string; nullable?: boolean }> }

export type CheckSamplesRequest = { samples: string | Array<Record<string, unknown>>; variables?: Record<string, unknown> }

export type CheckSamplesResponse = { groups: Array<Group>; mistakes: Array<{ row: number | null; column: string | null; header: string | null; message: string }>; mistakes_left_out: number; columns: Array<{ column: string; header: string; takes: 'group' | 'barcode' | 'at' | 'variable' | 'nothing' | null; name: string | null }>; rows: Array<{ row: number; cells: Array<string> }> }

export type GetSampleSheetResponse = { text: string }

export type ListWorkflowVersionsResponse = { name: string; versions: Array<{ version: number; hash: string; at: number; source: 'file' | 'api' | 'example'; by: string | null; operator?: string; note?: string; restored_from?: number; form: 'json' | 'typescript'; file?: string; bytes: number; deleted?: { at: number; by: string | null; operator?: string } }> }

export type GetWorkflowVersionResponse = { version: number; hash: string; at: number; source: 'file' | 'api' | 'example'; by: string | null; operator?: string; note?: string; restored_from?: number; form: 'json' | 'typescript'; file?: string; bytes: number; deleted?: { at: number; by: string | null; operator?: string }; document: Record<string, unknown>; text: string | null; helpers: Record<string, string> }

export type CompareWorkflowVersionsResponse = { name: string; from: number | null; to: number | null; is_same: boolean; changes: Array<{ place: string; change: 'added' | 'removed' | 'changed' | 'moved'; before?: unknown; after?: unknown; text: string }>; text_changes: Array<string> }

export type ListTopologyVersionsResponse = { name: string; versions: Array<{ version: number; hash: string; at: number; source: 'file' | 'api' | 'example'; by: string | null; operator?: string; note?: string; restored_from?: number; form: 'json' | 'typescript'; file?: string; bytes: number; deleted?: { at: number; by: string | null; operator?: string } }> }

export type RestoreWorkflowVersionRequest = { note?: string }

export type ListSubmissionsResponse = { submissions: Array<SubmissionRecord> }

export type SubmitResponse = { submission_id: string; execution_id: string; status: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'ABORTED'; in_the_way: Array<{ position: string; labware_id: string; labware_name: string; execution_id: string | null; message: string }> }

export type GetQueueResponse = { state: 'running' | 'paused'; paused: { since: number; reason: 'person' | 'start' | 'stop' | 'run_ended'; message: string; by: string | null } | null; version: string; open_runs: number; waiting: number; running: number; entries: Array<AddToQueueResponse>; ended: Array<{ entry_id: string; workflow: string; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; groups: number; priority: number; execution_id: string | null; outcome: 'COMPLETED' | 'FAILED' | 'ABORTED' | null; added_at: number; added_by: { by: string | null; operator?: string }; ended_at: number }> }

export type AddToQueueRequest = { submission: { submission_id?: string; workflow: string; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; groups?: Array<Group>; batch_mode?: 'STANDALONE' | 'JOIN_EXISTING'; variables?: Record<string, unknown>; plan?: 'on' | 'off'; objective?: 'makespan' | 'flow_time' | 'open_time'; priority?: number; project?: string; tags?: Array<string>; notes?: string; operator_id?: string | null; samples?: string | Array<Record<string, unknown>> }; start_at?: number | { after: string } | null; requires?: { devices?: Array<string>; labware?: Array<string> }; on_failure?: 'stop' | 'go_on'; may_be_passed?: boolean }

export type AddToQueueResponse = { entry_id: string; number: number | null; workflow: string; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; groups: number; priority: number; start_at: number | { after: string } | null; requires: { devices?: Array<string>; labware?: Array<string> }; on_failure: 'stop' | 'go_on'; may_be_passed: boolean; state: 'waiting' | 'starting' | 'running' | 'ended'; why_it_waits: string | null; needs_person: boolean; execution_id: string | null; added_at: number; added_by: { by: string | null; operator?: string } }

export type ResumeQueueRequest = { since?: number }

export type ClearQueueResponse = { success: boolean; message: string; removed: number }

export type GetQueueEntryResponse = { entry_id: string; number: number | null; workflow: string; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; groups: number; priority: number; start_at: number | { after: string } | null; requires: { devices?: Array<string>; labware?: Array<string> }; on_failure: 'stop' | 'go_on'; may_be_passed: boolean; state: 'waiting' | 'starting' | 'running' | 'ended'; why_it_waits: string | null; needs_person: boolean; execution_id: string | null; added_at: number; added_by: { by: string | null; operator?: string }; submission: { submission_id?: string; workflow: string; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; groups?: Array<Group>; batch_mode?: 'STANDALONE' | 'JOIN_EXISTING'; variables?: Record<string, unknown>; plan?: 'on' | 'off'; objective?: 'makespan' | 'flow_time' | 'open_time'; priority?: number; project?: string; tags?: Array<string>; notes?: string; operator_id?: string | null; samples_sha256?: string } }

export type MoveInQueueRequest = { before?: string; to?: 'first' | 'last'; start_at?: number | { after: string } | null }

export type StartQueueEntryResponse = { entry_id: string; submission_id: string; execution_id: string; status: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'ABORTED' }

export type SimulateResponse = { workflow: string; verdict: 'completes' | 'fails' | 'deadlock' | 'waits' | 'endless'; makespan_s: number; moves: number; actions: number; conflict: string | null; refusal: string | null; waiting: Array<{ thread_id: string; thread_name: string; status: string; waits_for: string | null; since_s: number; because: Array<string> }>; conditions: Array<{ thread: string; step: string; condition: string; examples: Record<string, number | string | boolean>; goes: 'then' | 'else'; then: Array<string>; else: Array<string> }>; devices: Array<{ device: string; busy_s: number; share: number }>; gantt: Array<{ thread_name: string; kind: 'action' | 'move'; name: string; device: string | null; from_s: number; to_s: number }>; plan: { planned_s: number; dispatch_s: number | null; bound_s: number } | null; dropped: number }

export type ListExecutionsResponse = { executions: Array<ExecutionSummary>; next: string | null }

export type ListThreadsResponse = { threads: Array<Thread> }

export type GetTimelineResponse = { rows: Array<TimelineRow>; dropped: number }

export type ListBlockersResponse = { blockers: Array<{ kind: 'safe_mode' | 'device_fault' | 'simulator_fault' | 'error' | 'stall' | 'orphaned' | 'operator_step' | 'manual_place' | 'manual_remove' | 'paused' | 'event' | 'waiting'; thread_id: string | null; thread_name: string | null; device_id: string | null; message: string; remedy: string; since_s: number }> }

export type ExplainExecutionResponse = { threads: Array<{ thread_id: string; thread_name: string; status: string; waits_for: string | null; since_s: number; because: Array<string> }> }

export type EmitCustomEventRequest = { name: string; value?: string | null; data?: Record<string, unknown>; group_id?: string; submission_id?: string }

export type PrioritizeExecutionRequest = { priority: number }

export type SkipStepRequest = { item: string }

export type InsertStepRequest = { before?: string; after?: string; item: WorkflowStep }

export type SpawnThreadRequest = { thread: string; start?: string }

export type StopExecutionRequest = { confirm?: boolean }

export type GetRecordResponse = { execution_id: string; started_at: number; rows: Array<Record<string, unknown>>; damaged: number; next: number }

export type AddNoteRequest = { text: string; tags?: Array<string> }

export type ListValuesResponse = { values: Array<{ kind: "value"; at: number; name: string; value?: unknown; unit: string | null; shape: Array<number> | null; labware: string; barcode: string | null; group_id: string | null; thread_name: string; method_name: string | null; action_name: string; operation: string; device_id: string | null; labware_id: string; thread_id: string; submission_id: string; action_id: string; operation_id: string | null; sha256?: string; part?: string; bytes?: number }>; damaged: number }

export type ListReadingsOfExecutionResponse = { readings: Array<{ kind: "readings"; at: number; device_id: string; values: Record<string, number>; targets?: Record<string, number>; why: 'start' | 'interval' | 'end'; action_id?: string }>; damaged: number }

export type GetLongValueResponse = { value: unknown }

/** As they were when the execution began */
export type GetExecutionWorkflowResponse = { execution_id: string; name: string; hash: string; workflow_version?: number; topology: string; topology_version?: number; document: Record<string, unknown>; text: string | null; topology_document: Record<string, unknown> | null }

export type GetForecastResponse = { made_at: number; verdict: 'completes' | 'fails' | 'deadlock' | 'waits' | 'endless'; makespan_s: number; gantt: Array<{ thread_name: string; kind: 'action' | 'move'; name: string; device: string | null; from_s: number; to_s: number }>; dropped: number; plan?: { planned_s: number; dispatch_s: number | null; bound_s: number } | null }

export type ListFilesResponse = { files: Array<AttachFileResponse> }

export type AttachFileResponse = { kind: "file"; at: number; by: string | null; operator?: string; name: string; media_type: string; bytes: number; sha256: string; from: 'operation' | 'person'; note: string | null; device_id?: string; operation?: string; operation_id?: string | null; action_id?: string; action_name?: string; thread_id?: string; labware_id?: string; labware?: string; barcode?: string | null; group_id?: string | null }

export type RecoverThreadRequest = { decision: 'RETRY' | 'RETRY_OP' | 'CONTINUE' | 'ABORT_ACTION' | 'ABORT_METHOD' | 'ABORT_THREAD'; on?: string; by?: string; arm_is_off?: boolean; barcode?: string }

export type LabwarePlacedRequest = { barcode?: string }

export type ListManualStepsResponse = { steps: Array<{ step_id: string; execution_id: string; thread_id: string; instruction: string; since: number; move: { transporter: string; labware_id: string; labware: string; barcode: string | null; from: string; to: string; confirm: 'once' | 'twice'; ask_barcode: boolean; is_taken: boolean; is_again: boolean; usual_s: number | null } | null }> }

export type ConfirmManualStepRequest = { answer?: 'done' | 'taken' | 'elsewhere' | 'cannot'; position?: string; barcode?: string; reason?: string }

export type ListIncidentsResponse = { incidents: Array<Incident> }

export type ExtendLateCallRequest = { seconds: number }

export type ListLabwareResponse = { labware: Array<{ labware_id: string; name: string; template: string; type: string; kind: 'plate' | 'tip_rack' | 'trough' | 'lid'; barcode: string | null; tips_left: number | null; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; position: string | null; stored_at: number | null; held_by: string | null; on: string | null; place: string; execution_id: string | null; thread_id: string | null; thread_name: string | null; left_by: string | null; remedy: string | null }> }

export type RelocateLabwareRequest = { position: string | null }

export type GetInventoryResponse = { device_id: string; slots: number; stored: Array<{ slot: number; position: string; labware_id: string; name: string; type: string; barcode: string | null; stored_at: number | null; thread_id: string | null; thread_name: string | null; place: string; remedy: string | null }>; stations: Array<{ position: string; labware: { labware_id: string; name: string; type: string; barcode: string | null; stored_at: number | null; thread_id: string | null; thread_name: string | null; place: string; remedy: string | null } | null }> }

export type CorrectInventoryRequest = { slots: Array<{ slot: number; labware: { barcode?: string | null; type?: string; name?: string } | null }> }

export type GetLabwareHistoryResponse = { labware: string; steps: Array<{ at: number; kind: 'move' | 'action' | 'decision'; text: string; labware_id: string | null; labware: string | null; barcode: string | null; from: string | null; to: string | null; device_id: string | null; started: number | null; outcome: string | null; execution_id: string; workflow_name: string; run_mode: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM' }>; runs: number; next: string | null; damaged: number }

export type RuntimeEvent = { event_name: string; execution_id: string; timestamp: number; entity_type: string; entity_id: string; status: string; context: CustomEventContext | DeviceFaultContext | DeviceReloadContext | ExecutionLifecycleContext | GroupLifecycleContext | IncidentContext | LocationActionExecutionContext | ManualInterventionContext | MethodExecutionContext | MoveActionExecutionContext | OperationNotDone | OperatorInstructionContext | RecordRemovalContext | StillHeating | SubmissionExecutionContext | ThreadExecutionContext | TipRackContext | WorkflowExecutionContext | Record<string, unknown> }

/** The modes of a run as people read them, by their value in `run_mode`. */
export const modeWords: Readonly<Record<SubmissionRequest['run_mode'], string>> = { LIVE: 'On the bench', DEVICE_SIM: 'Rehearse on simulators', PURE_SIM: 'Plan only' }

/** The request and the answer of each operation. */
export type Operations = {
  /** List connected devices */
  listDevices: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListDevicesResponse }
  /** Add a device to the configuration, and take it up without a restart */
  addDevice: { path: Record<string, never>; query: Record<string, never>; body: AddDeviceRequest; answer: AddDeviceResponse }
  /** Get device info */
  getDevice: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: DeviceInfo }
  /** List the capabilities of all devices */
  listCapabilities: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListCapabilitiesResponse }
  /** Get device capabilities */
  getDeviceCapabilities: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: Capabilities }
  /** Check whether the device is initialized */
  getDeviceInitialized: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: Initialized }
  /** Get the temperature in °C, and the target, null when none is set */
  getDeviceTemperature: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: Temperature }
  /** Get the temperature of the lid in °C, and the target, null when none is set */
  getDeviceLidTemperature: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: GetDeviceLidTemperatureResponse }
  /** Get the relative humidity in %, and the target, null when none is set */
  getDeviceHumidity: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: GetDeviceHumidityResponse }
  /** Get the concentration of CO2 in %, and the target, null when none is set */
  getDeviceCo2: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: GetDeviceCo2Response }
  /** Get the weight in g that a balance shows now, also while it is not stable */
  getDeviceWeight: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: GetDeviceWeightResponse }
  /** Get the barcode that a scanner has read last */
  getDeviceBarcode: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: GetDeviceBarcodeResponse }
  /** Get the position of an arm as the coordinates of a teachpoint */
  getDevicePose: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: GetDevicePoseResponse }
  /** Get the readings of the last hour or day: temperatures, and what the program behind a device tells */
  getDeviceReadings: { path: { device_id: string }; query: { since?: number; until?: number; most?: number }; body: undefined; answer: GetDeviceReadingsResponse }
  /** Get a reading that the program behind a device has described */
  getDeviceReading: { path: { device_id: string; reading: string }; query: Record<string, never>; body: undefined; answer: GetDeviceReadingResponse }
  /** Get the last words between the device and the service, as they went over the wire */
  getDeviceWire: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: GetDeviceWireResponse }
  /** List the drivers of instruments on a line, and whether a device can be added */
  listDrivers: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListDriversResponse }
  /** Ask the instrument at a port who it is, by a driver */
  identifyInstrument: { path: { driver: string }; query: Record<string, never>; body: IdentifyInstrumentRequest; answer: IdentifyInstrumentResponse }
  /** Initialize the device; it may move */
  initializeDevice: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Shake */
  shakeDevice: { path: { device_id: string }; query: Record<string, never>; body: ShakeDeviceRequest; answer: OperationResult; accepted: OperationRecord }
  /** Run centrifuge */
  centrifugeDevice: { path: { device_id: string }; query: Record<string, never>; body: CentrifugeDeviceRequest; answer: OperationResult; accepted: OperationRecord }
  /** Seal plate */
  sealDevice: { path: { device_id: string }; query: Record<string, never>; body: SealDeviceRequest; answer: OperationResult; accepted: OperationRecord }
  /** Peel the seal off a plate */
  peelDevice: { path: { device_id: string }; query: Record<string, never>; body: PeelDeviceRequest; answer: OperationResult; accepted: OperationRecord }
  /** Open door or lid */
  openDevice: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Close door or lid */
  closeDevice: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Lock plate */
  lockPlate: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Unlock plate */
  unlockPlate: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Set the target temperature, or switch the heater off; answers before the temperature is reached */
  setTemperature: { path: { device_id: string }; query: Record<string, never>; body: SetTemperatureRequest; answer: OperationResult; accepted: OperationRecord }
  /** Set the target temperature of a heated lid, or switch it off; answers before the temperature is reached */
  setLidTemperature: { path: { device_id: string }; query: Record<string, never>; body: SetLidTemperatureRequest; answer: OperationResult; accepted: OperationRecord }
  /** Run a temperature profile: the steps in order, repeated; the last temperature is held afterwards */
  runProfile: { path: { device_id: string }; query: Record<string, never>; body: RunProfileRequest; answer: OperationResult; accepted: OperationRecord }
  /** Take the labware at the transfer station into a slot of the storage */
  storeDevice: { path: { device_id: string }; query: Record<string, never>; body: StoreDeviceRequest; answer: OperationResult; accepted: OperationRecord }
  /** Bring the labware in a slot of the storage to the transfer station */
  retrieveDevice: { path: { device_id: string }; query: Record<string, never>; body: RetrieveDeviceRequest; answer: OperationResult; accepted: OperationRecord }
  /** Read a barcode; of a storage: look which slots are taken */
  scanDevice: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Weigh, and wait until the value is stable */
  weighDevice: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Tare the balance, so that the present load becomes zero */
  tareDevice: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Set the zero point of an empty balance */
  zeroDevice: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Move an arm along one axis while the operation is renewed */
  jogDevice: { path: { device_id: string }; query: Record<string, never>; body: JogDeviceRequest; answer: OperationResult; accepted: OperationRecord }
  /** Let a person lead an arm by hand while the operation is renewed */
  freeDrive: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult; accepted: OperationRecord }
  /** Move an arm slowly to a teachpoint, or above it, through its gateways and its access pattern */
  goTo: { path: { device_id: string }; query: Record<string, never>; body: GoToRequest; answer: OperationResult; accepted: OperationRecord }
  /** Perform any operation of a device by its name */
  performOperation: { path: { device_id: string }; query: Record<string, never>; body: PerformOperationRequest; answer: PerformOperationResponse; accepted: OperationRecord }
  /** Accept that the program behind a device describes itself otherwise than it did */
  acceptDescription: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Emergency stop; latched until initialize. Not a safety function: it does not replace an emergency stop button */
  stopDevice: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Emergency stop of every device; latched until each is initialized. Not a safety function */
  stopAll: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: StopAllResult }
  /** Clear a latched fault that somebody has looked at; never a stop */
  clearDeviceFault: { path: { device_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Lease a device: keep it for this key for a while, or renew that */
  leaseDevice: { path: { device_id: string }; query: Record<string, never>; body: LeaseWish; answer: Lock }
  /** End the lease of a device */
  releaseDevice: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Get what an operation came to */
  getOperation: { path: { operation_id: string }; query: Record<string, never>; body: undefined; answer: OperationRecord }
  /** End a running operation early, in an orderly way: a shaker ramps down and goes home, a centrifuge brakes */
  endOperation: { path: { operation_id: string }; query: Record<string, never>; body: undefined; answer: OperationRecord; accepted: OperationRecord }
  /** Renew the hold on a running operation, such as a jog while a button is pressed */
  renewOperation: { path: { operation_id: string }; query: Record<string, never>; body: undefined; answer: unknown }
  /** Get the note about a device, and whether it has a photo */
  getDeviceNote: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: GetDeviceNoteResponse }
  /** Write the note about a device, in the place of the one before */
  putDeviceNote: { path: { device_id: string }; query: Record<string, never>; body: PutDeviceNoteRequest; answer: PutDeviceNoteResponse }
  /** Delete the note about a device */
  deleteDeviceNote: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Get the photo of a device */
  fetchDevicePhoto: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: unknown }
  /** Store the photo of a device, in the place of the one before */
  putDevicePhoto: { path: { device_id: string }; query: Record<string, never>; body: Blob; answer: PutDevicePhotoResponse }
  /** Delete the photo of a device */
  deleteDevicePhoto: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** List what the devices did, by hand or in runs */
  listOperations: { path: Record<string, never>; query: { device_id?: string; since?: string; until?: string; limit?: number; before?: string }; body: undefined; answer: ListOperationsResponse }
  /** Count the operations of each device in the last day, with their last parameters */
  getUsage: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetUsageResponse }
  /** List the presets of a device: parameters that were saved under a name */
  listPresets: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: ListPresetsResponse }
  /** Save parameters of an operation under a name */
  putPreset: { path: { device_id: string; operation: string; preset: string }; query: Record<string, never>; body: PutPresetRequest; answer: PutPresetResponse }
  /** Delete a preset */
  deletePreset: { path: { device_id: string; operation: string; preset: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** List teachpoints of one device */
  listTeachpoints: { path: Record<string, never>; query: { device_id?: string }; body: undefined; answer: ListTeachpointsResponse }
  /** Create a teachpoint */
  createTeachpoint: { path: Record<string, never>; query: Record<string, never>; body: Teachpoint; answer: Teachpoint }
  /** Export all teachpoints of a device */
  exportTeachpoints: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: ExportTeachpointsResponse }
  /** Get one teachpoint */
  getTeachpoint: { path: { device_id: string; name: string }; query: Record<string, never>; body: undefined; answer: Teachpoint }
  /** Update a teachpoint */
  updateTeachpoint: { path: { device_id: string; name: string }; query: Record<string, never>; body: TeachpointUpdate; answer: Teachpoint }
  /** Delete a teachpoint */
  deleteTeachpoint: { path: { device_id: string; name: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Bulk import */
  importTeachpoints: { path: Record<string, never>; query: Record<string, never>; body: ImportTeachpointsRequest; answer: ImportTeachpointsResponse }
  /** List the newest twenty versions of a teachpoint, also of one that was deleted */
  listTeachpointVersions: { path: { device_id: string; name: string }; query: Record<string, never>; body: undefined; answer: ListTeachpointVersionsResponse }
  /** Make a teachpoint what it was in one of its versions */
  restoreTeachpoint: { path: { device_id: string; name: string }; query: Record<string, never>; body: RestoreTeachpointRequest; answer: Teachpoint }
  /** Events recorded at or after a time */
  getEvents: { path: Record<string, never>; query: { since?: number; execution_id?: string; limit?: number; newest?: number; envelope?: 'true' | 'false'; wait?: number }; body: undefined; answer: GetEventsResponse }
  /** Live events, as Server-Sent Events */
  streamEvents: { path: Record<string, never>; query: { execution_id?: string; last_event_id?: string; heartbeat?: number }; body: undefined; answer: ReadableStream<Uint8Array> }
  /** Break a simulated device */
  setSimulatedFault: { path: { device_id: string }; query: Record<string, never>; body: SetSimulatedFaultRequest; answer: OperationResult }
  /** Mend a simulated device */
  clearSimulatedFaults: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Put an event through the hub, as the engine would */
  emitSimulatedEvent: { path: Record<string, never>; query: Record<string, never>; body: EmitSimulatedEventRequest; answer: RuntimeEvent }
  /** Fire events at a steady rate, from within */
  setSimulatedLoad: { path: Record<string, never>; query: Record<string, never>; body: SetSimulatedLoadRequest; answer: OperationResult }
  /** Which key this is, and what it may */
  whoAmI: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: WhoAmIResponse }
  /** List keys, without their secrets */
  listKeys: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListKeysResponse }
  /** Create a key */
  createKey: { path: Record<string, never>; query: Record<string, never>; body: KeyRequest; answer: CreatedKey }
  /** Put a new key in the place of one */
  rotateKey: { path: { key_id: string }; query: Record<string, never>; body: RotateKeyRequest; answer: CreatedKey }
  /** Revoke a key */
  revokeKey: { path: { key_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Ask for a key, which somebody with a key of scope admin then approves or denies */
  requestKey: { path: Record<string, never>; query: Record<string, never>; body: PairingWish; answer: PairingAnswer }
  /** List the requests for a key that wait for a decision */
  listKeyRequests: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListKeyRequestsResponse }
  /** Fetch the key that was asked for: 202 until it is approved, then the key, once */
  fetchRequestedKey: { path: { request_id: string }; query: Record<string, never>; body: undefined; answer: FetchRequestedKeyResponse; accepted: FetchRequestedKeyResponse }
  /** Deny a request for a key */
  denyKeyRequest: { path: { request_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Let whoever asked for a key have it */
  approveKeyRequest: { path: { request_id: string }; query: Record<string, never>; body: ApproveKeyRequestRequest; answer: OperationResult }
  /** Have a person asked whether something may be done */
  requestConfirmation: { path: Record<string, never>; query: Record<string, never>; body: RequestConfirmationRequest; answer: RequestConfirmationResponse }
  /** List the confirmations that wait for a person */
  listConfirmations: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListConfirmationsResponse }
  /** Check the code that a person told; it holds once */
  checkConfirmation: { path: { confirmation_id: string }; query: Record<string, never>; body: CheckConfirmationRequest; answer: OperationResult }
  /** Deny what a program asks for */
  denyConfirmation: { path: { confirmation_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Whether the service is well; needs no key */
  getHealth: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetHealthResponse }
  /** Versions and the id of this system */
  getSystem: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetSystemResponse }
  /** The time of the service, and how far it can be trusted */
  getTime: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetTimeResponse }
  /** How the configuration file differs from the configuration in force */
  getSystemChanges: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetSystemChangesResponse }
  /** List the serial ports, what is plugged in there, and which device is on it */
  listPorts: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListPortsResponse }
  /** The audit trail: the newest requests that changed something, or were refused */
  getAudit: { path: Record<string, never>; query: { limit?: number; outcome?: 'done' | 'refused'; device_id?: string; who?: string; text?: string; since?: string; until?: string; before?: string }; body: undefined; answer: GetAuditResponse }
  /** Check this computer, with what to do about each thing that is not well */
  examineSystem: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ExamineSystemResponse }
  /** Get the configuration in force, with every default, and without secrets */
  getConfig: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: Record<string, unknown> }
  /** Fetch what helps others to help, without any secret, as a .tar.gz */
  fetchBundle: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: unknown }
  /** Sign the file of a trial with the key of the bench */
  signTrial: { path: Record<string, never>; query: Record<string, never>; body: SignTrialRequest; answer: SignTrialResponse }
  /** List the backups in the data folder */
  listBackups: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListBackupsResponse }
  /** Make a backup of the configuration and the state */
  createBackup: { path: Record<string, never>; query: Record<string, never>; body: CreateBackupRequest; answer: CreateBackupResponse }
  /** Fetch a backup, as a .tar.gz */
  fetchBackup: { path: { backup_name: string }; query: Record<string, never>; body: undefined; answer: unknown }
  /** Delete a backup */
  deleteBackup: { path: { backup_name: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** List the webhooks of the configuration, and how delivery to each goes */
  listNotifyReceivers: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListNotifyReceiversResponse }
  /** Send a test message to each webhook of the configuration */
  testNotify: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: TestNotifyResponse }
  /** List the cameras of the configuration, and why one brought no picture */
  listCameras: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListCamerasResponse }
  /** Get a picture of a camera that is at most a second old */
  getPicture: { path: { camera: string }; query: Record<string, never>; body: undefined; answer: unknown }
  /** List the plug-ins of the configuration, with their state, their events and their last error */
  listPlugins: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListPluginsResponse }
  /** Start a plug-in anew, with its file as it is now; also one that was given up */
  restartPlugin: { path: { plugin_name: string }; query: Record<string, never>; body: undefined; answer: RestartPluginResponse }
  /** Show how this bench is connected to its lab, and which benches are there */
  getLab: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetLabResponse }
  /** Go on under the name of this bench after another box has sent events under it; draws a new epoch */
  drawEpoch: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: DrawEpochResponse }
  /** Show how this bench is connected to its MQTT broker */
  getMqtt: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetMqttResponse }
  /** Figures of the service, in the text format of Prometheus */
  getMetrics: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: unknown }
  /** List topologies */
  listTopologies: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListTopologiesResponse }
  /** Get the loaded topology and the labware at each place */
  getTopology: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: Topology }
  /** Load a topology */
  loadTopology: { path: Record<string, never>; query: Record<string, never>; body: LoadTopologyRequest; answer: OperationResult }
  /** Unload the topology */
  unloadTopology: { path: Record<string, never>; query: Record<string, never>; body: UnloadTopologyRequest; answer: OperationResult }
  /** Read the configuration file and the topologies folder anew */
  reloadSystem: { path: Record<string, never>; query: Record<string, never>; body: Nothing; answer: ReloadSystemResponse }
  /** List workflows */
  listWorkflows: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListWorkflowsResponse }
  /** Get one workflow */
  getWorkflow: { path: { workflow_name: string }; query: Record<string, never>; body: undefined; answer: GetWorkflowResponse }
  /** Create or replace a workflow in its JSON form */
  putWorkflow: { path: { workflow_name: string }; query: { note?: string }; body: WorkflowDocument; answer: PutWorkflowResponse; accepted: PutWorkflowResponse }
  /** Delete a workflow that came over the API */
  deleteWorkflow: { path: { workflow_name: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Check a sheet of samples */
  checkSamples: { path: { workflow_name: string }; query: Record<string, never>; body: CheckSamplesRequest; answer: CheckSamplesResponse }
  /** Get an empty sheet of samples */
  getSampleSheet: { path: { workflow_name: string }; query: Record<string, never>; body: undefined; answer: GetSampleSheetResponse }
  /** List the versions of a workflow, also of one that was deleted */
  listWorkflowVersions: { path: { workflow_name: string }; query: Record<string, never>; body: undefined; answer: ListWorkflowVersionsResponse }
  /** Get a version of a workflow with its document */
  getWorkflowVersion: { path: { workflow_name: string; version: string }; query: Record<string, never>; body: undefined; answer: GetWorkflowVersionResponse }
  /** Say in words how two versions of a workflow differ */
  compareWorkflowVersions: { path: { workflow_name: string }; query: { from?: number; to?: number }; body: undefined; answer: CompareWorkflowVersionsResponse }
  /** Say in words how a document differs from the present one of a workflow, before it is put */
  compareWorkflowDocument: { path: { workflow_name: string }; query: Record<string, never>; body: Record<string, unknown>; answer: CompareWorkflowVersionsResponse }
  /** List the versions of a topology, also of one that was deleted */
  listTopologyVersions: { path: { topology_name: string }; query: Record<string, never>; body: undefined; answer: ListTopologyVersionsResponse }
  /** Get a version of a topology with its document */
  getTopologyVersion: { path: { topology_name: string; version: string }; query: Record<string, never>; body: undefined; answer: GetWorkflowVersionResponse }
  /** Say in words how two versions of a topology differ */
  compareTopologyVersions: { path: { topology_name: string }; query: { from?: number; to?: number }; body: undefined; answer: CompareWorkflowVersionsResponse }
  /** Say in words how a document differs from the present one of a topology, before it is put */
  compareTopologyDocument: { path: { topology_name: string }; query: Record<string, never>; body: Record<string, unknown>; answer: CompareWorkflowVersionsResponse }
  /** Put the document of a version again, as a new version */
  restoreWorkflowVersion: { path: { workflow_name: string; version: string }; query: Record<string, never>; body: RestoreWorkflowVersionRequest; answer: PutWorkflowResponse }
  /** Say which file to change to go back to a version of a topology */
  restoreTopologyVersion: { path: { topology_name: string; version: string }; query: Record<string, never>; body: Nothing; answer: Nothing }
  /** List submissions */
  listSubmissions: { path: Record<string, never>; query: { limit?: number }; body: undefined; answer: ListSubmissionsResponse }
  /** Submit a workflow */
  submit: { path: Record<string, never>; query: Record<string, never>; body: SubmissionRequest; answer: SubmitResponse }
  /** Get one submission */
  getSubmission: { path: { submission_id: string }; query: Record<string, never>; body: undefined; answer: SubmissionRecord }
  /** Withdraw a submission that may still be on its way */
  withdrawSubmission: { path: { submission_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Get the queue of runs: its entries in order, and why each waits */
  getQueue: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: GetQueueResponse }
  /** Add a submission to the queue of runs */
  addToQueue: { path: Record<string, never>; query: Record<string, never>; body: AddToQueueRequest; answer: AddToQueueResponse }
  /** Pause the queue of runs */
  pauseQueue: { path: Record<string, never>; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Resume the queue of runs */
  resumeQueue: { path: Record<string, never>; query: Record<string, never>; body: ResumeQueueRequest; answer: OperationResult }
  /** Remove all entries that wait from the queue of runs */
  clearQueue: { path: Record<string, never>; query: Record<string, never>; body: Nothing; answer: ClearQueueResponse }
  /** Get one entry of the queue of runs, with its submission */
  getQueueEntry: { path: { entry_id: string }; query: Record<string, never>; body: undefined; answer: GetQueueEntryResponse }
  /** Remove an entry that waits from the queue of runs */
  removeFromQueue: { path: { entry_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** Move an entry that waits in the queue of runs, or give it another start */
  moveInQueue: { path: { entry_id: string }; query: Record<string, never>; body: MoveInQueueRequest; answer: AddToQueueResponse }
  /** Start an entry of the queue of runs now */
  startQueueEntry: { path: { entry_id: string }; query: Record<string, never>; body: Nothing; answer: StartQueueEntryResponse }
  /** Try out a submission on the clock alone */
  simulate: { path: Record<string, never>; query: Record<string, never>; body: SubmissionRequest; answer: SimulateResponse }
  /** List executions, or find some */
  listExecutions: { path: Record<string, never>; query: { limit?: number; before?: string; status?: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'ABORTED'; since?: string; until?: string; workflow?: string; mode?: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM'; barcode?: string; tag?: string; project?: string; text?: string }; body: undefined; answer: ListExecutionsResponse }
  /** Get one execution: its threads, where their labware is, and what each waits for */
  getExecution: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: Execution }
  /** Delete an execution that has ended, with its events and incidents */
  deleteExecution: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
  /** List the threads of an execution */
  listThreads: { path: { execution_id: string }; query: { limit?: number; offset?: number }; body: undefined; answer: ListThreadsResponse }
  /** Get what an execution did when: a row for each action and each hop */
  getTimeline: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: GetTimelineResponse }
  /** List what stops an execution now, and what to do about it */
  listBlockers: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: ListBlockersResponse }
  /** Say in words what each thread of an execution waits for, who holds it, and since when */
  explainExecution: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: ExplainExecutionResponse }
  /** Emit a custom event into an execution */
  emitCustomEvent: { path: { execution_id: string }; query: Record<string, never>; body: EmitCustomEventRequest; answer: OperationResult }
  /** Pause all threads of an execution at their next safe points */
  pauseExecution: { path: { execution_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Resume an execution */
  resumeExecution: { path: { execution_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Close an execution to further submissions */
  closeExecution: { path: { execution_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Set the priority of an open execution */
  prioritizeExecution: { path: { execution_id: string }; query: Record<string, never>; body: PrioritizeExecutionRequest; answer: OperationResult }
  /** Skip a step or an action that lies ahead */
  skipStep: { path: { execution_id: string }; query: Record<string, never>; body: SkipStepRequest; answer: OperationResult }
  /** Insert a step, or an action, before or after another */
  insertStep: { path: { execution_id: string }; query: Record<string, never>; body: InsertStepRequest; answer: OperationResult }
  /** Put one more thread into an execution */
  spawnThread: { path: { execution_id: string }; query: Record<string, never>; body: SpawnThreadRequest; answer: OperationResult }
  /** Stop an execution, in two calls */
  stopExecution: { path: { execution_id: string }; query: Record<string, never>; body: StopExecutionRequest; answer: OperationResult }
  /** Get the record of an execution: its submissions, actions, moves, values and incidents */
  getRecord: { path: { execution_id: string }; query: { kind?: 'submission' | 'incident' | 'action' | 'move' | 'value' | 'values_left_out' | 'rows_left_out' | 'device' | 'teachpoint' | 'readings' | 'decision' | 'window_missed' | 'condition' | 'wait' | 'plan' | 'forecast' | 'note' | 'file' | 'not_done' | 'ended' | 'gap'; after?: number; newest_bytes?: number }; body: undefined; answer: GetRecordResponse }
  /** Add a note to the record of an execution, open or ended */
  addNote: { path: { execution_id: string }; query: Record<string, never>; body: AddNoteRequest; answer: OperationResult }
  /** Get the values that the operations of an execution gave */
  listValues: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: ListValuesResponse }
  /** Get the readings of the devices that an execution used */
  listReadingsOfExecution: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: ListReadingsOfExecutionResponse }
  /** Get a value of more than 4 KiB, by its hash */
  getLongValue: { path: { execution_id: string; sha256: string }; query: Record<string, never>; body: undefined; answer: GetLongValueResponse }
  /** Get the workflow that an execution ran, as it was then, with its topology */
  getExecutionWorkflow: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: GetExecutionWorkflowResponse }
  /** Get what an execution was expected to do when */
  getForecast: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: GetForecastResponse }
  /** List the files of an execution: those that were attached, and those that its devices gave */
  listFiles: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: ListFilesResponse }
  /** Attach a file to an execution, open or ended */
  attachFile: { path: { execution_id: string }; query: { name?: string; labware?: string; note?: string; sha256?: string }; body: Blob; answer: AttachFileResponse; accepted: AttachFileResponse }
  /** Download a file of an execution, by its hash */
  fetchFile: { path: { execution_id: string; file_sha256: string }; query: Record<string, never>; body: undefined; answer: unknown }
  /** Get the report of an execution as one HTML file, which prints on A4 */
  getReport: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: unknown }
  /** Download the record of an execution as it lies on the disk */
  fetchRecord: { path: { execution_id: string }; query: Record<string, never>; body: undefined; answer: unknown }
  /** Pause a thread at its next safe point */
  pauseThread: { path: { thread_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Resume a thread that was paused */
  resumeThread: { path: { thread_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Stop a thread */
  stopThread: { path: { thread_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Decide about the error that holds a thread */
  recoverThread: { path: { thread_id: string }; query: Record<string, never>; body: RecoverThreadRequest; answer: OperationResult }
  /** Say that the labware a thread waits for stands at its start */
  labwarePlaced: { path: { thread_id: string }; query: Record<string, never>; body: LabwarePlacedRequest; answer: OperationResult }
  /** Say that the labware of a thread was taken away from its end */
  labwareRemoved: { path: { thread_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** List the steps that wait for a person */
  listManualSteps: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListManualStepsResponse }
  /** Answer a step: it is done, or labware stands elsewhere */
  confirmManualStep: { path: { step_id: string }; query: Record<string, never>; body: ConfirmManualStepRequest; answer: OperationResult }
  /** List incidents */
  listIncidents: { path: Record<string, never>; query: { limit?: number; execution_id?: string; acknowledged?: 'true' | 'false' }; body: undefined; answer: ListIncidentsResponse }
  /** Get one incident, with all its detail */
  getIncident: { path: { incident_id: string }; query: Record<string, never>; body: undefined; answer: Incident }
  /** Get the picture of a camera that is kept with an incident */
  getIncidentPicture: { path: { incident_id: string; camera: string }; query: Record<string, never>; body: undefined; answer: unknown }
  /** Mark an incident as seen */
  acknowledgeIncident: { path: { incident_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Give a device call that takes too long more time */
  extendLateCall: { path: { incident_id: string }; query: Record<string, never>; body: ExtendLateCallRequest; answer: OperationResult }
  /** Cut off a device call that takes too long: the device is halted, and the call has failed */
  abortLateCall: { path: { incident_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** Say that a device call that takes too long has done its work */
  completeLateCall: { path: { incident_id: string }; query: Record<string, never>; body: Nothing; answer: OperationResult }
  /** List labware, and where it is */
  listLabware: { path: Record<string, never>; query: Record<string, never>; body: undefined; answer: ListLabwareResponse }
  /** Say where a labware is */
  relocateLabware: { path: { labware_id: string }; query: Record<string, never>; body: RelocateLabwareRequest; answer: OperationResult }
  /** Get the inventory of a storage: which labware is in which slot, and since when */
  getInventory: { path: { device_id: string }; query: Record<string, never>; body: undefined; answer: GetInventoryResponse }
  /** Correct slots in the inventory of a storage */
  correctInventory: { path: { device_id: string }; query: Record<string, never>; body: CorrectInventoryRequest; answer: OperationResult }
  /** Get where one labware was, over runs: its moves and actions */
  getLabwareHistory: { path: { barcode: string }; query: { limit?: number; before?: string; since?: string; until?: string; mode?: 'LIVE' | 'DEVICE_SIM' | 'PURE_SIM' }; body: undefined; answer: GetLabwareHistoryResponse }
  /** The present state of the bench, and each change of it, as Server-Sent Events */
  streamState: { path: Record<string, never>; query: { run?: string }; body: undefined; answer: ReadableStream<Uint8Array> }
  /** Break a simulator of a DEVICE_SIM run */
  setFaultOfRun: { path: { execution_id: string; device_id: string }; query: Record<string, never>; body: SetSimulatedFaultRequest; answer: OperationResult }
  /** Mend a simulator of a DEVICE_SIM run */
  clearFaultsOfRun: { path: { execution_id: string; device_id: string }; query: Record<string, never>; body: undefined; answer: OperationResult }
}

/** Where each operation is. */
export const operations = {
  listDevices: ['GET', '/api/devices'],
  addDevice: ['POST', '/api/devices'],
  getDevice: ['GET', '/api/devices/{device_id}'],
  listCapabilities: ['GET', '/api/capabilities'],
  getDeviceCapabilities: ['GET', '/api/devices/{device_id}/capabilities'],
  getDeviceInitialized: ['GET', '/api/devices/{device_id}/initialized'],
  getDeviceTemperature: ['GET', '/api/devices/{device_id}/get_temperature'],
  getDeviceLidTemperature: ['GET', '/api/devices/{device_id}/get_lid_temperature'],
  getDeviceHumidity: ['GET', '/api/devices/{device_id}/humidity'],
  getDeviceCo2: ['GET', '/api/devices/{device_id}/co2'],
  getDeviceWeight: ['GET', '/api/devices/{device_id}/weight'],
  getDeviceBarcode: ['GET', '/api/devices/{device_id}/barcode'],
  getDevicePose: ['GET', '/api/devices/{device_id}/pose'],
  getDeviceReadings: ['GET', '/api/devices/{device_id}/readings'],
  getDeviceReading: ['GET', '/api/devices/{device_id}/readings/{reading}'],
  getDeviceWire: ['GET', '/api/devices/{device_id}/wire'],
  listDrivers: ['GET', '/api/drivers'],
  identifyInstrument: ['POST', '/api/drivers/{driver}/identify'],
  initializeDevice: ['POST', '/api/devices/{device_id}/initialize'],
  shakeDevice: ['POST', '/api/devices/{device_id}/shake'],
  centrifugeDevice: ['POST', '/api/devices/{device_id}/centrifuge'],
  sealDevice: ['POST', '/api/devices/{device_id}/seal'],
  peelDevice: ['POST', '/api/devices/{device_id}/peel'],
  openDevice: ['POST', '/api/devices/{device_id}/open'],
  closeDevice: ['POST', '/api/devices/{device_id}/close'],
  lockPlate: ['POST', '/api/devices/{device_id}/lock_plate'],
  unlockPlate: ['POST', '/api/devices/{device_id}/unlock_plate'],
  setTemperature: ['POST', '/api/devices/{device_id}/set_temperature'],
  setLidTemperature: ['POST', '/api/devices/{device_id}/set_lid_temperature'],
  runProfile: ['POST', '/api/devices/{device_id}/run_profile'],
  storeDevice: ['POST', '/api/devices/{device_id}/store'],
  retrieveDevice: ['POST', '/api/devices/{device_id}/retrieve'],
  scanDevice: ['POST', '/api/devices/{device_id}/scan'],
  weighDevice: ['POST', '/api/devices/{device_id}/weigh'],
  tareDevice: ['POST', '/api/devices/{device_id}/tare'],
  zeroDevice: ['POST', '/api/devices/{device_id}/zero'],
  jogDevice: ['POST', '/api/devices/{device_id}/jog'],
  freeDrive: ['POST', '/api/devices/{device_id}/free_drive'],
  goTo: ['POST', '/api/devices/{device_id}/go_to'],
  performOperation: ['POST', '/api/devices/{device_id}/perform'],
  acceptDescription: ['POST', '/api/devices/{device_id}/accept'],
  stopDevice: ['POST', '/api/devices/{device_id}/stop'],
  stopAll: ['POST', '/api/stop'],
  clearDeviceFault: ['POST', '/api/devices/{device_id}/clear_fault'],
  leaseDevice: ['PUT', '/api/devices/{device_id}/lock'],
  releaseDevice: ['DELETE', '/api/devices/{device_id}/lock'],
  getOperation: ['GET', '/api/operations/{operation_id}'],
  endOperation: ['DELETE', '/api/operations/{operation_id}'],
  renewOperation: ['POST', '/api/operations/{operation_id}/renew'],
  getDeviceNote: ['GET', '/api/devices/{device_id}/note'],
  putDeviceNote: ['PUT', '/api/devices/{device_id}/note'],
  deleteDeviceNote: ['DELETE', '/api/devices/{device_id}/note'],
  fetchDevicePhoto: ['GET', '/api/devices/{device_id}/photo'],
  putDevicePhoto: ['PUT', '/api/devices/{device_id}/photo'],
  deleteDevicePhoto: ['DELETE', '/api/devices/{device_id}/photo'],
  listOperations: ['GET', '/api/operations'],
  getUsage: ['GET', '/api/usage'],
  listPresets: ['GET', '/api/devices/{device_id}/presets'],
  putPreset: ['PUT', '/api/devices/{device_id}/presets/{operation}/{preset}'],
  deletePreset: ['DELETE', '/api/devices/{device_id}/presets/{operation}/{preset}'],
  listTeachpoints: ['GET', '/api/teachpoints'],
  createTeachpoint: ['POST', '/api/teachpoints'],
  exportTeachpoints: ['GET', '/api/teachpoints/export/{device_id}'],
  getTeachpoint: ['GET', '/api/teachpoints/{device_id}/{name}'],
  updateTeachpoint: ['PUT', '/api/teachpoints/{device_id}/{name}'],
  deleteTeachpoint: ['DELETE', '/api/teachpoints/{device_id}/{name}'],
  importTeachpoints: ['POST', '/api/teachpoints/bulk'],
  listTeachpointVersions: ['GET', '/api/teachpoints/{device_id}/{name}/history'],
  restoreTeachpoint: ['POST', '/api/teachpoints/{device_id}/{name}/restore'],
  getEvents: ['GET', '/events'],
  streamEvents: ['GET', '/events/stream'],
  setSimulatedFault: ['POST', '/api/sim/devices/{device_id}/faults'],
  clearSimulatedFaults: ['DELETE', '/api/sim/devices/{device_id}/faults'],
  emitSimulatedEvent: ['POST', '/api/sim/events'],
  setSimulatedLoad: ['POST', '/api/sim/load'],
  whoAmI: ['GET', '/api/system/whoami'],
  listKeys: ['GET', '/api/keys'],
  createKey: ['POST', '/api/keys'],
  rotateKey: ['POST', '/api/keys/{key_id}/rotate'],
  revokeKey: ['DELETE', '/api/keys/{key_id}'],
  requestKey: ['POST', '/api/keys/requests'],
  listKeyRequests: ['GET', '/api/keys/requests'],
  fetchRequestedKey: ['GET', '/api/keys/requests/{request_id}'],
  denyKeyRequest: ['DELETE', '/api/keys/requests/{request_id}'],
  approveKeyRequest: ['POST', '/api/keys/requests/{request_id}/approve'],
  requestConfirmation: ['POST', '/api/confirmations'],
  listConfirmations: ['GET', '/api/confirmations'],
  checkConfirmation: ['POST', '/api/confirmations/{confirmation_id}/check'],
  denyConfirmation: ['DELETE', '/api/confirmations/{confirmation_id}'],
  getHealth: ['GET', '/health'],
  getSystem: ['GET', '/api/system'],
  getTime: ['GET', '/api/system/time'],
  getSystemChanges: ['GET', '/api/system/changes'],
  listPorts: ['GET', '/api/system/ports'],
  getAudit: ['GET', '/api/system/audit'],
  examineSystem: ['GET', '/api/system/doctor'],
  getConfig: ['GET', '/api/system/config'],
  fetchBundle: ['GET', '/api/system/bundle'],
  signTrial: ['POST', '/api/system/trials/signature'],
  listBackups: ['GET', '/api/system/backups'],
  createBackup: ['POST', '/api/system/backups'],
  fetchBackup: ['GET', '/api/system/backups/{backup_name}'],
  deleteBackup: ['DELETE', '/api/system/backups/{backup_name}'],
  listNotifyReceivers: ['GET', '/api/system/notify'],
  testNotify: ['POST', '/api/system/notify/test'],
  listCameras: ['GET', '/api/cameras'],
  getPicture: ['GET', '/api/cameras/{camera}/picture'],
  listPlugins: ['GET', '/api/plugins'],
  restartPlugin: ['POST', '/api/plugins/{plugin_name}/restart'],
  getLab: ['GET', '/api/lab'],
  drawEpoch: ['POST', '/api/lab/epoch'],
  getMqtt: ['GET', '/api/mqtt'],
  getMetrics: ['GET', '/metrics'],
  listTopologies: ['GET', '/api/topologies'],
  getTopology: ['GET', '/api/topology'],
  loadTopology: ['POST', '/api/topology/load'],
  unloadTopology: ['POST', '/api/topology/unload'],
  reloadSystem: ['POST', '/api/system/reload'],
  listWorkflows: ['GET', '/api/workflows'],
  getWorkflow: ['GET', '/api/workflows/{workflow_name}'],
  putWorkflow: ['PUT', '/api/workflows/{workflow_name}'],
  deleteWorkflow: ['DELETE', '/api/workflows/{workflow_name}'],
  checkSamples: ['POST', '/api/workflows/{workflow_name}/samples'],
  getSampleSheet: ['GET', '/api/workflows/{workflow_name}/samples'],
  listWorkflowVersions: ['GET', '/api/workflows/{workflow_name}/versions'],
  getWorkflowVersion: ['GET', '/api/workflows/{workflow_name}/versions/{version}'],
  compareWorkflowVersions: ['GET', '/api/workflows/{workflow_name}/diff'],
  compareWorkflowDocument: ['POST', '/api/workflows/{workflow_name}/diff'],
  listTopologyVersions: ['GET', '/api/topologies/{topology_name}/versions'],
  getTopologyVersion: ['GET', '/api/topologies/{topology_name}/versions/{version}'],
  compareTopologyVersions: ['GET', '/api/topologies/{topology_name}/diff'],
  compareTopologyDocument: ['POST', '/api/topologies/{topology_name}/diff'],
  restoreWorkflowVersion: ['POST', '/api/workflows/{workflow_name}/versions/{version}/restore'],
  restoreTopologyVersion: ['POST', '/api/topologies/{topology_name}/versions/{version}/restore'],
  listSubmissions: ['GET', '/api/submissions'],
  submit: ['POST', '/api/submissions'],
  getSubmission: ['GET', '/api/submissions/{submission_id}'],
  withdrawSubmission: ['DELETE', '/api/submissions/{submission_id}'],
  getQueue: ['GET', '/api/queue'],
  addToQueue: ['POST', '/api/queue'],
  pauseQueue: ['POST', '/api/queue/pause'],
  resumeQueue: ['POST', '/api/queue/resume'],
  clearQueue: ['POST', '/api/queue/clear'],
  getQueueEntry: ['GET', '/api/queue/{entry_id}'],
  removeFromQueue: ['DELETE', '/api/queue/{entry_id}'],
  moveInQueue: ['POST', '/api/queue/{entry_id}/move'],
  startQueueEntry: ['POST', '/api/queue/{entry_id}/start'],
  simulate: ['POST', '/api/simulations'],
  listExecutions: ['GET', '/api/executions'],
  getExecution: ['GET', '/api/executions/{execution_id}'],
  deleteExecution: ['DELETE', '/api/executions/{execution_id}'],
  listThreads: ['GET', '/api/executions/{execution_id}/threads'],
  getTimeline: ['GET', '/api/executions/{execution_id}/timeline'],
  listBlockers: ['GET', '/api/executions/{execution_id}/blockers'],
  explainExecution: ['GET', '/api/executions/{execution_id}/why'],
  emitCustomEvent: ['POST', '/api/executions/{execution_id}/emit'],
  pauseExecution: ['POST', '/api/executions/{execution_id}/pause'],
  resumeExecution: ['POST', '/api/executions/{execution_id}/resume'],
  closeExecution: ['POST', '/api/executions/{execution_id}/close'],
  prioritizeExecution: ['POST', '/api/executions/{execution_id}/priority'],
  skipStep: ['POST', '/api/executions/{execution_id}/skip'],
  insertStep: ['POST', '/api/executions/{execution_id}/insert'],
  spawnThread: ['POST', '/api/executions/{execution_id}/spawn'],
  stopExecution: ['POST', '/api/executions/{execution_id}/stop'],
  getRecord: ['GET', '/api/executions/{execution_id}/record'],
  addNote: ['POST', '/api/executions/{execution_id}/notes'],
  listValues: ['GET', '/api/executions/{execution_id}/values'],
  listReadingsOfExecution: ['GET', '/api/executions/{execution_id}/readings'],
  getLongValue: ['GET', '/api/executions/{execution_id}/values/{sha256}'],
  getExecutionWorkflow: ['GET', '/api/executions/{execution_id}/workflow'],
  getForecast: ['GET', '/api/executions/{execution_id}/forecast'],
  listFiles: ['GET', '/api/executions/{execution_id}/files'],
  attachFile: ['POST', '/api/executions/{execution_id}/files'],
  fetchFile: ['GET', '/api/executions/{execution_id}/files/{file_sha256}'],
  getReport: ['GET', '/api/executions/{execution_id}/report'],
  fetchRecord: ['GET', '/api/executions/{execution_id}/record.jsonl'],
  pauseThread: ['POST', '/api/threads/{thread_id}/pause'],
  resumeThread: ['POST', '/api/threads/{thread_id}/resume'],
  stopThread: ['POST', '/api/threads/{thread_id}/stop'],
  recoverThread: ['POST', '/api/threads/{thread_id}/recover'],
  labwarePlaced: ['POST', '/api/threads/{thread_id}/placed'],
  labwareRemoved: ['POST', '/api/threads/{thread_id}/removed'],
  listManualSteps: ['GET', '/api/operator/steps'],
  confirmManualStep: ['POST', '/api/operator/steps/{step_id}/confirm'],
  listIncidents: ['GET', '/api/incidents'],
  getIncident: ['GET', '/api/incidents/{incident_id}'],
  getIncidentPicture: ['GET', '/api/incidents/{incident_id}/pictures/{camera}'],
  acknowledgeIncident: ['POST', '/api/incidents/{incident_id}/acknowledge'],
  extendLateCall: ['POST', '/api/incidents/{incident_id}/extend'],
  abortLateCall: ['POST', '/api/incidents/{incident_id}/abort'],
  completeLateCall: ['POST', '/api/incidents/{incident_id}/complete'],
  listLabware: ['GET', '/api/labware'],
  relocateLabware: ['PUT', '/api/labware/{labware_id}/location'],
  getInventory: ['GET', '/api/devices/{device_id}/inventory'],
  correctInventory: ['PUT', '/api/devices/{device_id}/inventory'],
  getLabwareHistory: ['GET', '/api/labware/{barcode}/history'],
  streamState: ['GET', '/api/live'],
  setFaultOfRun: ['POST', '/api/sim/executions/{execution_id}/devices/{device_id}/faults'],
  clearFaultsOfRun: ['DELETE', '/api/sim/executions/{execution_id}/devices/{device_id}/faults'],
} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>
