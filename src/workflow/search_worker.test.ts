import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'tap'
import { checkSchedule, randomProblem } from '../testing/schedules.ts'
import type { Problem } from './schedule/problem.ts'
import { defaultBudget, findSchedule } from './schedule/search.ts'
import { findBeside } from './search_worker.ts'

const problem = randomProblem({ seed: 1, jobs: 3, devices: 3, parks: 1, arms: 1, ownPads: true })

test('a schedule is found in a thread, and is the same as without one', async (t) => {
  const found = await findBeside(problem)
  t.same(checkSchedule(problem, found!), [])
  t.same(found, findSchedule(problem, { states: defaultBudget(problem) }))
  const others = [2, 3].map((seed) => randomProblem({ seed, jobs: 3, devices: 3, parks: 1, arms: 1 }))
  const both = await Promise.all(others.map((other) => findBeside(other)))
  t.same(
    both,
    others.map((other) => findSchedule(other, { states: defaultBudget(other) })),
    'each caller gets the answer to its own problem',
  )
})

test('a search that breaks off gives no schedule, nor do those that wait behind it, and the next one works again', async (t) => {
  const broken = { jobs: [] } as unknown as Problem
  t.same(await Promise.all([findBeside(broken), findBeside(problem)]), [null, null])
  t.ok(await findBeside(problem))
})

test('the thread gives way to everything else on the computer', { skip: process.platform !== 'linux' && 'only on Linux' }, async (t) => {
  await findBeside(problem)
  // The 19th field of /proc/…/stat is the nice value; the name of the thread, which may contain spaces, is in brackets.
  const nice = readdirSync('/proc/self/task').map((task) => {
    const stat = readFileSync(`/proc/self/task/${task}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })
  t.equal(nice.filter((value) => value === 15).length, 1)
  const own = readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8')
  t.not(Number(own.slice(own.lastIndexOf(')') + 2).split(' ')[16]), 15, 'the service itself does not')
})

test('a process ends although the thread is there, and not before its answer', (t) => {
  const module = new URL('./search_worker.js', import.meta.url).href
  const code = `import { findBeside } from ${JSON.stringify(module)}
const found = await findBeside(${JSON.stringify(problem)})
console.log(found.moves.length)`
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', timeout: 60_000 })
  t.equal(status, 0)
  t.ok(Number(stdout) > 0)
  t.end()
})
