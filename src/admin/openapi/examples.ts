import { AppError } from '../../common/errors.ts'
import { isObject } from '../../common/json.ts'
import type { Example, Operation } from '../../sdk/index.ts'

/** Example Objects by name (https://spec.openapis.org/oas/v3.1.1.html#example-object). */
export type PrintedExamples = Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>

const nameOf = ({ summary }: Example) =>
  summary
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

/** `{ examples }` of those that have a value; nothing when none has. A call's parts go by the same name. */
const printed = (
  operation: Operation,
  valueIn: (example: Example) => unknown,
): { readonly examples?: PrintedExamples } => {
  const entries = (operation.examples ?? []).flatMap((example) => {
    const value = valueIn(example)
    return value === undefined ? [] : [[nameOf(example), { summary: example.summary, value }] as const]
  })
  return entries.length === 0 ? {} : { examples: Object.fromEntries(entries) }
}

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** Examples of one parameter. */
export const parameterExamples = (operation: Operation, name: string) =>
  printed(operation, ({ input }) => memberOf(input, name))

/** Examples of the request body: its members, or the one member that is the complete body. */
export const bodyExamples = (operation: Operation, members: readonly string[]) =>
  printed(operation, ({ input }) => {
    if (operation.body !== undefined) return memberOf(input, operation.body)
    const sent = members.filter((name) => memberOf(input, name) !== undefined)
    return Object.fromEntries(sent.map((name) => [name, memberOf(input, name)]))
  })

/** Examples of the response to a call that succeeds. */
export const responseExamples = (operation: Operation) =>
  printed(operation, (example) => {
    if (!('output' in example)) return undefined
    return operation.responseBody === undefined
      ? example.output
      : memberOf(example.output, operation.responseBody)
  })

/** Examples of the responses to calls that fail, by status. */
export const failureExamples = (operation: Operation) => {
  const byStatus = new Map<number, { readonly title: string; readonly examples: PrintedExamples }>()
  for (const example of operation.examples ?? []) {
    if (!('error' in example)) continue
    const { code, detail, errors } = example.error
    const value = new AppError(code, detail, errors && { errors }).toProblem()
    const { title, status } = value
    const before = byStatus.get(status)
    byStatus.set(status, {
      title: before?.title ?? title,
      examples: { ...before?.examples, [nameOf(example)]: { summary: example.summary, value } },
    })
  }
  return byStatus
}
