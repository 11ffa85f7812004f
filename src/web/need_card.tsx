// The cards of Needs you: a decision with its consequences, or a task for the hands with one large button.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { BarcodeField } from './barcode_field.tsx'
import { MorePart } from './more_part.tsx'
import { type Decision, type Need, type Task, withBody } from './need.ts'
import { Act, Decisions } from './parts.tsx'
import { notice, now, refusal, refusalOf, route } from './store.tsx'
import { Time } from './time.tsx'
import { onPage } from './words.ts'

export function NeedCard({ need }: { need: Need }) {
  const { id, title, text, since, severe, decisions, task, href } = need
  const [main] = decisions
  const titleId = `need-${id.replaceAll(' ', '-')}`
  return (
    <article class={`need${severe ? ' severe' : ''}${task ? ' task' : ''}`} aria-labelledby={titleId}>
      <h3 id={titleId}>
        <span aria-hidden="true">{severe ? '▲ ' : '● '}</span>
        {title}
        {since !== undefined && (
          <small>
            {' '}
            since <Time at={since} now={now.value / 1000} />
          </small>
        )}
      </h3>
      {task && main ? (
        <Answers key={task.phase} need={need} task={task} main={main} titleId={titleId} />
      ) : (
        <>
          <p class="long">{onPage(text)}</p>
          <Decisions decisions={decisions} href={href} />
        </>
      )}
    </article>
  )
}

type AnswersProps = { need: Need; task: Task; main: Decision; titleId: string }

/**
 * The instruction of a task and its answers. After an answer the buttons are disabled until the live state shows what came of it. A scanner types the
 * barcode and sends Enter, which presses the large button.
 */
function Answers({ need: { id, text, href }, task: { note, carries }, main, titleId }: AnswersProps) {
  const barcode = useSignal('')
  const trouble = useSignal('')
  const isSent = useSignal(false)
  const open = useSignal<'elsewhere' | 'cannot' | undefined>(undefined)
  const place = useLink(id)
  const read = barcode.value.trim()
  const sent = isSent.value ? 'The answer was sent.' : undefined
  const why = sent ?? main.why ?? (main.asks && !main.asks.isOptional && !read ? 'Scan or type the barcode first.' : undefined)
  const answer = async (members: object = {}) => {
    const scanned = main.asks && read ? { [main.asks.member]: read } : {}
    trouble.value = (await refusalOf(withBody(main.request, { ...members, ...scanned }))) ?? ''
    // The next scan begins in an empty field.
    barcode.value = ''
    if (trouble.value) return
    isSent.value = true
    notice.value = undefined
  }
  const toggle = (which: 'elsewhere' | 'cannot') => {
    open.value = open.value === which ? undefined : which
  }
  return (
    <div class="answers" ref={place} tabIndex={-1}>
      {note && (
        <p class="again">
          <span aria-hidden="true">↻ </span>
          {note}
        </p>
      )}
      <p class="instruction" id={`${titleId}-text`}>
        {onPage(text)}
      </p>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault()
          // Enter in an empty field presses nothing.
          if (!why && !refusal.value && (read || !main.asks)) void answer()
        }}
      >
        {main.asks && <BarcodeField {...main.asks} of={barcode} takesFocus={!main.asks.isOptional} />}
        <Act label={main.label} kind="main" why={why} about={`${titleId}-text`} onPress={() => answer()} />
        {!trouble.value && <span class="hint">{why ?? main.consequence}</span>}
        <p class="trouble" role="alert">
          {trouble}
        </p>
      </form>
      <div class="row">
        {carries && (
          <>
            <Opener label="Put elsewhere" isOpen={open.value === 'elsewhere'} onPress={() => toggle('elsewhere')} />
            <Opener label="Cannot" isOpen={open.value === 'cannot'} onPress={() => toggle('cannot')} />
          </>
        )}
        {href && !location.hash.startsWith(href) && (
          <a class="button quiet" href={href}>
            Show it
          </a>
        )}
      </div>
      {carries && open.value === 'elsewhere' && (
        <MorePart
          show={({ Elsewhere }) => <Elsewhere {...carries} why={why} onAnswer={(position) => answer({ answer: 'elsewhere', position })} />}
        />
      )}
      {carries && open.value === 'cannot' && (
        <MorePart
          show={({ Cannot }) => (
            <Cannot {...carries} why={sent} onAnswer={(reason) => answer({ answer: 'cannot', ...(reason && { reason }) })} />
          )}
        />
      )}
    </div>
  )
}

/** Brings the task into view that the address of the page names, as links in messages do. */
function useLink(id: string) {
  const place = useRef<HTMLDivElement>(null)
  const isNamed = id === `step ${route.value[2]}`
  useEffect(() => {
    if (isNamed) place.current?.focus()
  }, [isNamed])
  return place
}

function Opener({ label, isOpen, onPress }: { label: string; isOpen: boolean; onPress: () => void }) {
  return (
    <button type="button" class={isOpen ? 'plain open' : 'plain'} aria-expanded={isOpen} onClick={onPress}>
      {label}
    </button>
  )
}
