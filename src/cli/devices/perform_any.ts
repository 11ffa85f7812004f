// `benchd devices perform ID OPERATION --parameter VALUE`: any operation that the capabilities of a device describe.

import { parameterValue, type TypedSchema } from '../../clients/ts/parameter_value.ts'
import type { Capabilities } from '../../devices/records.ts'
import { messageOf } from '../../errors.ts'
import { didYouMean, inSentence } from '../../kit/did_you_mean.ts'
import { tells } from '../asking.ts'
import { ask, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { CliError } from '../exit.ts'
import { numberOf } from '../numbers.ts'
import { off, overrideOption, overriding } from './operations.ts'
import { pathOf, perform } from './perform.ts'

export const performAny = command({
  name: 'devices perform',
  summary: 'Perform any operation of a device, with its parameters as options: --wavelength 600',
  operands: ['ID', 'OPERATION'],
  options: {
    'stop-on-interrupt': { type: 'boolean', help: 'Stop the device on Ctrl-C; by default the operation continues' },
    ...overrideOption,
    ...serviceOptions,
  },
  takes_more: true,
  example: 'benchd devices perform reader-1 read --wavelength 600',
  async run({ options, operands: [device_id = '', typed = ''], more }) {
    const service = serviceOf(options)
    const { operations } = await ask<Capabilities>(service, 'GET', `${pathOf(device_id)}/capabilities`)
    const known = operations.filter(({ method, name }) => method === 'POST' && name !== 'stop')
    // Like the operations of every bench, `read-absorbance` names `read_absorbance`.
    const its = known.find(({ name }) => name === typed) ?? known.find(({ name }) => name === typed.replaceAll('-', '_'))
    if (!its) {
      const names = known.map(({ name }) => name)
      throw new CliError('usage', `${device_id} cannot ${typed}: it knows ${inSentence(names)}${didYouMean(typed, names)}`)
    }
    const operation = its.name
    return perform(service, {
      ...{ device_id, operation, route: 'perform', body: { operation, params: paramsOf(its.params, more) }, headers: overriding(options) },
      ...{ stops: options['stop-on-interrupt'] ?? false, asJson: options.json ?? false },
    })
  },
})

export const acceptDescription = tells({
  name: 'devices accept',
  summary: 'Accept the new description of a bridge',
  operands: ['ID'],
  tell: ({ operands: [id = ''] }) => ({ path: `${pathOf(id)}/accept` }),
})

/** Parses the parameters; the service checks their limits. */
function paramsOf(schema: { properties?: Record<string, TypedSchema> } | Record<string, unknown>, given: Readonly<Record<string, string>>) {
  const properties = (schema.properties ?? {}) as Record<string, TypedSchema>
  return Object.fromEntries(
    Object.entries(given).map(([option, text]) => {
      const name = option in properties ? option : option.replaceAll('-', '_')
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (!property) {
        const known = Object.keys(properties)
        const there = known.length ? `it takes ${inSentence(known.map((one) => `--${one}`))}` : 'it takes none'
        throw new CliError('usage', `there is no parameter --${option}: ${there}${didYouMean(name, known)}`)
      }
      return [name, valueFor(option, text, property)]
    }),
  )
}

/** Returns the value of a typed parameter: JSON for an array or an object, or a list with commas; a plain word for a text. */
function valueFor(option: string, text: string, schema: TypedSchema): unknown {
  const { type } = schema

  if (type === 'string') return text
  if (type === 'boolean') {
    if (text === 'true' || text === 'false') return text === 'true'
    throw new CliError('usage', `--${option} ${text} is neither true nor false`)
  }
  if (text === off && Array.isArray(type) && type.includes('null')) return null
  const types = [type].flat()
  if (types.every((one) => one === 'number' || one === 'integer' || one === 'null') && text !== 'null') return numberOf(`--${option}`, text)
  try {
    return parameterValue(text, schema)
  } catch (error) {
    throw new CliError('usage', `--${option} ${messageOf(error)}`)
  }
}
