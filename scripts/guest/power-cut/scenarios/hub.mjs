// The event hub of `dist/`, on small segments, so that files begin and end within a scenario.
import { load } from '../../disks.mjs'

const { openEvents } = await load('src/events/open.js')

const log = { info() {}, warn() {}, error() {} }

/** `commit_ms`: how long an event may wait for its sync. */
export function hubs(commit_ms) {
  const config = { system_id: 'system', events: { segment_mib: 0.03, commit_ms, queue: 1000 }, limits: { subscribers: 10 } }
  const opened = (directory, more = {}) => openEvents({ folder: `${directory}/state`, config, log, ...more })
  const withHub = async (directory, use) => {
    const hub = await opened(directory)
    try {
      return await use(hub)
    } finally {
      await hub.close()
    }
  }
  return { opened, withHub }
}
