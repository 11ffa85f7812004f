// Sends an e-mail when somebody is needed, a device has a fault, or a run ends. It needs the package nodemailer:
//
//   sudo npm install --ignore-scripts --prefix /etc/benchd/plugins nodemailer
//
// Settings:
//   {"host": "mail.lab", "port": 587, "user": "bench", "password_file": "smtp-password", "from": "bench@lab", "to": ["ann@lab"],
//    "tls": "starttls", "every_s": 60}
//
// `tls`: `starttls` (default; the mail is not sent without it), `tls` from the first byte (port 465), or `none`. `password_file` is a path, or a name in
// systemd's $CREDENTIALS_DIRECTORY. At most one mail each `every_s` seconds is sent, with everything that happened since the last.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type PluginBench, plugin, type RuntimeEvent } from 'benchd/plugin'

type Settings = {
  host: string
  port?: number
  user?: string
  password_file?: string
  from: string
  to: string | string[]
  tls?: 'starttls' | 'tls' | 'none'
  every_s?: number
}

/** The part of nodemailer that is used. */
type Mail = { from: string; to: string | string[]; subject: string; text: string }
type Nodemailer = { createTransport(options: object): { sendMail(mail: Mail): Promise<unknown>; close(): void } }

/** Lines that wait; the oldest are left out when there are more. */
const mostLines = 200
const answer_ms = 20_000

export default plugin({
  name: 'e-mail',
  async start(bench) {
    const settings = settingsOf(bench.settings)
    const { from, to, every_s = 60 } = settings
    const transport = await transportOf(settings)
    let lines: string[] = []
    let leftOut = 0
    let sending: Promise<void> = Promise.resolve()
    let timer: NodeJS.Timeout | undefined
    let sentAt = 0
    const send = async () => {
      timer = undefined
      const [count, missing] = [lines.length, leftOut]
      if (count === 0) return
      const text = [...lines, ...(missing ? [`${missing} older messages are left out.`] : [])].join('\n\n')
      const subject = `${bench.system_id}: ${count === 1 ? lines[0]!.slice(0, 100) : `${count} messages`}`
      try {
        sentAt = Date.now()
        await transport.sendMail({ from, to, subject, text: `${text}\n` })
        lines = lines.slice(count)
        leftOut -= missing
      } catch (error) {
        bench.log(`no mail is sent: ${(error as Error).message}; it is tried again`)
      }
      later()
    }
    const later = () => {
      const wait_ms = Math.max(1000, sentAt + every_s * 1000 - Date.now())
      if (lines.length > 0) timer ??= setTimeout(() => (sending = send()), wait_ms)
    }
    const add = (line: string) => {
      lines.push(line)
      leftOut += Math.max(0, lines.length - mostLines)
      lines = lines.slice(-mostLines)
      later()
    }
    bench.registerSink({
      async onEvent(event) {
        const line = lineOf(event)
        if (line !== undefined && !(await isSimulated(bench, event))) add(line)
      },
      onDropped: (count) => add(`${count} events were too many; see the page of the bench.`),
    })
    return async () => {
      clearTimeout(timer)
      await sending
      if (lines.length > 0) await send()
      clearTimeout(timer)
      transport.close()
    }
  },
})

/** Words an event that a person should know of. */
function lineOf({ entity_type, entity_id, status, context }: RuntimeEvent): string | undefined {
  if (entity_type === 'INCIDENT') return `${context['message']}`
  if (entity_type === 'DEVICE' && status === 'FAULTED') return `${entity_id} has a fault: ${context['error']}`
  if (entity_type === 'OPERATOR' && status === 'INSTRUCTION')
    return `${context['workflow_name']} waits for a person: ${context['instruction']}`
  if (entity_type === 'THREAD' && status.startsWith('AWAITING_MANUAL'))
    return `${context['thread_name']} of ${context['workflow_name']} waits for a person`
  if (entity_type === 'EXECUTION') return `The run of ${context['workflow_name']} ended: ${status}`
  return undefined
}

/** Whether the event is of a run on the clock alone, which concerns nobody. */
async function isSimulated(bench: PluginBench, { execution_id }: RuntimeEvent): Promise<boolean> {
  if (execution_id === bench.system_id) return false
  const { body } = await bench.request('GET', `/api/executions/${encodeURIComponent(execution_id)}`)
  return (body as { run_mode?: string } | null)?.run_mode === 'PURE_SIM'
}

function settingsOf(settings: object): Settings {
  const missing = ['host', 'from', 'to'].filter((name) => !(name in settings))
  if (missing.length > 0) throw new Error(`the settings have no ${missing.join(', ')}`)
  return settings as Settings
}

async function transportOf({ host, port, user, password_file, tls = 'starttls' }: Settings) {
  const name = 'nodemailer'
  const { default: nodemailer } = (await import(name).catch((error) => {
    throw new Error(`${error.message}; install it: sudo npm install --ignore-scripts --prefix /etc/benchd/plugins nodemailer`)
  })) as { default: Nodemailer }
  const password = password_file && readFileSync(resolve(process.env['CREDENTIALS_DIRECTORY'] ?? '/', password_file), 'utf8').trim()
  return nodemailer.createTransport({
    ...{
      host,
      port: port ?? (tls === 'tls' ? 465 : 587),
      secure: tls === 'tls',
      requireTLS: tls === 'starttls',
      ignoreTLS: tls === 'none',
    },
    ...(user !== undefined && { auth: { user, pass: password } }),
    ...{ connectionTimeout: answer_ms, greetingTimeout: answer_ms, socketTimeout: answer_ms },
    // A setting must not make it read files or fetch addresses.
    ...{ disableFileAccess: true, disableUrlAccess: true },
  })
}
