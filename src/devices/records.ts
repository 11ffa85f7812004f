// The records that the registry shows of its devices: a schema each, with a type of the same name.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { Name } from '../kit/name.ts'
import { questions } from './reading_table.ts'

const Nullable = { text: v.nullable(v.string()), number: v.nullable(v.number()) }
const UnixSeconds = described(v.number(), 'Unix time', 's')

/** A device in the list. */
export const DeviceSummary = v.strictObject({
  device_id: v.string(),
  type: described(
    v.string(),
    '`shaker`, `sealer`, `peeler`, `centrifuge`, `storage`, `scanner`, `balance`, `thermocycler`, `temperature_controller`, `transporter`, or what the configuration of a bridge names',
  ),
  name: v.string(),
  is_initialized: v.boolean(),
})
export type DeviceSummary = v.InferOutput<typeof DeviceSummary>

/** The result of an operation. */
export const OperationResult = v.strictObject({ success: v.boolean(), message: v.string() })
export type OperationResult = v.InferOutput<typeof OperationResult>

const Data = described(
  v.optional(v.unknown()),
  'The values that came of it, where there are any: of the newest operation of each device, until a restart',
)

/** The result of an operation that may have values. */
export const PerformResult = v.strictObject({ ...OperationResult.entries, data: Data })
export type PerformResult = v.InferOutput<typeof PerformResult>

/** The request to perform an operation by its name. */
export const PerformWish = v.strictObject({
  operation: described(v.string(), 'The name of the operation, as the capabilities list it'),
  params: v.optional(described(v.record(v.string(), v.unknown()), 'Its parameters'), {}),
})

const Notice = described(Nullable.text, 'The outcome of a request to end the operation early, until it has ended; null when there was none')

/** An operation, kept from its start until a day after its end. If the service did not see the end, `result` and `ended` stay null. */
export const OperationRecord = v.strictObject({
  operation_id: v.string(),
  device_id: v.string(),
  operation: v.string(),
  params: v.record(v.string(), v.unknown()),
  status: v.picklist(['running', 'ended']),
  result: v.nullable(OperationResult),
  detail: described(Nullable.text, 'Why it failed; null while it runs and when it did not'),
  reason: v.optional(described(Nullable.text, 'The `X-Reason` of an operation that failed; null otherwise'), null),
  ended_early: v.optional(described(v.boolean(), 'Whether somebody ended it before its time, and it ended well'), false),
  notice: v.optional(Notice, null),
  started: UnixSeconds,
  ended: v.nullable(UnixSeconds),
  execution_id: v.optional(described(Nullable.text, 'The execution that it belonged to; null for an operation by hand'), null),
  by: v.optional(described(Nullable.text, 'The id of the key that asked for it; null for an operation of an execution'), null),
  operator: v.optional(described(v.string(), 'The name that the person gave as X-Operator; absent without one. Nobody has checked it')),
  data: Data,
})
export type OperationRecord = v.InferOutput<typeof OperationRecord>

/** A latched fault: the first one until it is cleared. */
export const Fault = v.strictObject({
  command: Nullable.text,
  outcome: v.picklist(['failed', 'unknown']),
  error: v.string(),
  error_type: v.string(),
  may_still_be_moving: v.boolean(),
  since: UnixSeconds,
})
export type Fault = v.InferOutput<typeof Fault>

export const StopRequest = v.strictObject({
  by: described(
    Nullable.text,
    'The name of the key, with the name that the person gave (`tablet, said to be Ann`), or `stop input`; null where nobody knows',
  ),
  at: UnixSeconds,
})
export type StopRequest = v.InferOutput<typeof StopRequest>

/** A latched stop: the first and the last one since the device was initialized. */
export const Stopped = v.strictObject({
  ...StopRequest.entries,
  again: v.optional(described(v.nullable(StopRequest), 'The last stop of a device that was stopped already; null without one'), null),
})
export type Stopped = v.InferOutput<typeof Stopped>

export const Identity = v.strictObject({ model: Nullable.text, serial_number: Nullable.text, firmware_version: Nullable.text })

/** The request for a lease, which reserves the device for one key for a while. */
export const LeaseWish = v.strictObject({
  owner: described(Name, 'The name that others see; the key of this request is the one that may use the device'),
  note: v.optional(described(v.pipe(v.string(), v.maxLength(200, 'has more than 200 characters')), 'The purpose')),
  ttl_s: described(
    v.pipe(v.number(), v.minValue(1), v.maxValue(86_400)),
    'The lease ends by itself after so long, unless it is renewed',
    's',
  ),
})
export type LeaseWish = v.InferOutput<typeof LeaseWish>

/** The holder of a device. */
export const Lock = v.strictObject({
  owner: described(v.string(), 'The owner that a lease names, or `execution` and the id of the run that holds the device'),
  note: Nullable.text,
  expires_at: v.nullable(described(UnixSeconds, 'Unix time; null while it ends by itself')),
})
export type Lock = v.InferOutput<typeof Lock>

export const deviceStates = ['not_initialized', 'ready', 'busy', 'stopped', 'faulted', 'disconnected', 'external'] as const
export type DeviceState = (typeof deviceStates)[number]

