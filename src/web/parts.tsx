// Parts that several screens use.

import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId } from 'preact/hooks'
import type { Operations } from '../clients/ts/api.ts'
import { BarcodeField } from './barcode_field.tsx'
import type { Field } from './fields.ts'
import { stepped } from './forms.ts'
import { type Decision, requestOf } from './need.ts'
import { bench, refusal, send } from './store.tsx'

type ActProps = {
  label: string
  onPress: () => unknown
  kind?: 'main' | 'plain' | 'danger' | 'quiet' | undefined
  name?: string
  why?: string | undefined
  /** Whether it only reads, so that a key of scope read may press it. */
  free?: boolean
  /** The label before the second press of a button that is pressed twice. */
  twice?: string | undefined
  /** The id of the element that says what it is about. */
  about?: string
}

/** The label before the second press of a button that lets devices move. */
export const devicesMayMove = 'The devices may move: press again'

/** A button that changes something. It is disabled while the shown state may be outdated, and during its own request. */
export function Act({ label, onPress, kind, name, why, free, twice, about }: ActProps) {
  const busy = useSignal(false)
  const armed = useSignal(false)
  const reason = why ?? (free ? undefined : refusal.value)
  const press = async () => {
    if (twice && !armed.value) {
      armed.value = true
      return
    }
    armed.value = false
    busy.value = true
    try {
      await onPress()
    } finally {
      busy.value = false
    }
  }
  return (
    <button
      type="button"
      class={armed.value ? 'danger' : (kind ?? 'plain')}
      aria-label={armed.value ? undefined : name}
      aria-describedby={about}
      title={reason}
      disabled={reason !== undefined || busy.value}
      onClick={press}
      onBlur={() => (armed.value = false)}
    >
      {armed.value ? twice : label}
    </button>
  )
}

type DecisionsProps = { decisions: readonly Decision[]; href?: string | undefined }

export function Decisions({ decisions, href }: DecisionsProps) {
  return (
    <ul class="decisions">
      {decisions.map((decision, i) => (
        <li key={decision.label}>
          {decision.asks ? <Asking decision={decision} isFirst={i === 0} /> : <Deciding decision={decision} isFirst={i === 0} />}
        </li>
      ))}
      {href && href !== location.hash && (
        <li>
          <a class="button quiet" href={href}>
            Show it
          </a>
          <span>Opens its screen.</span>
        </li>
      )}
    </ul>
  )
}

type DecidingProps = { decision: Decision; isFirst: boolean; why?: string | undefined; onPress?: () => unknown }

function Deciding({ decision, isFirst, why = decision.why, onPress = () => send(decision.request) }: DecidingProps) {
  return (
    <>
      <Act label={decision.label} kind={decision.danger ? 'danger' : isFirst ? 'main' : 'plain'} why={why} onPress={onPress} />
      <span>{why ?? decision.consequence}</span>
    </>
  )
}

/**
 * A decision with a field: Enter, which a scanner also sends, presses its button. The next scan begins in an empty field, and a second Enter
 * sends nothing.
 */
function Asking({ decision, isFirst }: Pick<DecidingProps, 'decision' | 'isFirst'>) {
  const typed = useSignal('')
  const text = typed.value.trim()
  const press = () => {
    typed.value = ''
    return send(requestOf(decision, text))
  }
  const submit = (event: Event) => {
    event.preventDefault()
    if (text && !refusal.value) void press()
  }
  return (
    <form class="row" onSubmit={submit}>
      <BarcodeField label={decision.asks?.label ?? ''} of={typed} />
      <Deciding decision={decision} isFirst={isFirst} why={text ? decision.why : 'Scan or type the barcode first.'} onPress={press} />
    </form>
  )
}

type FormProps = {
  fields: readonly Field[]
  submit: string
  prefix: string
  onSend: (values: Record<string, string>) => unknown
  why?: string | undefined
  extra?: ComponentChildren
  /** Holds what is typed, for a caller that reads or sets it. */
  of?: Signal<Record<string, string>>
}

/** Returns the initial values of fields. */
export function initialOf(fields: readonly Field[]): Record<string, string> {
  return Object.fromEntries(fields.map(({ name, initial }) => [name, initial]))
}

/** A form of fields with its button; a number has buttons for its steps on a touch screen. */
export function Form({ fields, submit, prefix, onSend, why, extra, of }: FormProps) {
  const own = useSignal(initialOf(fields))
  const values = of ?? own
  const trouble = useSignal('')
  const busy = useSignal(false)
  const set = (name: string, value: string) => {
    values.value = { ...values.value, [name]: value }
  }
  const reason = why ?? refusal.value
  return (
    <form
      class="fields"
      onSubmit={async (event) => {
        event.preventDefault()
        trouble.value = ''
        busy.value = true
        try {
          await onSend(values.value)
        } catch (error) {
          trouble.value = error instanceof Error ? error.message : String(error)
        } finally {
          busy.value = false
        }
      }}
    >
      {fields.map((field) => (
        <Input
          key={field.name}
          field={field}
          id={`${prefix}-${field.name}`}
          value={values.value[field.name] ?? ''}
          onChange={(value) => set(field.name, value)}
        />
      ))}
      {extra}
      <div class="row">
        <button type="submit" class="main" disabled={reason !== undefined || busy.value} title={reason}>
          {submit}
        </button>
        {why && <p class="hint">{why}</p>}
        <p class="trouble" role="alert">
          {trouble}
        </p>
      </div>
    </form>
  )
}

