/** The outcome that a realm reports. Code that reaches the realm's bridge can forge any part of it: each is checked. */
import type { Ending } from '../protocol.ts'
import type { RealmLine } from '../realm/abi.ts'

type Reported = Readonly<Record<string, unknown>>

const LEVELS: readonly unknown[] = ['log', 'info', 'warn', 'error', 'debug'] satisfies RealmLine['level'][]

const isText = (value: unknown): value is string => typeof value === 'string'

const parsed = (json: string): Reported => {
  try {
    return Object(JSON.parse(json))
  } catch {
    return {}
  }
}

/** Valid lines of a console. */
export const linesOf = (console: unknown): RealmLine[] =>
  Array.isArray(console) ? console.filter((line) => isText(line?.text) && LEVELS.includes(line.level)) : []

/** Header lines that code may have set to anything: texts, numbers and booleans count. */
const headerTexts = (headers: unknown): Record<string, string> => {
  const texts: Record<string, string> = {}
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return texts
  for (const [name, value] of Object.entries(headers))
    if (['string', 'number', 'boolean'].includes(typeof value)) texts[name] = String(value)
  return texts
}

/** Error that code threw. A status that HTTP does not have makes it an error without a response. */
const thrownEnding = ({ name, message, frames, status, headers, body }: Reported): Ending => {
  const thrown: Ending = {
    kind: 'threw',
    name: isText(name) ? name : 'Error',
    message: isText(message) ? message : '',
    frames: Array.isArray(frames) ? frames.filter(isText) : [],
  }
  if (!Number.isInteger(status) || Number(status) < 100 || Number(status) > 599) return thrown
  return {
    ...thrown,
    status: Number(status),
    ...(headers === undefined ? {} : { headers: headerTexts(headers) }),
    ...(body === undefined ? {} : { body }),
  }
}

const endingOf = (reported: Reported, empty: boolean): Ending => {
  if (reported.kind === 'returned') return { kind: 'returned', empty }
  return reported.kind === 'limit' ? { kind: 'limit', limit: 'result' } : thrownEnding(reported)
}

/** Ending and console of a RealmOutcome's JSON text. `empty`: there is no result. */
export const outcomeOf = (
  head: string,
  empty: boolean,
): { readonly ending: Ending; readonly console: RealmLine[] } => {
  const reported = parsed(head)
  return { ending: endingOf(reported, empty), console: linesOf(reported.console) }
}
