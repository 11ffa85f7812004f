// The presets of operations: parameters that people saved under a name, for each operation of a device.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { Name } from '../kit/name.ts'

/** The most presets of one operation of a device, which people choose from in a form. */
export const mostPresets = 20
/** The most presets of the bench, so that the file stays small. */
const mostInAll = 1000
/** The most characters of the parameters of a preset, as JSON. */
const longestParams = 4096

export const PresetParams = described(
  v.pipe(
    v.record(v.string(), v.unknown()),
    v.check((params) => JSON.stringify(params).length <= longestParams, `must have at most ${longestParams} characters as JSON`),
  ),
  'The parameters of the operation, some or all',
)
export const Preset = v.strictObject({ device_id: v.string(), operation: v.string(), name: Name, params: PresetParams })
export type Preset = v.InferOutput<typeof Preset>
const Content = v.strictObject({ presets: v.array(Preset) })
type Content = v.InferOutput<typeof Content>

type Key = Pick<Preset, 'device_id' | 'operation' | 'name'>

export class Presets {
  readonly #file: JsonFile<Content>

  static async open(folder: string, report: Report): Promise<Presets> {
    const path = `${folder}/presets.json`
    return new Presets(await JsonFile.open({ path, format: 1, schema: Content, empty: { presets: [] }, report }))
  }

  private constructor(file: JsonFile<Content>) {
    this.#file = file
  }

  /** Returns the presets of a device, in the order in which they were saved first. */
  list(device_id: string): Preset[] {
    return this.#file.content.presets.filter((preset) => preset.device_id === device_id)
  }

  /** Saves a preset, in the place of one with its name. Rejects with `conflict` where there are too many, and with `storage`. */
  async put(preset: Preset): Promise<void> {
    await this.#file.change(({ presets }) => {
      const isSame = isOf(preset)
      if (presets.some(isSame)) return { presets: presets.map((one) => (isSame(one) ? preset : one)) }
      const { device_id, operation } = preset
      const ofOperation = presets.filter((one) => one.device_id === device_id && one.operation === operation)
      const full =
        ofOperation.length >= mostPresets ? `${operation} of ${device_id}` : presets.length >= mostInAll ? 'the bench' : undefined
      if (full)
        throw new LabError('conflict', `${full} has as many presets as it may have; delete one first: DELETE ${pathOf(preset)}/{preset}`)
      return { presets: [...presets, preset] }
    })
  }

  /** Deletes a preset. Rejects with `not_found` and `storage`. */
  async delete(key: Key): Promise<void> {
    await this.#file.change(({ presets }) => {
      const left = presets.filter((one) => !isOf(key)(one))
      if (left.length === presets.length)
        throw new LabError(
          'not_found',
          `${key.operation} of ${key.device_id} has no preset ${JSON.stringify(key.name)}; GET /api/devices/${key.device_id}/presets lists them`,
        )
      return { presets: left }
    })
  }
}

function pathOf({ device_id, operation }: Preset): string {
  return `/api/devices/${device_id}/presets/${operation}`
}

function isOf({ device_id, operation, name }: Key): (preset: Preset) => boolean {
  return (preset) => preset.device_id === device_id && preset.operation === operation && preset.name === name
}