/** Returns the mistake in what is typed into a field of several parts; undefined without one, and while the field is empty. */
function mistakeIn({ parse }: Field, text: string): string | undefined {
  if (!parse || text.trim() === '') return undefined
  try {
    void parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

type InputProps = { field: Field; id: string; value: string; onChange: (value: string) => void }

function Input({ field, id, value, onChange }: InputProps) {
  const { label, kind, choices, hint } = field
  const mistake = mistakeIn(field, value)
  const change = (event: Event) => onChange((event.currentTarget as HTMLInputElement).value)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {kind === 'choice' && (
        <select id={id} value={value} onChange={change}>
          {choices?.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
      {kind === 'boolean' && (
        <select id={id} value={value || 'false'} onChange={change}>
          <option value="false">no</option>
          <option value="true">yes</option>
        </select>
      )}
      {kind === 'number' && (
        <Stepper label={label} onStep={(sign) => onChange(stepped(value, sign, field))}>
          <input id={id} inputMode="decimal" autocomplete="off" value={value} onInput={change} />
        </Stepper>
      )}
      {(kind === 'text' || kind === 'json') && (
        <input id={id} autocomplete="off" spellcheck={false} value={value} aria-invalid={mistake !== undefined} onInput={change} />
      )}
      {mistake !== undefined && (
        <small class="trouble" role="alert">
          {mistake}
        </small>
      )}
      {hint && <small>{hint}</small>}
    </div>
  )
}

type StepperProps = { label: string; onStep: (sign: 1 | -1) => void; children: ComponentChildren }

/** A number between two buttons that decrease and increase it. */
export function Stepper({ label, onStep, children }: StepperProps) {
  return (
    <span class="stepper">
      <button type="button" aria-label={`less ${label}`} onClick={() => onStep(-1)}>
        −
      </button>
      {children}
      <button type="button" aria-label={`more ${label}`} onClick={() => onStep(1)}>
        +
      </button>
    </span>
  )
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

/** `of` holds the choice; with `value` and `onChange` the caller does. */
type ChoiceProps = { label: string; choices: Record<string, string> } & (
  | { of: Signal<string> }
  | { value: string; onChange: (value: string) => void }
)

export function Choice({ label, choices, ...held }: ChoiceProps) {
  const value = 'of' in held ? held.of.value : held.value
  const choose = (chosen: string) => {
    if ('of' in held) held.of.value = chosen
    else held.onChange(chosen)
  }
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {Object.entries(choices).map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Makes choices that are labelled with their names. */
export function namesOf(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]))
}

type TextProps = { id: string; label: string; of: Signal<string>; placeholder?: string; children?: ComponentChildren }

/** A field of text; `of` holds what is typed. */
export function Text({ id, label, of, placeholder, children }: TextProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} placeholder={placeholder} value={of.value} onInput={(event) => (of.value = event.currentTarget.value)} />
      {children}
    </div>
  )
}

type UploadProps = { label: string; name: string; accept?: string; onFile: (file: File) => unknown }

/** A button that uploads a file, by default of JSON. */
export function UploadFile({ label, name, accept = '.json,application/json', onFile }: UploadProps) {
  return (
    <label class="button plain">
      {label}
      <input
        type="file"
        class="unseen"
        accept={accept}
        aria-label={name}
        onChange={({ currentTarget }) => {
          const file = currentTarget.files?.[0]
          if (file) void onFile(file)
          currentTarget.value = ''
        }}
      />
    </label>
  )
}

/** Fetches the answer of an operation once, and again when one of `when` changes or `read` is called. A failure keeps the previous answer. */
export function useAnswer<Op extends keyof Operations>(operation: Op, asked: object = {}, when: readonly unknown[] = []) {
  const answer = useSignal<Operations[Op]['answer'] | undefined>(undefined)
  const read = async () => {
    answer.value = (await bench.value?.call(operation, asked as never).catch(() => undefined)) ?? answer.value
  }
  useEffect(() => void read(), [...when])
  return Object.assign(answer, { read })
}

/** A titled part of a screen. */
export function Block({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

/** The button that shows the rest of a shortened list; nothing where the list is whole. */
export function ShowAll({ of, rest }: { of: Signal<boolean>; rest: number }) {
  if (rest <= 0) return null
  return (
    <button type="button" class="quiet" onClick={() => (of.value = true)}>
      Show {rest} more
    </button>
  )
}
