// Samples of a new run from a spreadsheet: pasted or from a file, with a preview that shows each mistake at its cell.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { CheckSamplesResponse, PutWorkflowResponse } from '../../clients/ts/benchd.ts'
import { sheetText } from '../../clients/ts/sheet_text.ts'
import { Act, UploadFile } from '../parts.tsx'
import { ask, bench, keepFile } from '../store.tsx'
import { requestOf, type Wish } from './new_run_again.tsx'

/** The answer about the sheet as it is in the form; undefined while it is being checked, and without a sheet. */
export type CheckedSheet = Signal<CheckSamplesResponse | undefined>
type SamplesProps = { workflow: PutWorkflowResponse; wish: Signal<Wish>; checked: CheckedSheet }

const [mostShown, still_ms] = [100, 400]

export function Samples({ workflow: { name }, wish, checked }: SamplesProps) {
  const { samples, variables } = wish.value
  const isOpen = useSignal(samples !== '')
  const set = (text: string) => {
    wish.value = { ...wish.value, samples: text }
  }
  useEffect(() => {
    checked.value = undefined
    if (samples.trim() === '') return
    let isOver = false
    const check = async () => {
      const asked = { path: { workflow_name: name }, body: { samples, variables: requestOf(wish.peek()).variables ?? {} } }
      const found = await bench.value?.call('checkSamples', asked).catch(() => undefined)
      if (!isOver) checked.value = found
    }
    const timer = setTimeout(check, still_ms)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [samples, name, JSON.stringify(variables)])
  const take = async (file: File) => set(sheetText(new Uint8Array(await file.arrayBuffer())))
  const template = async () => {
    const found = await ask('getSampleSheet', { path: { workflow_name: name } }, { quiet: true })
    if (found) keepFile(`${name}-samples.csv`, new Blob(['\uFEFF', found.text], { type: 'text/csv' }))
  }
  return (
    <details class="changes samples" open={isOpen.value} onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>Paste from a spreadsheet</summary>
      <div class="field">
        <label for="new-samples">Samples, with the header in the first row</label>
        <textarea
          id="new-samples"
          rows={samples === '' ? 3 : 5}
          spellcheck={false}
          placeholder="Copy the cells in the spreadsheet, and paste them here"
          value={samples}
          onInput={(event) => set(event.currentTarget.value)}
        />
        <small>Each row is a group: columns group, barcode, and one for each value that differs. Empty cells take the values below.</small>
      </div>
      <div class="row">
        <UploadFile label="Open a file" name="Open a sheet of samples" accept=".csv,.tsv,.txt,text/csv" onFile={take} />
        <Act label="Download an empty sheet" kind="quiet" free onPress={template} />
        {samples !== '' && <Act label="Clear" name="Clear the samples" kind="quiet" free onPress={() => set('')} />}
      </div>
      {checked.value && <Preview checked={checked.value} />}
    </details>
  )
}

/** Says why the run cannot start with this sheet; undefined if it can, or if there is none. */
export function whyNotWith({ samples }: Pick<Wish, 'samples'>, checked: CheckSamplesResponse | undefined): string | undefined {
  if (samples.trim() === '') return undefined
  if (!checked) return 'The sheet of samples is being checked.'
  const count = checked.mistakes.length + checked.mistakes_left_out
  if (count > 0) return `The sheet of samples has ${count === 1 ? 'a mistake' : `${count} mistakes`}.`
  return undefined
}

function Preview({ checked: { groups, columns, rows, mistakes, mistakes_left_out } }: { checked: CheckSamplesResponse }) {
  const wrong = new Map(mistakes.map(({ row, column, message }) => [`${row} ${column}`, message]))
  const count = mistakes.length + mistakes_left_out
  return (
    <>
      <p role="status" class={count > 0 ? 'trouble' : 'hint'}>
        {count > 0
          ? `${count === 1 ? '1 mistake' : `${count} mistakes`}; nothing can start.`
          : `${groups.length === 1 ? '1 sample' : `${groups.length} samples`}, without mistakes.`}
      </p>
      {count > 0 && (
        <ul class="mistakes" aria-label="Mistakes of the sheet">
          {mistakes.map(({ message }) => (
            <li key={message} class="long">
              {message}
            </li>
          ))}
          {mistakes_left_out > 0 && <li>and {mistakes_left_out} more</li>}
        </ul>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard. */}
      <section class="sheet-of-samples" aria-label="Preview of the samples" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Row</th>
              {columns.map(({ column, header }) => (
                <Cell key={column} isHead text={`${column} ${header}`} mistake={wrong.get(`1 ${column}`)} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, mostShown).map(({ row, cells }) => (
              <tr key={row}>
                <th scope="row">{row}</th>
                {cells.map((text, i) => (
                  <Cell key={columns[i]!.column} text={text} mistake={wrong.get(`${row} ${columns[i]!.column}`)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows.length > mostShown && <p class="hint">And {rows.length - mostShown} more rows.</p>}
    </>
  )
}

function Cell({ text, mistake, isHead }: { text: string; mistake: string | undefined; isHead?: boolean }) {
  const words = mistake === undefined ? text : `▲ ${text}`
  const its = { title: mistake, class: mistake === undefined ? undefined : 'bad' }
  return isHead ? (
    <th scope="col" {...its}>
      {words}
    </th>
  ) : (
    <td {...its}>{words}</td>
  )
}
