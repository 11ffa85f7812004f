// Compares what a linter reports with the list of warnings that are accepted.

export type Problem = { rule: string; at: string; message: string }
export type Accepted = { rule: string; at: RegExp; reason: string }

/** One line for each problem that is not accepted, and for each accepted one that is gone. Empty when all is as it should be. */
export function unexpected(problems: readonly Problem[], accepted: readonly Accepted[]): string[] {
  const covers = (entry: Accepted, problem: Problem) => entry.rule === problem.rule && entry.at.test(problem.at)
  const others = problems.filter((problem) => !accepted.some((entry) => covers(entry, problem)))
  const gone = accepted.filter((entry) => !problems.some((problem) => covers(entry, problem)))
  return [
    ...others.map(({ rule, at, message }) => `${rule} at ${at}: ${message}`),
    ...gone.map(({ rule }) => `${rule} is accepted, but is not reported any more: take it off the list in scripts/contract/lint.ts`),
  ]
}
