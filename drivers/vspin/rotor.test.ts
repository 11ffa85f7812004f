import { test } from 'tap'
import { servoOf } from './nmc.ts'
import { isSlower } from './rotor.ts'

test('a rotor whose tachometer wavers by a unit has not slowed down', (t) => {
  const at = (velocity: number) => ({ ...servoOf(Buffer.alloc(16)), velocity })
  t.notOk(isSlower(at(-204), at(-203)))
  t.ok(isSlower(at(-204), at(-202)))
  t.notOk(isSlower(at(-204), at(-206)))
  t.ok(isSlower(at(204), at(-202)), 'whichever way it turns')
  t.end()
})
