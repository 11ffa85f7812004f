// The teachpoints of each device, in `teachpoints.json`. A change is answered when it is on the disk.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { type Author, nobody } from '../kit/author.ts'
import { didYouMeanAmong } from '../kit/did_you_mean.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { byCodePoint, lookOf } from '../kit/name.ts'
import { type TeachpointChange, TeachpointHistory, type Version, versionOf } from './history.ts'
import { StoredTeachpoint, type Teachpoint } from './teachpoint.ts'
import { gatewaysOf } from './way.ts'

/** The most points that a device may have. */
export const mostPoints = 1000

const Content = v.strictObject({
  teachpoints: v.pipe(
    v.array(StoredTeachpoint),
    v.check((points) => keyed(points).size === points.length, 'a name is there twice'),
    v.transform(withoutSpaces),
  ),
})
type Content = v.InferOutput<typeof Content>

type Points = Map<string, Teachpoint>

/** The author of a change: the name of a key. */
type By = Partial<Author>

/** Points are frozen. Each method that changes one rejects with `storage` if the change is not known to be stored. */
export class Teachpoints {
  readonly #file: JsonFile<Content>
  readonly #history: TeachpointHistory
  #indexed: Content | undefined
  #points: Points = new Map()

  static async open({ folder, report }: { folder: string; report: Report }): Promise<Teachpoints> {
    const options = { path: `${folder}/teachpoints.json`, format: 1, schema: Content, empty: { teachpoints: [] }, report }
    return new Teachpoints(await JsonFile.open(options), await TeachpointHistory.open({ folder, report }))
  }

  private constructor(file: JsonFile<Content>, history: TeachpointHistory) {
    this.#file = file
    this.#history = history
  }

  /** Keyed by name, in the order of code points. Points of a device that is no longer configured are kept. */
  list(device_id: string): Teachpoint[] {
    return [...this.#index().values()].filter((point) => point.device_id === device_id)
  }

  has(device_id: string, name: string): boolean {
    return this.#index().has(keyOf({ device_id, name }))
  }

  /** Throws `not_found`. */
  get(device_id: string, name: string): Teachpoint {
    return found(this.#index(), device_id, name)
  }

  /** Lists the newest versions of a point, also of a deleted one; the first is the present one. Throws `not_found` if there never was such a point. */
  history(device_id: string, name: string): Version[] {
    const now = this.#index().get(keyOf({ device_id, name }))
    const versions = this.#history.of(keyOf({ device_id, name }), now)
    if (versions.length === 0) found(this.#index(), device_id, name)
    return versions
  }

  /**
   * Restores a version of a point; with a tag, only if the present point has that tag. The author is the caller, here and
   * below. Rejects with `not_found` for another version, with `invalid` for a deletion, and with `conflict`.
   */
  async restore(
    device_id: string,
    name: string,
    version: string,
    { tag, ...author }: By & { tag?: string | undefined } = {},
  ): Promise<Teachpoint> {
    const wanted = this.history(device_id, name).find((one) => one.version === version)
    if (!wanted)
      throw new LabError('not_found', `teachpoint ${name} of ${device_id} has no version ${version}; its history tells which it has`)
    const { point } = wanted
    if (!point)
      throw new LabError('invalid', `in this version teachpoint ${name} of ${device_id} is deleted: delete it, or name another version`)
    await this.#change(author, (points) => {
      mustBe(tag, points.get(keyOf(point)), point)
      points.set(keyOf(point), point)
      checkGateways(points, [point])
      checkNumber(points, [point])
    })
    return point
  }

  /** Rejects with `exists`, and with `invalid` when the device has `mostPoints`. */
  async create(point: Teachpoint, author: By = {}): Promise<Teachpoint> {
    await this.#change(author, (points) => {
      if (points.has(keyOf(point))) throw existing(point)
      checkLooks(points, [point])
      points.set(keyOf(point), point)
      checkGateways(points, [point])
      checkNumber(points, [point])
    })
    return point
  }

  /**
   * Replaces the point of the same name; with a tag, only if the present point has that tag. Rejects with
   * `not_found`, with `invalid` for another name, and with `conflict`.
   */
  async replace(
    device_id: string,
    name: string,
    point: Teachpoint,
    { tag, ...author }: By & { tag?: string | undefined } = {},
  ): Promise<Teachpoint> {
    if (point.device_id !== device_id || point.name !== name) {
      throw new LabError(
        'invalid',
        `teachpoint ${name} of ${device_id} cannot become ${point.name} of ${point.device_id}: create that one, then delete this`,
      )
    }
    await this.#change(author, (points) => {
      mustBe(tag, found(points, device_id, name), point)
      points.set(keyOf(point), point)
      checkGateways(points, [point])
    })
    return point
  }

  /** Rejects with `not_found`. */
  async delete(device_id: string, name: string, author: By = {}): Promise<void> {
    await this.#change(author, (points) => {
      points.delete(keyOf(found(points, device_id, name)))
    })
  }

  /** Stores all points or none. Rejects with `invalid` for a name given twice, and with `exists` for an existing point unless `overwrite` is set. */
  async importAll(
    imported: readonly Teachpoint[],
    { overwrite, ...author }: By & { overwrite: boolean },
  ): Promise<{ created: number; updated: number }> {
    checkDistinct(imported)
    let updated = 0
    await this.#change(author, (points) => {
      const existed = imported.filter((point) => points.has(keyOf(point)))
      if (existed[0] && !overwrite) throw existing(existed[0])
      updated = existed.length
      checkLooks(points, imported)
      for (const point of imported) points.set(keyOf(point), point)
      checkGateways(points, imported)
      checkNumber(points, imported)
    })
    return { created: imported.length - updated, updated }
  }

  async close(): Promise<void> {
    await this.#history.close()
  }

  async #change(author: By, edit: (points: Points) => void): Promise<void> {
    let changes: TeachpointChange[] = []
    await this.#file.change((content) => {
      const [before, points] = [keyed(content.teachpoints), keyed(content.teachpoints)]
      edit(points)
      changes = changesOf(before, points)
      return { teachpoints: sorted(points) }
    })
    if (changes.length) await this.#history.add(changes, { ...nobody, ...author })
  }

  #index(): Points {
    if (this.#file.content !== this.#indexed) {
      this.#indexed = this.#file.content
      // A file written by hand may be in any order.
      this.#points = keyed(sorted(keyed(this.#indexed.teachpoints)))
    }
    return this.#points
  }
}

