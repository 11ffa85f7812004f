// Reads a file of teachpoints as JSON, CSV or XML, including the exported forms.

import { buffer } from 'node:stream/consumers'
import * as v from 'valibot'
import { readUtf8, utf8Of } from '../../kit/files.ts'
import { withEscapes } from '../../kit/invisible.ts'
import { indented, parseJsonWithComments } from '../../kit/json.ts'
import { checked } from '../../kit/schema.ts'
import type { Teachpoint } from '../../teachpoints/teachpoint.ts'
import type { OptionValues } from '../command.ts'
import { CliError } from '../exit.ts'
import { refuseForeign } from '../foreign_files.ts'
import { csvOf, pointsOfCsv, type Written } from './columns.ts'
import { converted, isLength, type Units, unitsOf, unitsOption } from './units.ts'
import { pointsOfXml } from './xml.ts'

export const formatOption = {
  format: { type: 'string', value: 'FORMAT', one_of: ['json', 'csv'], help: 'Format json or csv; default: by the ending of the file' },
} as const

/** The options of commands that read a file. */
export const fileOptions = {
  format: { ...formatOption.format, one_of: ['json', 'csv', 'xml'], help: 'Format json, csv or xml; default: by the ending of the file' },
  ...unitsOption,
} as const

export function formatOf(option: string | undefined, file = ''): 'json' | 'csv' {
  return option === 'csv' || (option === undefined && /\.csv$/i.test(file)) ? 'csv' : 'json'
}

export function written(device_id: string, teachpoints: readonly Teachpoint[], format: 'json' | 'csv'): string {
  return format === 'csv' ? csvOf(teachpoints) : withEscapes(indented({ device_id, teachpoints }))
}

const readers = { json: pointsOfJson, csv: pointsOfCsv, xml: pointsOfXml }

/** Reads the points of a file, or of stdin for `-`, and checks that they are valid and of this device. Throws a usage error with the place of a mistake. */
export async function pointsIn(file: string, options: OptionValues<typeof fileOptions>, device_id: string): Promise<Teachpoint[]> {
  const units = unitsOf(options.units)
  const text = file === '-' ? utf8Of(await buffer(process.stdin), 'stdin') : await readUtf8(file)
  refuseForeign(text, file)
  const { Teachpoint } = await import('../../teachpoints/teachpoint.ts')
  const ending = /\.(csv|xml)$/i.exec(file)?.[1]?.toLowerCase() ?? 'json'
  const found = readers[(options.format ?? ending) as keyof typeof readers](text, file, { device_id, units })
  const names = new Set<string>()
  return found.map(({ point, place }) => {
    const result = v.safeParse(Teachpoint, point)
    if (!result.success) checked(Teachpoint, point, place((result.issues[0].path ?? []).map(({ key }) => String(key))))
    const good = result.output as Teachpoint
    if (good.device_id !== device_id)
      throw new CliError(
        'usage',
        `${place(['device_id'])}: the point ${JSON.stringify(good.name)} is of ${good.device_id}, not of ${device_id}`,
      )
    if (names.has(good.name)) throw new CliError('usage', `${place(['name'])}: ${JSON.stringify(good.name)} is there twice`)
    names.add(good.name)
    return good
  })
}

const Points = v.array(v.looseObject({}))
const PointsFile = v.union([v.strictObject({ device_id: v.optional(v.string()), teachpoints: Points }), Points])

function pointsOfJson(text: string, file: string, { device_id, units }: { device_id: string; units: Units }): Written[] {
  const content = checked(PointsFile, parseJsonWithComments(text, file), file)
  const isBare = Array.isArray(content)
  return (isBare ? content : content.teachpoints).map((point, i) => ({
    point: { device_id: isBare ? device_id : (content.device_id ?? device_id), ...inOurUnits(point, units) },
    place: (path) => `${file}: ${isBare ? '' : 'teachpoints'}[${i}]${path.map((key) => `.${key}`).join('')}`,
  }))
}

/** Converts coordinates and clearances to millimetres and degrees. */
function inOurUnits(point: Record<string, unknown>, { mm, deg }: Units): Record<string, unknown> {
  if (mm === 1 && deg === 1) return point
  const scaled = (value: unknown, factorOf: (member: string) => number) =>
    typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value).map(([member, one]) => [member, typeof one === 'number' ? converted(one, factorOf(member)) : one]),
        )
      : value
  const { coords, access } = point
  return {
    ...point,
    coords: scaled(coords, (member) => (isLength(member) ? mm : deg)),
    ...(access !== undefined && { access: scaled(access, () => mm) }),
  }
}
