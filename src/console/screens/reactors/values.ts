import type { ApiError } from '../../api/client.ts'
import { fieldList } from '../../kit/form.ts'
import type { TemplateResult } from '../../kit/html.ts'
import { holdsLossyNumber, type JsonObject } from '../../kit/json.ts'
import type { Element, Parameter } from './types.ts'

/** Prefix of the form members that hold values. */
const PREFIX = 'value:'

const textOf = (value: unknown): string =>
  value === undefined || value === null
    ? ''
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)

const HINTS = { string: 'Text', number: 'A number', boolean: 'true or false' } as const

/** Places of the issues of values. */
export const valuePlaces = (elements: readonly Element[]): readonly string[] =>
  elements.map(({ name }) => `configuration.${name}`)

/** A field for each value that a formula declares. */
export const valueFields = (
  elements: readonly Element[],
  values: JsonObject,
  error: ApiError | undefined,
): readonly TemplateResult[] =>
  elements.flatMap(({ name, type, description = HINTS[type] }) =>
    fieldList(
      [
        {
          name: PREFIX + name,
          label: name,
          hint: description,
          kind: type === 'number' ? 'number' : 'text',
          ...(type === 'boolean' ? { choices: ['', 'true', 'false'].map((text) => [text, text]) } : {}),
          place: `configuration.${name}`,
        },
      ],
      { [PREFIX + name]: textOf(Object.hasOwn(values, name) ? values[name] : undefined) },
      error,
    ),
  )

const parseValue = (text: string, type: Element['type']): unknown => {
  const number = Number(text)
  // The API names the field of a text that is no number, or none that it can store exactly.
  if (type === 'number')
    return text.trim() === '' || !Number.isFinite(number) || holdsLossyNumber(text.trim()) ? text : number
  return type === 'boolean' ? text === 'true' : text
}

/** `values`, updated from the fields. An empty field removes its value, except a text that is stored empty. */
export const valuesIn = (form: FormData, elements: readonly Element[], values: JsonObject): JsonObject => {
  const result = new Map(Object.entries(values))
  for (const { name, type } of elements) {
    const text = String(form.get(PREFIX + name) ?? '')
    if (text === textOf(values[name]) && result.has(name)) continue
    if (text === '') result.delete(name)
    else result.set(name, parseValue(text, type))
  }
  return Object.fromEntries(result)
}

const SAMPLES = { string: '', number: 0, boolean: false } as const

/** Arguments with every parameter that is not optional, nested by dots. */
export const sampleArguments = (parameters: readonly Parameter[]): JsonObject => {
  const result: Record<string, unknown> = {}
  for (const { name, type, optional } of parameters) {
    if (optional) continue
    const parts = name.split('.')
    let at = result
    for (const part of parts.slice(0, -1)) {
      if (typeof at[part] !== 'object' || !Object.hasOwn(at, part)) at[part] = {}
      at = at[part] as Record<string, unknown>
    }
    at[parts.at(-1)!] = SAMPLES[type]
  }
  return result
}
