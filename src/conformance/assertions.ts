// The assertions of the conformance suite, which does not know by what it is run: by tap for the drivers of the catalogue, by `runner.ts` at a bench.

/** The message of an assertion, and what was found. */
type Told = [] | [message: string] | [message: string, found: Record<string, unknown>]

/** A test with its assertions. A failed assertion does not end the test. */
export interface Test {
  /** Runs a part of the test, and resolves when it has ended. */
  test(name: string, work: (t: Test) => Promise<unknown> | unknown): PromiseLike<unknown>
  /** Calls the function when the test has ended. */
  teardown(work: () => unknown): void
  ok(value: unknown, ...told: Told): boolean
  notOk(value: unknown, ...told: Told): boolean
  equal(value: unknown, wanted: unknown, ...told: Told): boolean
  /** Compares the whole content. */
  same(value: unknown, wanted: unknown, ...told: Told): boolean
  /** Compares the members that the pattern has, and texts with regular expressions. */
  match(value: unknown, pattern: unknown, ...told: Told): boolean
  notMatch(value: unknown, pattern: RegExp, ...told: Told): boolean
  pass(...told: Told): boolean
  fail(...told: Told): boolean
}
