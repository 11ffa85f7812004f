// The two forms of most commands: they show an answer of the service, or send it a request.

import { ask, patiently, type Service, serviceOf, serviceOptions } from './client.ts'
import { type Command, command, type commonOptions, type Declaration, type OptionTable, type OptionValues } from './command.ts'
import { print } from './table.ts'
import { mustBeSure, type OperationAnswer, say, yesOption } from './terminal.ts'

type CommandInput<Own extends OptionTable> = {
  service: Service
  options: OptionValues<Own & typeof serviceOptions & typeof commonOptions>
  operands: readonly string[]
}

type Definition<Own extends OptionTable> = Pick<Declaration<Own>, 'name' | 'aliases' | 'summary' | 'operands' | 'example'> & {
  options?: Own
}

/**
 * Makes a command that GETs `path` and prints the answer, worded by `text` or as JSON. `also` prints notes on stderr. `whom` finds the service
 * from the options.
 */
export function shows<Shown, Own extends OptionTable = Record<never, never>>({
  path,
  text,
  also = () => undefined,
  whom = serviceOf,
  ...its
}: Definition<Own> & {
  path(asked: CommandInput<Own>): string | Promise<string>
  text(shown: Shown, asked: CommandInput<Own>): string
  also?(shown: Shown, asked: CommandInput<Own>): void
  whom?(options: OptionValues<typeof serviceOptions>): Service
}): Command {
  return command({
    ...its,
    options: { ...(its.options as Own), ...serviceOptions },
    async run({ options, operands }) {
      const service = whom(options)
      const asked = { service, options, operands } as CommandInput<Own>
      const shown = await ask<Shown>(service, 'GET', await path(asked))
      const words = options.json ? JSON.stringify(shown) : text(shown, asked)
      if (words) print(words)
      also(shown, asked)
    },
  })
}

/** `patient`: the request may take long. */
type Telling = { method?: 'POST' | 'PUT' | 'DELETE'; path: string; body?: object; headers?: Record<string, string>; patient?: boolean }

/**
 * Makes a command that sends a request and prints the answer. A request that cannot be undone has a `deed`, which is confirmed first.
 * Before a DELETE the service is asked for the object, so that nobody confirms the deletion of something that does not exist.
 */
export function tells<Own extends OptionTable = Record<never, never>>({
  tell,
  deed,
  whom = serviceOf,
  ...its
}: Definition<Own> & {
  tell(asked: CommandInput<Own>): Telling | Promise<Telling>
  deed?(operands: readonly string[]): string
  whom?(options: OptionValues<typeof serviceOptions>): Service
}): Command {
  return command({
    ...its,
    options: { ...(its.options as Own), ...(deed && yesOption), ...serviceOptions },
    async run({ options, operands }) {
      const service = whom(options)
      const { method = 'POST', path, body, headers, patient } = await tell({ service, options, operands } as CommandInput<Own>)
      if (deed && !(options as OptionValues<typeof yesOption>).yes) {
        if (method === 'DELETE') await ask(service, 'GET', path)
        await mustBeSure(options as OptionValues<typeof yesOption>, deed(operands))
      }
      return say(
        await ask<OperationAnswer>(patient ? patiently(service) : service, method, path, body, { headers }),
        options.json as boolean | undefined,
      )
    },
  })
}
