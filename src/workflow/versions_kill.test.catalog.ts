// For tests: a catalog on a data folder without instruments, into which one workflow is put again and again.

import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { Catalog } from './catalog.ts'
import { Records } from './records/records.ts'
import type { Runtime } from './runtime.ts'

const topology = oneArm({ name: 'bench', pads: ['pad_1'], nests: {} })

/** The document with a number in it. */
export const documentOf = (number: number) =>
  workflowOf('mix', { plate: { ...standing('pad_1'), steps: [{ delay: number }] } }, { topology: 'bench' })

export function openCatalog(data_dir: string, report: (message: string) => void): Promise<Catalog> {
  const shipped = [{ origin: 'the test', form: 'typescript' as const, input: topology }]
  const bench = { devices: [], hasTeachpoint: () => true }
  const options = {
    data_dir,
    topologies: undefined,
    shipped,
    bench,
    report: ({ message }: { message: string }) => report(message),
    warn: report,
  }
  return Catalog.open(options, (library) => {
    const runs = { all: () => [], open: () => [] }
    return { library, runs, records: new Records(), standing: { recall: () => null } } as unknown as Runtime
  })
}

export async function put(catalog: Catalog, number: number): Promise<void> {
  await catalog.put('mix', documentOf(number), { by: 'writer', note: `number ${number}` })
}
