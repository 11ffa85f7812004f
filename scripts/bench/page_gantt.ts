// The chart of a run of a thousand plates on the page of the bench, scrolled from its first to its last row.

import type { CDPSession, Page } from 'playwright-core'

const plates = 1000
const stepsOfPlate = 9
/** The pace of the bench of the scenes, in whose seconds a forecast is. */
const time_scale = 50
const execution_id = '00000000-0000-4000-8000-000000000001'

/** The path of the run on the page. */
export const ganttPath = `/#/runs/${execution_id}`

/** Gives the page the answers about an open run of so many plates, half of which is done, with its forecast. */
export async function withPlates(page: Page): Promise<void> {
  const began = Date.now() / 1000 - 3600
  const all = Array.from({ length: plates * stepsOfPlate }, (_, n) => stepOf(n))
  // The plan is a minute early.
  const planned = (seconds: number) => Math.max(0, seconds - 60) * time_scale
  const gantt = all.map(({ thread_name, from_s, to_s }) => ({
    ...{ thread_name, kind: 'action', name: 'shake', device: 'shaker-1' },
    ...{ from_s: planned(from_s), to_s: planned(to_s) },
  }))
  const rows = all.map(({ thread_name, from_s, to_s }, n) => ({
    ...{ action_id: `a${n}`, thread_id: thread_name, thread_name, kind: 'action', name: 'shake', method_id: null, method_name: null },
    ...{ device: 'shaker-1', from: null, to: null, transporter: null, created: from_s, started: from_s },
    ...(to_s < 3600 ? { status: 'COMPLETED', ended: to_s } : { status: 'EXECUTING_ACTION', ended: null }),
  }))
  const run = {
    ...{ execution_id, workflow_name: 'many', workflow_hash: '', topology: 'demo', run_mode: 'LIVE', status: 'IN_PROGRESS', reason: null },
    ...{
      started_at: began,
      ended_at: null,
      phase: 'accepting',
      paused: null,
      thread_count: plates,
      open_count: plates,
      needs_person_count: 0,
    },
    ...{ submissions: [], threads: [] },
  }
  const answers: Record<string, object> = {
    '': run,
    '/timeline': { rows: rows.filter(({ started }) => started < 3600), dropped: 0 },
    '/forecast': { made_at: began, verdict: 'completes', makespan_s: 7200, gantt, dropped: 0 },
    '/record': { execution_id, started_at: began, rows: [], damaged: 0, next: 0 },
    '/blockers': { blockers: [] },
  }
  for (const [end, body] of Object.entries(answers))
    await page.route(
      ({ pathname }) => pathname === `/api/executions/${execution_id}${end}`,
      (route) => route.fulfill({ json: body }),
    )
}

function stepOf(n: number): { thread_name: string; from_s: number; to_s: number } {
  const plate = n % plates
  const from_s = plate * 6 + Math.floor(n / plates) * 120
  return { thread_name: `plate-${plate + 1}`, from_s, to_s: from_s + 90 }
}

/** Scrolls through all rows, and counts the frames. Returns the ms of a frame in the middle, and the longest, over all of the way. */
export async function scrolled([page]: readonly [Page, CDPSession]): Promise<{ mean: number; longest: number }> {
  await page.locator('.gantt-row').first().waitFor()
  return page.evaluate(scroll)
}

const frames = 240
const scroll = `new Promise((resolve) => {
  const rows = document.querySelector('.gantt-rows')
  const by = (rows.scrollHeight - rows.clientHeight) / ${frames}
  let [count, longest, from] = [0, 0, performance.now()]
  let last = from
  rows.scrollTop = 0
  const frame = (now) => {
    if (count > 1) longest = Math.max(longest, now - last)
    last = now
    if (count++ === ${frames}) return resolve({ mean: (now - from) / ${frames}, longest })
    rows.scrollTop += by
    requestAnimationFrame(frame)
  }
  requestAnimationFrame((now) => {
    from = now
    last = now
    frame(now)
  })
})`
