// The runs that had a labware, by its barcode and by its id, so that nobody reads the records of all runs to find one plate.

/** The labware that a thread of a run carried. */
type Carried = { execution_id: string; barcode?: string | null | undefined; labware_id?: string | undefined }

export class LabwareIndex {
  readonly #runs = new Map<string, Set<string>>()

  add(thread: Carried): void {
    for (const name of namesOf(thread)) {
      const runs = this.#runs.get(name)
      if (runs) runs.add(thread.execution_id)
      else this.#runs.set(name, new Set([thread.execution_id]))
    }
  }

  /** Removes a run, whose threads are these. */
  remove(execution_id: string, threads: Iterable<Carried>): void {
    for (const thread of threads)
      for (const name of namesOf(thread)) {
        const runs = this.#runs.get(name)
        runs?.delete(execution_id)
        if (runs?.size === 0) this.#runs.delete(name)
      }
  }

  /** Lists the ids of the runs that had labware with this barcode or id. */
  runsWith(name: string): string[] {
    return [...(this.#runs.get(name) ?? [])]
  }
}

function namesOf({ barcode, labware_id }: Carried): string[] {
  return [barcode, labware_id].filter((name) => typeof name === 'string')
}
