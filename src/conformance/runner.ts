// Runs the conformance suite, and the tests of a driver's own, without a test framework.

import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../errors.ts'
import type { Test } from './assertions.ts'

/** A failed assertion, with the names of the tests around it. `found` is what was found, in words. */
export type Failure = { message: string; found: string | undefined }
/** The outcome of a test, without those inside it. */
export type Outcome = { names: string[]; failures: Failure[]; passed: number; ms: number }

/** The assertions that tests of a driver's own have besides. */
export interface OwnTest extends Test {
  test(name: string, work: (t: OwnTest) => Promise<unknown> | unknown): Promise<unknown>
  rejects(work: Promise<unknown>, wanted?: object, message?: string): Promise<boolean>
  throws(work: () => unknown, wanted?: object, message?: string): boolean
  resolves(work: Promise<unknown>, message?: string): Promise<boolean>
}

/** The longest words of what was found. */
const mostFound = 600
/** The most failures of a test that are kept: a loop may have thousands. */
const mostFailures = 20

/** Runs a test and those inside it, one after the other. `ended` is called with each when it has ended. Never rejects. */
export async function runTest(
  name: string,
  work: (t: OwnTest) => unknown,
  ended: (outcome: Outcome) => void,
  around: readonly string[] = [],
): Promise<void> {
  const outcome: Outcome = { names: [...around, name], failures: [], passed: 0, ms: 0 }
  const began = performance.now()
  const ending: (() => unknown)[] = []
  try {
    await work(assertions(outcome, ending, ended))
  } catch (error) {
    fail(outcome, error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  for (const end of ending.reverse()) {
    try {
      await end()
    } catch (error) {
      fail(outcome, messageOf(error))
    }
  }
  ended({ ...outcome, ms: performance.now() - began })
}

function fail(outcome: Outcome, message: string, found?: string): false {
  if (outcome.failures.length < mostFailures) outcome.failures.push({ message, found })
  return false
}

function assertions(outcome: Outcome, ending: (() => unknown)[], ended: (outcome: Outcome) => void): OwnTest {
  const judge = (isSo: boolean, message: string, found: () => unknown): boolean => {
    if (isSo) outcome.passed++
    return isSo || fail(outcome, message, inWords(found()))
  }
  const t: OwnTest = {
    test: (name, work) => runTest(name, work, ended, outcome.names),
    teardown: (work) => void ending.push(work),
    ok: (value, ...[message = 'it is so', found]) => judge(Boolean(value), message, () => found ?? value),
    notOk: (value, ...[message = 'it is not so', found]) => judge(!value, message, () => found ?? value),
    equal: (value, wanted, ...[message = 'it is the same']) => judge(Object.is(value, wanted), message, () => ({ found: value, wanted })),
    same: (value, wanted, ...[message = 'it is alike']) =>
      judge(isDeepStrictEqual(value, wanted), message, () => ({ found: value, wanted })),
    match: (value, pattern, ...[message = 'it matches']) =>
      judge(matches(value, pattern), message, () => ({ found: value, wanted: pattern })),
    notMatch: (value, pattern, ...[message = 'it does not match']) =>
      judge(!matches(value, pattern), message, () => ({ found: value, unwanted: pattern })),
    pass: (...[message = 'it passed']) => judge(true, message, () => undefined),
    fail: (...[message = 'it failed', found]) => judge(false, message, () => found),
    async rejects(work, wanted = {}, message = 'it rejects') {
      const outcome = await work.then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      )
      return judge('error' in outcome && matches(outcome.error, wanted), message, () => outcome)
    },
    async resolves(work, message = 'it resolves') {
      const outcome = await work.then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      )
      return judge('value' in outcome, message, () => outcome)
    },
    throws(work, wanted = {}, message = 'it throws') {
      try {
        const value = work()
        return judge(false, message, () => ({ value }))
      } catch (error) {
        return judge(matches(error, wanted), message, () => error)
      }
    },
  }
  return t
}

/** Whether a value has the members of a pattern, and its texts match the regular expressions there. */
export function matches(value: unknown, pattern: unknown): boolean {
  if (pattern instanceof RegExp)
    return (typeof value === 'string' || typeof value === 'number' || value instanceof Error) && pattern.test(String(value))
  if (typeof pattern === 'string' && typeof value === 'string') return value.includes(pattern)
  if (typeof pattern !== 'object' || pattern === null) return isDeepStrictEqual(value, pattern)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(pattern).every(([name, its]) => {
    const found = (value as Record<string, unknown>)[name]
    return its instanceof RegExp && name === 'message' && value instanceof Error ? its.test(value.message) : matches(found, its)
  })
}

function inWords(found: unknown): string | undefined {
  if (found === undefined) return undefined
  const text = JSON.stringify(found, (_, value: unknown) => {
    if (value instanceof Error) return value.message
    return value instanceof RegExp ? String(value) : value
  })
  return text && text.length > mostFound ? `${text.slice(0, mostFound)}…` : text
}
