// The descriptions of the API's tags, parameters, statuses and reasons.

import * as v from 'valibot'
import type { ErrorCode } from '../errors.ts'
import { Id, Name } from '../kit/name.ts'
import type { Route } from './contract.ts'

export const about = [
  'Instruments, teachpoints, workflows and events of one bench. Every error answers `{"detail": "…"}`, and a word for programs in the header',
  '`X-Reason`. Speeds are in rpm, times in seconds, temperatures in °C, lengths in mm, angles in degrees. Times of day are Unix',
  'seconds. The capabilities of a device say which values it takes. The stop of this service is not a safety function.',
].join(' ')

export const tags: Record<Route['tag'], string> = {
  devices: 'The instruments on the bench, and what they can do.',
  teachpoints: 'Named places of a robot. What is answered is on the card.',
  workflows: 'Workflows, and topologies: the positions where labware can be.',
  runs: 'Runs and their outcomes: submissions, executions, threads, manual steps, incidents.',
  events: 'Events: polled, or streamed as they happen.',
  simulation: 'Only for simulated instruments: faults to order, and events as the engine would fire them.',
  keys: 'Keys: who may use the service.',
  system: 'The service itself.',
}

/** The parameters of paths. */
export const parameters: Record<string, { description: string; schema: v.GenericSchema }> = {
  device_id: { description: 'Id of the device, as in the list of devices', schema: Id },
  name: { description: 'Name of the teachpoint, percent-encoded as UTF-8 where it has spaces, slashes or the like', schema: Name },
  reading: { description: 'Name of the reading, as in the capabilities of the device', schema: v.string() },
  operation: { description: 'Name of the operation, as in the capabilities of the device', schema: v.string() },
  preset: { description: 'Name of the preset, percent-encoded as UTF-8 where it has spaces, slashes or the like', schema: Name },
  operation_id: { description: 'Id of the operation, from the header `Operation-Id`', schema: v.string() },
  workflow_name: { description: 'Name of the workflow', schema: Id },
  topology_name: { description: 'Name of the topology', schema: Id },
  version: { description: 'Number of the version, as in the list of versions', schema: v.string() },
  plugin_name: { description: 'Name of the plug-in in the configuration', schema: Id },
  confirmation_id: { description: 'Id of the confirmation', schema: v.string() },
  submission_id: { description: 'Id of the submission', schema: v.string() },
  entry_id: { description: 'Id of an entry of the queue, which is that of its submission', schema: v.string() },
  execution_id: { description: 'Id of the execution', schema: v.string() },
  sha256: { description: 'Hash of the value, as in the list of values', schema: v.string() },
  file_sha256: { description: 'Hash of the file, as in the list of files', schema: v.string() },
  thread_id: { description: 'Id of the thread', schema: v.string() },
  step_id: { description: 'Id of the manual step, from its OPERATOR.INSTRUCTION', schema: v.string() },
  incident_id: { description: 'Id of the incident', schema: v.string() },
  labware_id: { description: 'Id of the labware', schema: v.string() },
  barcode: { description: 'Barcode of the labware, or its id', schema: v.string() },
  camera: { description: 'Name of the camera, as in `GET /api/cameras`', schema: v.string() },
  driver: { description: 'Name of the driver, as in `GET /api/drivers`', schema: v.string() },
  backup_name: { description: 'Name of the backup, as in the list of backups', schema: v.string() },
  request_id: { description: 'Id of the request for a key, as it was answered', schema: v.string() },
  key_id: { description: 'Id of the key, as in the list of keys', schema: v.string() },
  journey_id: { description: 'Id of the journey, the beginning of it, or the labware of the journey', schema: v.string() },
  task_id: { description: 'Id of the task, as in the list of tasks', schema: v.string() },
  labware: { description: 'The barcode of the labware', schema: v.string() },
}

/** Keyed by status. */
export const meanings: Record<number, string> = {
  400: 'The request or one of its values is not right; `detail` names the member and what it must be',
  401: 'The key is missing or invalid',
  403: 'The key is valid, but its scope is too small',
  404: 'The device, the teachpoint or the thing asked for does not exist; `detail` names what is missing',
  405: 'The path does not take this method; `Allow` tells which it takes',
  408: 'The request did not arrive in time',
  409: 'Right, but not now: the device is busy, not initialized, stopped or faulted, or the thing is there already',
  413: 'The body is too large',
  415: 'The body is not sent as `application/json`',
  421: 'The request is for another host',
  423: 'Somebody else has the device: a key that has leased it, or an execution that runs; `X-Override` tells how an admin passes',
  429: 'Too many wrong keys from this address; never with a valid key',
  431: 'The headers are too large',
  500: 'The instrument or the service failed; `detail` tells which',
  503: 'The service starts, stops, is overloaded, or cannot write to its disk; ask again after `Retry-After`',
}

/** The descriptions of the values of `X-Reason`. */
export const reasons: Record<ErrorCode | 'starting', string> = {
  invalid: 'A value is missing, unknown or out of range, or the device cannot do this',
  unauthorized: 'No key, or none that is valid',
  forbidden: 'The scope of the key is too small',
  not_found: 'There is no such thing',
  method_not_allowed: 'The path is there, but not for this method',
  request_timeout: 'The request came too slowly',
  busy: 'The device runs an operation; `Retry-After` tells for how long',
  interlock: 'The instrument would refuse or suffer: a plate unlocked, a door open',
  not_initialized: 'The device must be initialized first',
  stopped: 'The device was stopped; initialize it when all is well',
  faulted: 'A fault is latched; look at the device, then initialize it',
  exists: 'It is there already',
  in_progress: 'The request of this Idempotency-Key is still running',
  conflict: 'It cannot be done as things stand; the detail says what can',
  too_large: 'The body is larger than is taken here',
  media_type: 'A body must be `application/json`',
  misdirected: 'The Host header names somebody else',
  locked: 'Somebody else has leased the device, or an execution holds it',
  safe_mode: 'The service broke off several times; acknowledge its incident when all is well',
  too_many_wrong_keys: 'This address has tried too many wrong keys',
  headers_too_large: 'The headers or trailers are more than 100, or larger than 16 KiB',
  disconnected: 'The port of the instrument is gone',
  no_reply: 'The instrument did not answer',
  device_failed: 'The instrument answered that it failed, or something that cannot be read',
  stop_not_sent: 'The stop could not be written: use the red button of the instrument',
  internal: 'An error of the service itself; its log tells more',
  config: 'The configuration does not allow it',
  in_use: 'The folder belongs to somebody else',
  storage: 'It could not be written to the disk',
  starting: 'The service is starting',
  stopping: 'The service is stopping',
  overloaded: 'Too many wait already, or no more requests with an Idempotency-Key can be remembered',
}
