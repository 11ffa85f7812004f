// The table of readings: the questions to an instrument, from which routes, driver types, capabilities, metrics and the OpenAPI text are made.

import * as v from 'valibot'
import { described } from '../kit/described.ts'

/** The point at which a transporter grips: mm and degrees, in its own frame. The `coords` of a cartesian teachpoint. */
const poseMembers = ['x', 'y', 'z', 'yaw', 'pitch', 'roll'] as const
export type Pose = Record<(typeof poseMembers)[number], number>

/**
 * The questions to an instrument: GET, answered at once, also while an operation runs. `shown` makes the answer of the API, without the
 * `device_id`, from the driver's answer. A number with a unit in `answer` makes the question a measurement: see `measurements`.
 */
export const questions = {
  get_temperature: {
    summary: 'Get the temperature in °C, and the target, null when none is set',
    success: 'The temperature now',
    answer: v.strictObject({
      device_id: v.string(),
      temperature: v.pipe(v.number(), v.metadata({ unit: '°C' })),
      target: described(v.nullable(v.number()), 'null when none is set', '°C'),
    }),
    shown: (read: { temperature: number; target: number | null }) => read,
  },
  get_lid_temperature: {
    summary: 'Get the temperature of the lid in °C, and the target, null when none is set',
    success: 'The temperature now',
    answer: v.strictObject({
      device_id: v.string(),
      lid_temperature: v.pipe(v.number(), v.metadata({ unit: '°C' })),
      target: described(v.nullable(v.number()), 'null when none is set', '°C'),
    }),
    shown: (read: { lid_temperature: number; target: number | null }) => read,
  },
  humidity: {
    summary: 'Get the relative humidity in %, and the target, null when none is set',
    success: 'The humidity now',
    answer: v.strictObject({
      device_id: v.string(),
      humidity: v.pipe(v.number(), v.metadata({ unit: '%' })),
      target: described(v.nullable(v.number()), 'null when none is set', '%'),
    }),
    shown: (read: { humidity: number; target: number | null }) => read,
  },
  co2: {
    summary: 'Get the concentration of CO2 in %, and the target, null when none is set',
    success: 'The concentration now',
    answer: v.strictObject({
      device_id: v.string(),
      co2: v.pipe(v.number(), v.metadata({ unit: '%' })),
      target: described(v.nullable(v.number()), 'null when none is set', '%'),
    }),
    shown: (read: { co2: number; target: number | null }) => read,
  },
  weight: {
    summary: 'Get the weight in g that a balance shows now, also while it is not stable',
    success: 'The weight now',
    answer: v.strictObject({ device_id: v.string(), weight: v.pipe(v.number(), v.metadata({ unit: 'g' })), stable: v.boolean() }),
    shown: (read: { weight: number; stable: boolean }) => read,
  },
  barcode: {
    summary: 'Get the barcode that a scanner has read last',
    success: 'The newest code; null before the first',
    answer: v.strictObject({ device_id: v.string(), barcode: v.nullable(v.string()) }),
    shown: (read: { barcode: string | null }) => read,
  },
  pose: {
    summary: 'Get the position of an arm as the coordinates of a teachpoint',
    description:
      'Of a transporter that can tell it: `capabilities` lists `pose` then. Refused while it moves, unless a person jogs it or leads it by hand.',
    success: 'Where it is',
    answer: v.strictObject({
      device_id: v.string(),
      coord_type: v.literal('cartesian'),
      coords: described(v.strictObject(v.entriesFromList(poseMembers, v.number())), 'mm and degrees, as in a teachpoint'),
    }),
    shown: (coords: Pose) => ({ coord_type: 'cartesian', coords }),
  },
} as const satisfies Record<string, QuestionShape>

/** All that is read by GET, in the order in which it is shown. */
export const readings = { initialized: { summary: 'Check whether the device is initialized' }, ...questions }

export type QuestionShape = {
  summary: string
  description?: string
  success: string
  answer: v.GenericSchema & { entries: Record<string, v.GenericSchema> }
  shown(read: never): object
}

export type ReadingName = keyof typeof readings
export type Question = keyof typeof questions
/** The answer of a driver to a question. */
export type Read<Name extends Question> = Parameters<(typeof questions)[Name]['shown']>[0]
/** A question that measures a value: the name of that value in the answer of the driver and of the bench, and its unit. */
export type Measurement = { question: Question; name: string; unit: string }

/**
 * Returns the questions that measure a value, in the order of the table, each with the first number with a unit in its answer. The value is read in
 * the background, and shown in the readings, on the page and among the metrics; `target` in an answer is the value that the device was set to.
 */
export function measurements(): Measurement[] {
  return (Object.keys(questions) as Question[]).flatMap((question) => {
    for (const [name, schema] of Object.entries<v.GenericSchema>(questions[question].answer.entries)) {
      const { unit } = v.getMetadata(schema)
      if (name !== 'target' && typeof unit === 'string') return { question, name, unit }
    }
    return []
  })
}

export function isQuestion(name: string): name is Question {
  return Object.hasOwn(questions, name)
}
