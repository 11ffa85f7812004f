// For tests: recipes in Python that run against stand-ins of the libraries for which they are written.

import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { printed, type Where } from './python.ts'

const source = fileURLToPath(new URL('../../../src/', import.meta.url))

/** The folder of the stand-ins: each is a package with the names of a library that a recipe uses. */
export const standIns = `${source}testing/stand_ins`

/** The path of the recipes for Python. */
export const recipes = [`${source}clients/recipes`]

/** Says why no type is checked here, or false. */
export const noMypy = spawnSync('mypy', ['--version']).status !== 0 && 'there is no mypy'

/** Makes modules of these folders importable, and writes nothing into the folders. */
export const reach = (folders: readonly string[]) => `import sys\nsys.dont_write_bytecode = True\nsys.path += ${JSON.stringify(folders)}\n`

/** Runs a program that imports a recipe, with the stand-ins in reach, and returns the JSON of its lines. */
export function ranRecipe(t: Test, where: Where, program: string): Promise<unknown[]> {
  return printed(t, where, `${reach([...recipes, standIns])}${program}`)
}

/** Returns the mistakes that `mypy --strict` finds in a program that uses a recipe. */
export function mistakesIn(t: Test, recipe: string, program: string): string[] {
  const folder = mkdtempSync(`${tmpdir()}/benchd-recipe-`)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(`${source}clients/python/benchd.py`, `${folder}/benchd.py`)
  cpSync(`${source}clients/recipes/${recipe}`, `${folder}/${recipe}`)
  cpSync(standIns, folder, { recursive: true })
  writeFileSync(`${folder}/program.py`, program)
  const { stdout } = spawnSync('mypy', ['--strict', '--cache-dir', '/dev/null', recipe, 'program.py'], { cwd: folder, encoding: 'utf8' })
  return stdout.split('\n').filter((line) => line.includes(': error: '))
}

/** Returns the text of a file below `src`. */
export const sourceOf = (path: string) => readFileSync(source + path, 'utf8')