/** A heater that is on. */
export const Heating = v.strictObject({
  target: described(v.nullable(v.number()), 'The set point; null where it is not known', '°C'),
  is_lowest: described(
    v.boolean(),
    'Whether the heater was to be switched off and the instrument cannot do that: the target is its lowest set point then',
  ),
})
export type Heating = v.InferOutput<typeof Heating>

export const DeviceInfo = v.strictObject({
  ...DeviceSummary.entries,
  driver: v.string(),
  simulated: v.boolean(),
  state: v.picklist(deviceStates),
  operation: v.nullable(
    v.strictObject({
      operation_id: v.string(),
      name: v.string(),
      started: UnixSeconds,
      ending: described(v.boolean(), 'Whether somebody has asked to end it early, and it is doing so'),
      notice: Notice,
      progress: described(
        v.nullable(v.strictObject({ fraction: v.nullable(described(v.number(), 'From 0 to 1')), message: Nullable.text })),
        'How far the device says that it is; null where it does not tell',
      ),
      seconds_left: described(v.number(), 'As far as can be said', 's'),
    }),
  ),
  last_operation: v.nullable(OperationRecord),
  fault: v.nullable(Fault),
  stopped: described(v.nullable(Stopped), 'The callers who stopped the device first and last, and when; null unless a stop is latched'),
  heating: described(v.nullable(Heating), 'The heat that was switched on here and not off since; null without any'),
  parts: described(
    v.strictObject({
      plate_lock: v.optional(v.picklist(['locked', 'unlocked'])),
      door: v.optional(described(v.picklist(['open', 'closed']), 'The door or the lid')),
    }),
    'As the last operation here left them; a member is absent while the service does not know: before that, and after an initialization or a lost connection',
  ),
  heard_at: described(
    v.nullable(UnixSeconds),
    'When the instrument last answered, in whole seconds; null before it has, for an instrument that cannot be asked, and where no words go over a wire',
  ),
  may_still_be_on: described(
    v.boolean(),
    'Whether it may still move or be hot, though nothing runs: it was left on, and nobody has seen it off since. See that it stands and is cold, or use its red button',
  ),
  unfit: described(v.nullable(v.string()), 'Why no LIVE run may use it, in words that follow its id; null if one may'),
  identity: v.nullable(Identity),
  lock: described(v.nullable(Lock), 'null when anybody may use it'),
})
export type DeviceInfo = v.InferOutput<typeof DeviceInfo>

export const OwnReading = v.strictObject({
  device_id: v.string(),
  reading: v.string(),
  value: v.number(),
  target: described(Nullable.number, 'null when none is set'),
  unit: v.string(),
})

/** The values that an instrument gave at one moment. */
export const Reading = v.strictObject({
  at: UnixSeconds,
  temperature: described(v.nullable(v.number()), 'null where the device tells none', '°C'),
  target: questions.get_temperature.answer.entries.target,
  others: v.optional(
    described(
      v.record(v.string(), v.omit(OwnReading, ['device_id', 'reading'])),
      'By name, the other values that the device measures, and at most 8 readings that the program behind it has described; absent where there are none',
    ),
  ),
})
export type Reading = v.InferOutput<typeof Reading>

export const Initialized = v.strictObject({ device_id: v.string(), is_initialized: v.boolean() })

const Limit = v.strictObject({ min: v.number(), max: v.number(), unit: v.string(), step: v.optional(v.number()) })

export const Capabilities = v.strictObject({
  device_id: v.string(),
  type: DeviceSummary.entries.type,
  driver: v.string(),
  model: v.string(),
  simulated: v.boolean(),
  source: described(v.picklist(['model', 'instrument']), 'Where the limits are from'),
  operations: v.array(
    v.strictObject({
      name: v.string(),
      method: v.picklist(['GET', 'POST']),
      summary: v.optional(described(v.string(), 'The purpose of the operation, where a program behind the device tells it')),
      params: described(v.record(v.string(), v.unknown()), 'JSON Schema of the body'),
      typical_seconds: v.number(),
      max_seconds: v.number(),
      can_end_early: described(v.boolean(), 'Whether DELETE of the running operation ends it in an orderly way'),
      renewed_within_ms: v.optional(
        described(
          v.number(),
          'Of an operation that lasts only while it is held: it ends unless `POST /api/operations/{operation_id}/renew` comes that often',
          'ms',
        ),
      ),
      labware_sites: v.optional(described(v.number(), 'How many labware it takes at once, where a program behind the device tells it')),
      returns: v.optional(
        described(v.record(v.string(), v.string()), 'The units of the values that it gives, where a program behind the device tells them'),
      ),
    }),
  ),
  readings: v.optional(
    described(
      v.array(v.strictObject({ name: v.string(), unit: v.string() })),
      'The readings of `GET /api/devices/{device_id}/readings/{reading}`; left out where no program has described any',
    ),
  ),
  limits: v.record(v.string(), Limit),
  features: v.record(v.string(), v.boolean()),
  safety: v.string(),
})
export type Capabilities = v.InferOutput<typeof Capabilities>

/** The result of stopping, device by device. */
export const StopAllResult = v.strictObject({
  ...OperationResult.entries,
  devices: v.array(v.strictObject({ device_id: v.string(), ...OperationResult.entries })),
})
export type StopAllResult = v.InferOutput<typeof StopAllResult>
