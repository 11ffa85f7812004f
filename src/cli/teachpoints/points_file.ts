// A file of teachpoints, as JSON or as comma-separated values: what export writes is what import takes.

import { buffer } from 'node:stream/consumers'
import * as v from 'valibot'
import { readUtf8, utf8Of } from '../../kit/files.ts'
import { withEscapes } from '../../kit/invisible.ts'
import { indented, parseJsonWithComments } from '../../kit/json.ts'
import { checked } from '../../kit/schema.ts'
import type { Teachpoint } from '../../teachpoints/teachpoint.ts'
import { CliError } from '../exit.ts'
import { csvOf, pointsOfCsv, type Written } from './columns.ts'

export const formatOption = {
  format: { type: 'string', value: 'FORMAT', one_of: ['json', 'csv'], help: 'json or csv; default by the ending of the file' },
} as const

type Format = 'json' | 'csv'

export function formatOf(option: string | undefined, file = ''): Format {
  const format = option ?? (/\.csv$/i.test(file) ? 'csv' : 'json')
  if (format === 'json' || format === 'csv') return format
  throw new CliError('usage', `--format ${format} is neither json nor csv`)
}

export function written(device_id: string, teachpoints: readonly Teachpoint[], format: Format): string {
  return format === 'csv' ? csvOf(teachpoints) : withEscapes(indented({ device_id, teachpoints }))
}

/** The points of a file, or of stdin for `-`; all of them good, and of this device. Throws a usage error that says where it is wrong. */
export async function pointsIn(file: string, format: Format, device_id: string): Promise<Teachpoint[]> {
  const text = file === '-' ? utf8Of(await buffer(process.stdin), 'stdin') : await readUtf8(file)
  const { Teachpoint } = await import('../../teachpoints/teachpoint.ts')
  const found = format === 'csv' ? pointsOfCsv(text, file, device_id) : pointsOfJson(text, file, device_id)
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

function pointsOfJson(text: string, file: string, device_id: string): Written[] {
  const content = checked(PointsFile, parseJsonWithComments(text, file), file)
  const isBare = Array.isArray(content)
  return (isBare ? content : content.teachpoints).map((point, i) => ({
    point: { device_id: isBare ? device_id : (content.device_id ?? device_id), ...point },
    place: (path) => `${file}: ${isBare ? '' : 'teachpoints'}[${i}]${path.map((key) => `.${key}`).join('')}`,
  }))
}
