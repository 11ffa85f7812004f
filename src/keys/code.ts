// Codes that people read from one screen and type at another.

import { randomInt, timingSafeEqual } from 'node:crypto'
import { digestOf } from './secret.ts'

/** Makes a code such as `K7M-2QX`, of characters that are not confused when read aloud. */
export function newCode(): string {
  const letters = Array.from({ length: 6 }, () => '23456789ABCDEFGHJKMNPQRSTVWXYZ'[randomInt(30)])
  return `${letters.slice(0, 3).join('')}-${letters.slice(3).join('')}`
}

/** Whether a person has typed this code, in any case of letters, with or without the hyphen. */
export function sameCode(typed: string, code: string): boolean {
  return timingSafeEqual(digestOf(plain(typed)), digestOf(plain(code)))
}

function plain(code: string): string {
  return code.toUpperCase().replace(/[^0-9A-Z]/g, '')
}
