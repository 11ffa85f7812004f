// The routes of incidents, the failures that a person has to know.

import * as v from 'valibot'
import type { Pictures } from '../bench/pictures.ts'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import type { Hub } from '../events/hub.ts'
import { Incident } from '../events/incidents.ts'
import { authorText } from '../kit/author.ts'
import { described } from '../kit/described.ts'
import type { OperatorVerdict } from '../workflow/threads/action/late_calls.ts'
import { authorOf } from './author.ts'
import { pictureAnswer, pictureSuccess } from './cameras.ts'
import { json, type Route, routesOf } from './contract.ts'
import { Limit } from './numeral.ts'

type Rooms = { hub: Hub; runs: Runs; pictures: Pick<Pictures, 'kept'> }

const route = routesOf<Rooms>('runs')

const path = '/api/incidents/:incident_id'

export const ShownIncident = v.strictObject({
  ...Incident.entries,
  pictures: described(v.array(v.string()), 'The cameras whose picture is kept with it'),
})

const IncidentParameters = v.object({
  limit: Limit,
  execution_id: v.optional(described(v.string(), 'Only incidents of this execution')),
  acknowledged: v.optional(
    described(v.picklist(['true', 'false']), 'Only incidents that somebody has acknowledged (true), or nobody (false)'),
  ),
})

export const incidentRoutes: Route<Rooms>[] = [
  route('GET', '/api/incidents', {
    operation_id: 'listIncidents',
    summary: 'List incidents',
    description: 'The newest thousand are kept; older ones remain as events.',
    scope: 'read',
    query: IncidentParameters,
    success: { description: 'The newest first', schema: v.strictObject({ incidents: v.array(ShownIncident) }) },
    errors: [400],
    handle({ rooms, query }) {
      const { limit, execution_id, acknowledged } = query()
      const incidents = rooms.hub.incidents.list().filter((incident) => {
        if (execution_id !== undefined && incident.execution_id !== execution_id) return false
        return acknowledged === undefined || String(incident.acknowledged !== null) === acknowledged
      })
      return json({ incidents: incidents.slice(0, limit).map((incident) => shown(incident, rooms)) })
    },
  }),
  route('GET', path, {
    operation_id: 'getIncident',
    summary: 'Get one incident, with all its detail',
    scope: 'read',
    success: { description: 'The incident', schema: ShownIncident },
    errors: [404],
    handle: ({ rooms, param }) => json(shown(rooms.hub.incidents.get(param('incident_id')), rooms)),
  }),
  route('GET', `${path}/pictures/:camera`, {
    operation_id: 'getIncidentPicture',
    summary: 'Get the picture of a camera that is kept with an incident',
    scope: 'read',
    success: pictureSuccess,
    errors: [404],
    async handle({ rooms, param }) {
      const { incident_id } = rooms.hub.incidents.get(param('incident_id'))
      return pictureAnswer(await rooms.pictures.kept.read(incident_id, param('camera')))
    },
  }),
  route('POST', `${path}/acknowledge`, {
    operation_id: 'acknowledgeIncident',
    summary: 'Mark an incident as seen',
    description:
      'Acknowledging changes nothing else, except that the incident of safe mode ends safe mode. The acknowledgement is on the card when this answers.',
    scope: 'operate',
    body: v.strictObject({}),
    body_may_be_empty: true,
    success: { description: 'Marked', schema: OperationResult },
    errors: [404, 503],
    async handle({ rooms, c, param, body }) {
      body()
      const author = authorOf(c)
      const incident = rooms.hub.incidents.get(param('incident_id'))
      const { acknowledged } = await rooms.hub.incidents.acknowledge(incident.incident_id, author)
      const { category } = incident
      if (!incident.acknowledged)
        await rooms.runs.addAbout(incident, { ...author, decision: 'acknowledge', text: `Acknowledged the incident ${category}` })
      return json({ success: true, message: `seen by ${authorText(acknowledged?.by, acknowledged?.operator)}` })
    },
  }),
  lateCall({
    name: 'extend',
    summary: 'Give a device call that takes too long more time',
    body: v.strictObject({
      seconds: described(v.pipe(v.number(), v.finite(), v.gtValue(0), v.maxValue(1e6)), 'From now on', 's'),
    }),
    verdict: ({ seconds }) => ({ extend: seconds }),
    said: (call, { seconds }) => `${call} has ${seconds} s more`,
  }),
  lateCall({
    name: 'abort',
    summary: 'Cut off a device call that takes too long: the device is halted, and the call has failed',
    body: v.strictObject({}),
    verdict: () => 'abort',
    said: (call) => `${call} is cut off; initialize the device, then recover the thread`,
  }),
  lateCall({
    name: 'complete',
    summary: 'Say that a device call that takes too long has done its work',
    body: v.strictObject({}),
    verdict: () => 'complete',
    said: (call) => `${call} counts as done, and is cut off; initialize the device before it is used again`,
  }),
]

function shown(incident: Incident, { pictures }: Rooms): v.InferOutput<typeof ShownIncident> {
  return { ...incident, pictures: pictures.kept.of(incident.incident_id) }
}

type LateCall<Body> = {
  name: 'extend' | 'abort' | 'complete'
  summary: string
  body: v.GenericSchema<unknown, Body>
  verdict(body: Body): OperatorVerdict
  /** Words the outcome for the call, which is named. */
  said(call: string, body: Body): string
}

/** Makes the route of a decision about the late call of a RECOVERABLE_TIMEOUT. */
function lateCall<Body>({ name, summary, body, verdict, said }: LateCall<Body>): Route<Rooms> {
  return route<Body>('POST', `${path}/${name}`, {
    operation_id: `${name}LateCall`,
    summary,
    description:
      'For a RECOVERABLE_TIMEOUT. A conflict when somebody has decided already, or the call has ended. What is cut off in a LIVE run has been stopped: ' +
      'the device takes nothing more, and does not let its labware be fetched, before it is initialized.',
    scope: 'operate',
    body,
    body_may_be_empty: name !== 'extend',
    success: { description: 'The decision about the call was recorded.', schema: OperationResult },
    errors: name === 'extend' ? [400, 404, 409] : [404, 409],
    handle({ rooms, c, param, body }) {
      const { incident_id } = rooms.hub.incidents.get(param('incident_id'))
      const its = body()
      const author = authorOf(c)
      const message = said(rooms.runs.runtime.decideLateCall(incident_id, verdict(its), author), its)
      rooms.hub.incidents.solve((incident) => incident.incident_id === incident_id, { ...author, text: message })
      return json({ success: true, message })
    },
  })
}
