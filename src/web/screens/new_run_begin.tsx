// The checks, the forecast and the buttons of a new run. A change of the form takes the forecast away, so that it never stands beside other values.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { CheckSamplesResponse, SimulateResponse } from '../../clients/ts/benchd.ts'
import { planWords } from '../../clients/ts/plan_words.ts'
import { Gantt } from '../gantt.tsx'
import { scaleEnd } from '../gantt_layout.ts'
import { asked } from '../operations.tsx'
import { Act, devicesMayMove } from '../parts.tsx'
import { type Check, checksOf } from '../run_checks.ts'
import { forecastWords, planOf } from '../run_plan.ts'
import { ask, bench, movesNothingReal, notice, now, scope, state, timeScale } from '../store.tsx'
import { Time } from '../time.tsx'
import { duration, sentence } from '../words.ts'
import { requestOf, type Wish } from './new_run_again.tsx'
import { AddToQueue, QueueFields, useQueued } from './new_run_queue.tsx'
import { whyNotWith } from './new_run_samples.tsx'

/** Says what moves in a mode. */
function modeHint(mode: Wish['mode']): string {
  if (mode === 'PURE_SIM') return 'Nothing moves, and no time passes.'
  if (mode === 'DEVICE_SIM') return 'Each device is replaced by a simulator of its own; the devices of the bench do not move.'
  return movesNothingReal.value ? 'The simulated devices of this bench work, as Bench and Deck show.' : 'The devices of this bench move.'
}

/** The forecast is made by itself for so many groups, after the last change of the form, ms. */
const [mostByItself, still_ms] = [10, 500]

/** `children` stand between the checks and the buttons. */
type BeginProps = { wish: Wish; topology: string | undefined; checked: CheckSamplesResponse | undefined; children: ComponentChildren }

export function Begin({ wish, topology, checked, children }: BeginProps) {
  const tried = useSignal<SimulateResponse | undefined>(undefined)
  const isShown = useSignal(false)
  const queued = useQueued()
  const { workflow, mode, groups } = wish
  const isCounted = wish.samples !== '' || /^[1-9]\d{0,3}$/.test(groups)
  const why = isCounted ? whyNotWith(wish, checked) : 'Groups must be a whole number from 1.'
  const count = wish.samples === '' ? Number(groups) : (checked?.groups.length ?? 0)
  const key = JSON.stringify(wish)
  const shown = useRef(key)
  shown.current = key
  /** Takes an answer, unless the form has changed since it was asked for. */
  const take = (answer: SimulateResponse | undefined) => {
    const isOfForm = answer !== undefined && shown.current === key
    if (isOfForm) tried.value = answer
    return isOfForm
  }
  useEffect(() => {
    tried.value = undefined
    isShown.value = false
    if (why || !workflow || scope.value === 'read' || count > mostByItself) return
    const timer = setTimeout(async () => {
      // A refusal is not shown here, because a person may still be typing. The buttons *Dry run* and *Start run* show it.
      take(await bench.value?.call('simulate', { body: requestOf(wish) }).catch(() => undefined))
    }, still_ms)
    return () => clearTimeout(timer)
  }, [key, why])
  const start = async () => {
    const answer = await ask('submit', { body: requestOf(wish), idempotencyKey: `page-${Date.now()}-${Math.random()}` })
    if (answer) location.hash = `#/runs/${answer.execution_id}`
  }
  const dryRun = async () => {
    isShown.value = take(await ask('simulate', { body: requestOf(wish) }, { quiet: true }))
  }
  const scale = mode === 'PURE_SIM' ? 1 : timeScale.value
  return (
    <>
      {topology !== undefined && <Checks topology={topology} mode={mode} refusal={tried.value?.refusal} />}
      {children}
      <QueueFields {...queued} />
      {isShown.value && tried.value && <Forecast {...tried.value} scale={scale} />}
      <div class="row foot">
        <Act
          label="Start run"
          twice={mode === 'LIVE' && !movesNothingReal.value ? devicesMayMove : undefined}
          why={why}
          kind="main"
          onPress={start}
        />
        <AddToQueue wish={wish} why={why} queued={queued} />
        <Act label="Dry run" why={why} onPress={dryRun} />
        <p class={why ? 'trouble' : 'hint'}>
          {why ?? (
            <>
              {tried.value?.verdict === 'completes' && mode !== 'PURE_SIM' && (
                <strong>
                  Takes about {duration(tried.value.makespan_s / scale)}, until{' '}
                  <Time at={now.value / 1000 + tried.value.makespan_s / scale} />.{' '}
                </strong>
              )}
              {modeHint(mode)}
            </>
          )}
        </p>
      </div>
    </>
  )
}

