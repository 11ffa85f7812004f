// The question for the first name of the person at this browser: asked once, and changed on the screen System.

import { useSignal } from '@preact/signals'
import { operator, saveOperator } from './operator.tsx'
import { longestName } from './words.ts'

/** Asks for the name, until the person has given one or none. */
export function AskName() {
  if (operator.value !== null) return null
  return <NameForm label="Your first name" hint="Shown beside your changes. A key still decides what is allowed." none="No name" />
}

type NameFormProps = { label: string; hint?: string; none?: string }

/** `none` labels a button for a person who gives no name. */
export function NameForm({ label, hint, none }: NameFormProps) {
  const typed = useSignal(operator.value ?? '')
  const id = none ? 'first-name' : 'person-name'
  return (
    <form
      class="name row"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault()
        saveOperator(typed.value)
        typed.value = operator.value ?? ''
      }}
    >
      <label for={id}>{label}</label>
      <input
        id={id}
        autocomplete="given-name"
        maxLength={longestName}
        value={typed.value}
        onInput={(event) => (typed.value = event.currentTarget.value)}
      />
      <button type="submit" class="plain" disabled={plainlySame(typed.value)}>
        Save
      </button>
      {none && (
        <button type="button" class="quiet" onClick={() => saveOperator('')}>
          {none}
        </button>
      )}
      {hint && <small>{hint}</small>}
    </form>
  )
}

function plainlySame(typed: string): boolean {
  return typed.trim() === (operator.value ?? '')
}