/** Throws `conflict` if a tag is given and the present point has another. */
function mustBe(tag: string | undefined, before: Teachpoint | undefined, { device_id, name }: Teachpoint): void {
  if (tag === undefined || tag === versionOf(before)) return
  throw new LabError('conflict', `teachpoint ${name} of ${device_id} has been changed meanwhile; look at it, then try again`)
}

function changesOf(before: Points, after: Points): TeachpointChange[] {
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].flatMap((key) => {
    const change = { key, before: before.get(key), after: after.get(key) }
    return change.before === change.after || versionOf(change.before) === versionOf(change.after) ? [] : [change]
  })
}

/** Ids have no slash, so no two points share a key. */
function keyOf({ device_id, name }: { device_id: string; name: string }): string {
  return `${device_id}/${name}`
}

/**
 * Takes the white space off the ends of names, which earlier versions kept. A name keeps it where nothing else would be left of the name, or where
 * another point of the device has the name without it.
 */
function withoutSpaces(points: Teachpoint[]): Teachpoint[] {
  const taken = new Set(points.map(keyOf))
  const named = points.map((point) => {
    const { device_id } = point
    const name = point.name.trim()
    if (name === '' || taken.has(keyOf({ device_id, name }))) return point
    taken.add(keyOf({ device_id, name }))
    return { ...point, name }
  })
  const there = new Set(named.map(keyOf))
  return named.map((point) => {
    const { device_id, gateway } = point
    if (!gateway?.trim() || there.has(keyOf({ device_id, name: gateway }))) return point
    return { ...point, gateway: gateway.trim() }
  })
}

function keyed(points: readonly Teachpoint[]): Points {
  return new Map(points.map((point) => [keyOf(point), point]))
}

function sorted(points: Points): Teachpoint[] {
  return [...points.values()].sort((a, b) => byCodePoint(a.device_id, b.device_id) || byCodePoint(a.name, b.name))
}

function found(points: Points, device_id: string, name: string): Teachpoint {
  const point = points.get(keyOf({ device_id, name }))
  if (point) return point
  const names = sorted(points).flatMap((other) => (other.device_id === device_id ? [other.name] : []))
  throw new LabError('not_found', `${device_id} has no teachpoint ${name}${didYouMeanAmong(name, names)}`)
}

function existing({ device_id, name }: Teachpoint): LabError {
  return new LabError(
    'exists',
    `${device_id} already has a teachpoint ${name}; nothing was stored: replace it, or overwrite it in an import`,
  )
}

/** Throws `invalid` for points whose gateways lead in a circle. Only a circle through one of `added` is new. */
function checkGateways(points: Points, added: readonly Teachpoint[]): void {
  for (const point of added) {
    const { device_id, name, gateway } = point
    if (name === gateway)
      throw new LabError('invalid', `teachpoint ${name} of ${device_id} is its own gateway: name another one or leave gateway out`)
    gatewaysOf(point, (other) => points.get(keyOf({ device_id, name: other })))
  }
}

function checkDistinct(imported: readonly Teachpoint[]): void {
  const seen = new Set<string>()
  for (const point of imported) {
    if (seen.has(keyOf(point))) {
      throw new LabError('invalid', `teachpoint ${point.name} of ${point.device_id} is there twice; nothing was stored: leave one out`)
    }
    seen.add(keyOf(point))
  }
}

/** Refuses a new name that looks like another one of the device: somebody would send the arm to the wrong place. */
function checkLooks(points: Points, added: readonly Teachpoint[]): void {
  const lookKey = ({ device_id, name }: Teachpoint) => keyOf({ device_id, name: lookOf(name) })
  const seen = new Map(Array.from(points.values(), (point) => [lookKey(point), point.name]))
  for (const point of added) {
    if (points.has(keyOf(point))) continue
    const alike = seen.get(lookKey(point))
    if (alike !== undefined && alike !== point.name) {
      const two = `${point.device_id} has a teachpoint ${JSON.stringify(alike)}, and ${JSON.stringify(point.name)} looks like it`
      throw new LabError('invalid', `${two}; nothing was stored: use the same name, or one that a person can tell apart`)
    }
    seen.set(lookKey(point), point.name)
  }
}

/** Checks the number of points only of the devices that get some, so that points of a file with too many can still be deleted. */
function checkNumber(points: Points, added: readonly Teachpoint[]): void {
  for (const device_id of new Set(added.map((point) => point.device_id))) {
    const number = [...points.values()].filter((point) => point.device_id === device_id).length
    if (number > mostPoints) {
      throw new LabError(
        'invalid',
        `${device_id} would have ${number} teachpoints, and ${mostPoints} is the limit; nothing was stored: delete some first`,
      )
    }
  }
}
