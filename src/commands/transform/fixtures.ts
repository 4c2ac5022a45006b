/** Builds the message for a transform from the command line. */
import { readFileSync } from 'node:fs'
import { isObject, type Json } from '../../common/json.ts'
import { parseJson } from '../../common/parse-json.ts'
import { type Head, type HeaderRules, strippedNames } from '../../gateway/headers.ts'
import { readBody, type Shape, shapeOf, writeBody } from '../../gateway/transform/content.ts'
import type { Message } from '../../gateway/transform/run.ts'

/** Options of the command line. `body`, `headers` and `configuration`: JSON, or `@` and the name of a file. */
export interface FixtureOptions {
  readonly body?: string
  readonly headers?: string
  readonly configuration?: string
  readonly method: string
  readonly path: string
  readonly query: string
  readonly type: Shape
  readonly response?: true
}

/** The transform cannot be run. The message has the remedy, and no content of a fixture. */
export class FixtureError extends Error {}

export interface Fixture {
  readonly message: Message
  readonly configuration: Readonly<Record<string, string>>
}

const TYPES: Readonly<Record<Shape, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
}

/** The text of a file. Throws FixtureError. */
export const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new FixtureError(`"${path}" cannot be read. Name a file that exists.`)
  }
}

const textOf = (argument: string): string =>
  argument.startsWith('@') ? readText(argument.slice(1)) : argument

const parse = (text: string, option: string): Json => {
  try {
    return parseJson(text) as Json
  } catch {
    throw new FixtureError(`${option} is not JSON. Give JSON, or a JSON file as @file.`)
  }
}

const objectOf = (argument: string | undefined, option: string): Record<string, Json> => {
  const value = argument === undefined ? {} : parse(textOf(argument), option)
  if (!isObject(value))
    throw new FixtureError(`${option} is not a JSON object. Give one, e.g. {"name":"value"}.`)
  return value as Record<string, Json>
}

/** Headers as in a request. */
const headOf = (argument: string | undefined, contentType: string): Head => {
  const head = new Map<string, readonly string[]>([['content-type', [contentType]]])
  for (const [name, value] of Object.entries(objectOf(argument, '--headers')))
    head.set(name.toLowerCase(), Array.isArray(value) ? value.map(String) : [String(value)])
  return head
}

/** A form may also be given as JSON. */
const bodyOf = async (argument: string | undefined, shape: Shape): Promise<Buffer> => {
  const text = argument === undefined ? '' : textOf(argument)
  if (shape === 'json') parse(text || '{}', '--body')
  else if (text.trimStart().startsWith('{')) {
    const bytes = await writeBody(TYPES.form, parse(text, '--body'), false)
    if (bytes === undefined)
      throw new FixtureError('--body is not a form: fields must be strings or lists of strings.')
    return bytes
  }
  return Buffer.from(text)
}

/** Rejects with FixtureError. */
export const fixtureOf = async (options: FixtureOptions, prefixes: HeaderRules): Promise<Fixture> => {
  const head = headOf(options.headers, TYPES[options.type])
  const shape = shapeOf(head.get('content-type')?.[0])
  if (shape === undefined)
    throw new FixtureError('Transforms run on JSON and forms only. Give such a content-type, or none.')
  const body = await bodyOf(options.body, shape)
  try {
    await readBody(shape, body)
  } catch {
    throw new FixtureError('A gateway would reject --body. Check its depth and its content type.')
  }
  const configuration = Object.fromEntries(
    Object.entries(objectOf(options.configuration, '--configuration')).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
  if (options.response) return { message: { head, shape, body }, configuration }
  const { method, path, query } = options
  const args = { method, path, query: query === '' || query.startsWith('?') ? query : `?${query}` }
  return { message: { head, stripped: strippedNames(head, prefixes), shape, body, args }, configuration }
}
