// The schemas of ids and names.

import { isIP, isIPv6 } from 'node:net'
import * as v from 'valibot'
import { described } from './described.ts'

const hostRule = 'must be a name or an address, without a scheme or a port'

/** An id, which becomes part of paths and event names: no dot, no slash. */
export const Id = described(
  v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, hyphens and underscores')),
  '1 to 64 letters, digits, hyphens and underscores',
)

/**
 * A name by people: any Unicode without control characters and lone surrogates, compared byte for byte. White space at its ends, which
 * is invisible, is removed.
 */
export const Name = v.pipe(
  v.string(),
  v.trim(),
  // Clients normalize `/..` and `/%2e%2e` (WHATWG URL), so such a name could not be addressed.
  v.regex(/^(?!\.{1,2}$)[^\p{Cc}\p{Cs}]{1,128}$/u, 'must be 1 to 128 characters, none of them a control character, and not . or ..'),
  v.description('1 to 128 characters, none of them a control character; not . or ..; without the spaces at its ends'),
)

/** Normalizes a barcode, without white space and control characters at its ends, which scanners add. */
export function barcodeText(read: string): string {
  return read.normalize('NFC').replace(/^[\s\p{Cc}\p{Cf}]+|[\s\p{Cc}\p{Cf}]+$/gu, '')
}

/** The barcode of a labware. */
export const Barcode = described(
  v.pipe(
    v.string(),
    v.transform(barcodeText),
    v.check(
      (barcode) => barcode.length >= 1 && barcode.length <= 128,
      'must be 1 to 128 characters, without the white space and the control characters at its ends',
    ),
  ),
  '1 to 128 characters; white space and control characters at its ends are left out',
)

/** Returns the visible form of a name, which is equal for names that look alike. */
export function lookOf(name: string): string {
  return name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFC')
    .replace(/\s+/gu, ' ')
    .trim()
}

/** Makes the schema of a record by name, which refuses names that look alike. */
export function byName<Schema extends v.GenericSchema>(schema: Schema): v.RecordSchema<typeof Name, Schema, undefined> {
  const record = v.record(Name, schema)
  const run: (typeof record)['~run'] = (dataset, config) => {
    const { issues } = distinct['~run']({ value: dataset.value }, config)
    return issues ? { typed: false, value: dataset.value, issues } : record['~run'](dataset, config)
  }
  return { ...record, '~run': run }
}

const distinct = v.pipe(
  v.unknown(),
  v.check(
    (names) => sameNames(names) === undefined,
    ({ input }) =>
      `has ${sameNames(input)
        ?.map((name) => JSON.stringify(name))
        .join(' and ')}, which look alike: a person would take one for the other`,
  ),
)

function sameNames(record: unknown): [string, string] | undefined {
  if (typeof record !== 'object' || record === null) return undefined
  const seen = new Map<string, string>()
  for (const name of Object.keys(record)) {
    const look = lookOf(name)
    const before = seen.get(look)
    if (before !== undefined) return [before, name]
    seen.set(look, name)
  }
  return undefined
}

/** The name or the address of a computer. */
export const Host = v.pipe(
  v.string(),
  v.regex(/^[\w.:%-]{1,253}$/, hostRule),
  v.check((host) => isAddress(host) || isHostName(host), hostRule),
)

/** Whether it is an IP address; for IPv6 also with a zone, as in `fe80::1%br_lan`. */
function isAddress(host: string): boolean {
  const [address = '', ...zones] = host.split('%')
  return zones.length === 0 ? isIP(address) !== 0 : zones.length === 1 && zones[0] !== '' && isIPv6(address)
}

/** Whether it is a host name. Its last label begins with a letter, unlike that of a mistyped address such as `0.0.0.0x`. */
function isHostName(host: string): boolean {
  const labels = host.replace(/\.$/, '').split('.')
  const isLabel = (label: string) => /^\w([\w-]{0,61}\w)?$/.test(label)
  return labels.every(isLabel) && (labels.length > 1 ? /^[a-z]/i.test(labels.at(-1)!) : /[a-z]/i.test(host))
}

/** Orders by code points, as UTF-8 does; `<` orders by UTF-16 units. */
export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Ranks surrogates above all other units, since their code points are higher. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