type ChecksProps = { topology: string; mode: Wish['mode']; refusal: string | null | undefined }

function Checks({ topology, mode, refusal }: ChecksProps) {
  const isMissing = mode !== 'PURE_SIM' && !state.value.topology[topology]
  const checks = checksOf({ topology, mode, state: state.value, refusal })
  if (!isMissing && checks.length === 0) return null
  return (
    <ul class="checks" aria-label="Checks">
      {isMissing && (
        <li class="row">
          <span>This workflow needs the topology {topology}.</span>
          <Act label={`Load topology ${topology}`} onPress={() => ask('loadTopology', { body: { name: topology, force: false } })} />
        </li>
      )}
      {checks.map((check) => (
        <li key={check.text} class="row">
          <span class={check.isBad ? 'bad long' : 'long'}>
            {check.isBad && '▲ '}
            {check.text}
          </span>
          <Remedy check={check} />
        </li>
      ))}
    </ul>
  )
}

function Remedy({ check: { initialize, href, label } }: { check: Check }) {
  if (initialize) {
    const all = async () => {
      const refused = (await Promise.all(initialize.map((device) => asked('initializeDevice', device)))).find((one) => one !== undefined)
      if (refused) notice.value = { text: refused, bad: true }
    }
    const [first] = initialize
    return (
      <Act
        label={initialize.length === 1 ? `Initialize ${first!.device_id}` : `Initialize ${initialize.length} devices`}
        twice={movesNothingReal.value ? undefined : devicesMayMove}
        onPress={all}
      />
    )
  }
  return href ? (
    <a class="button plain" href={href}>
      {label}
    </a>
  ) : null
}

const verdicts: Record<SimulateResponse['verdict'], { word: string; tone: string }> = {
  completes: { word: 'The run completes.', tone: 'good' },
  fails: { word: 'The run fails.', tone: 'bad' },
  deadlock: { word: 'The run ends in a deadlock.', tone: 'bad' },
  waits: { word: 'The run waits for something that never happens.', tone: 'bad' },
  endless: { word: 'The run does not end.', tone: 'bad' },
}

function Forecast({
  scale,
  verdict,
  makespan_s,
  conflict,
  refusal,
  gantt,
  waiting,
  conditions,
  devices,
  moves,
  actions,
  plan,
}: SimulateResponse & { scale: number }) {
  const { word, tone } = verdicts[verdict]
  const lanes = [...planOf(gantt, scale)].map(([thread, plan]) => ({ thread, plan, bars: [] }))
  const its = useRef<HTMLElement>(null)
  useEffect(() => its.current?.scrollIntoView({ block: 'nearest' }), [gantt])
  return (
    <section aria-label="Dry run" class="forecast" ref={its}>
      <p class={`state ${tone}`} role="status">
        <strong>{word}</strong> It takes {forecastWords(makespan_s, scale)}, with {actions} actions and {moves} moves.
      </p>
      {plan && <p>{sentence(planWords({ verdict, makespan_s, plan }, duration))}</p>}
      {refusal && <p class="fault long">{sentence(refusal)}</p>}
      {conflict && <p class="fault long">{sentence(conflict)}</p>}
      {waiting.map(({ thread_id, thread_name, because }) => (
        <p key={thread_id} class="hint long">
          {thread_name}: {because.join('; ')}
        </p>
      ))}
      {conditions.map(({ thread, step, condition, examples, goes, then, else: otherwise }) => (
        <p key={`${thread}/${step}`} class="hint long">
          {thread}, {step}: if {condition}: {then.join(', ') || 'nothing'}; else {otherwise.join(', ') || 'nothing'}. Here “{goes}”, with{' '}
          {Object.entries(examples)
            .map(([name, value]) => `${name} = ${value}`)
            .join(', ')}
          .
        </p>
      ))}
      <Gantt lanes={lanes} end_s={scaleEnd(makespan_s / scale)} label="Timeline" />
      <p class="hint">{devices.map(({ device, share }) => `${device} ${Math.round(share * 100)} %`).join(' · ')}</p>
    </section>
  )
}
