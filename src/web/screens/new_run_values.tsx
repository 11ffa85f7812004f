// The fields of the variables of a workflow: a choice, or a text with its type, unit and limits.

import type { Signal } from '@preact/signals'
import type { PutWorkflowResponse } from '../../clients/ts/benchd.ts'
import { variableLabel } from '../forms.ts'
import { Choice } from '../parts.tsx'
import type { Wish } from './new_run_again.tsx'

type Variable = PutWorkflowResponse['variables'][string]
type VariableProps = { name: string; its: Variable; wish: Signal<Wish> }

export function VariableField({ name, its, wish }: VariableProps) {
  const { variables } = wish.value
  const text = variables[name]?.text ?? ''
  const set = (changed: string) => {
    wish.value = { ...wish.value, variables: { ...variables, [name]: { text: changed, type: its.type } } }
  }
  const label = variableLabel(name, its.description, its.unit)
  const choices = its.one_of ?? (its.type === 'boolean' ? [true, false] : undefined)
  const usual = its.default === undefined ? 'required' : JSON.stringify(its.default)
  if (choices) {
    const empty = its.default === undefined ? 'choose one' : `${usual} (usual)`
    const all = choices.map(String).filter((choice) => choice !== '')
    return <Choice label={label} value={text} onChange={set} choices={{ '': empty, ...Object.fromEntries(all.map((one) => [one, one])) }} />
  }
  const example = its.default === undefined && its.example !== undefined ? `required, such as ${JSON.stringify(its.example)}` : usual
  const hint = [its.description, allowedWords(its)].filter(Boolean).join('; ')
  return (
    <div class="field">
      <label for={`variable-${name}`}>{label}</label>
      <input
        id={`variable-${name}`}
        inputMode={its.type === 'integer' && (its.minimum ?? -1) >= 0 ? 'numeric' : its.type === 'number' ? 'decimal' : undefined}
        placeholder={example}
        value={text}
        onInput={(event) => set(event.currentTarget.value)}
      />
      {hint && <small>{hint}</small>}
    </div>
  )
}

function allowedWords({ minimum, maximum, unit }: Variable): string {
  const end = unit === undefined ? '' : ` ${unit}`
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}${end}`
  if (minimum !== undefined) return `at least ${minimum}${end}`
  return maximum === undefined ? '' : `at most ${maximum}${end}`
}
