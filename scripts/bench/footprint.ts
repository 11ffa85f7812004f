import { execFileSync } from 'node:child_process'
import { copyFileSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bench, type Row } from './bench.ts'

/** The packages that a new machine gets. No install script runs, since it would only compile what is optional. */
export const footprint = bench({
  name: 'footprint',
  summary: 'npm ci --omit=dev, without and with the optional packages',
  options: {},
  async run() {
    const most = { mb: 13, packages: 35 }
    return [...installed('required', ['--omit=optional'], most), ...installed('with optional', [], { mb: 16 })]
  },
})

const top = fileURLToPath(new URL('../../..', import.meta.url))

function installed(what: string, flags: readonly string[], most: { mb: number; packages?: number }): Row[] {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-footprint-'))
  try {
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(top, file), join(folder, file))
    const args = ['ci', '--omit=dev', ...flags, '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    const modules = join(folder, 'node_modules')
    return [
      { what: `size, ${what}`, unit: 'MB', value: bytesIn(modules) / 1e6, target: { of: 'value', most: most.mb } },
      {
        what: `packages, ${what}`,
        unit: '',
        value: packagesIn(modules),
        ...(most.packages && { target: { of: 'value', most: most.packages } }),
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** As they take place on the disk, in whole blocks. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true }).reduce((sum, path) => sum + lstatSync(join(folder, String(path))).blocks * 512, 0)
}

function packagesIn(modules: string): number {
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as { packages: object }
  return Object.keys(packages).length
}
