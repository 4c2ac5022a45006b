/** `console`: lines are kept in the isolate, with a cap, and leave it with the outcome. */
import type { RealmLine } from '../abi.ts'
import { settings } from './border.ts'
import { format } from './format.ts'
import { inspect } from './inspect.ts'
import type { InspectOptions } from './inspect-options.ts'
import { jsonArray, now, slice, stringify, text } from './intrinsics.ts'

type Level = RealmLine['level']

const lines: string[] = []
let chars = 0

/** Keeps one line, or as much of it as there is room for. */
export const print = (level: Level, line: string): void => {
  const { logLines, logChars } = settings()
  const room = logChars - chars
  if (lines.length >= logLines || room <= 0) return
  const kept = slice(line, 0, room)
  chars += kept.length
  lines[lines.length] = `{"level":${stringify(level)},"text":${stringify(kept)}}`
}

/** JSON text of the lines so far. */
export const printed = (): string => jsonArray(lines)

const full = () => {
  const { logLines, logChars } = settings()
  return lines.length >= logLines || chars >= logChars
}

let indent = ''
const counts = new Map<string, number>()
const timers = new Map<string, number>()

const write = (level: Level, values: readonly unknown[]) => {
  if (full()) return
  const line = format(...values)
  print(level, indent === '' ? line : indent + line.replaceAll('\n', `\n${indent}`))
}

const printer =
  (level: Level) =>
  (...values: readonly unknown[]): void =>
    write(level, values)

const elapsed = (label: string): string => {
  const milliseconds = now() - (timers.get(label) ?? now())
  return milliseconds < 1000
    ? `${label}: ${milliseconds}ms`
    : `${label}: ${(milliseconds / 1000).toFixed(3)}s`
}

export const console = {
  log: printer('log'),
  info: printer('info'),
  warn: printer('warn'),
  error: printer('error'),
  debug: printer('debug'),
  trace: (...values: readonly unknown[]): void => write('error', [`Trace: ${format(...values)}`]),
  dir: (value: unknown, options: InspectOptions = {}): void => print('log', inspect(value, options)),
  dirxml: printer('log'),
  table: (value: unknown): void => write('log', [value]),
  assert: (holds?: unknown, ...values: readonly unknown[]): void => {
    if (holds) return
    const [first, ...rest] = values
    if (values.length === 0) write('warn', ['Assertion failed'])
    else if (typeof first === 'string') write('warn', [`Assertion failed: ${first}`, ...rest])
    else write('warn', ['Assertion failed:', ...values])
  },
  group: (...values: readonly unknown[]): void => {
    if (values.length > 0) write('log', values)
    if (indent.length < 40) indent += '  '
  },
  groupEnd: (): void => {
    indent = indent.slice(2)
  },
  count: (label: unknown = 'default'): void => {
    const name = text(label)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    write('log', [`${name}: ${counts.get(name)}`])
  },
  countReset: (label: unknown = 'default'): void => void counts.delete(text(label)),
  time: (label: unknown = 'default'): void => void timers.set(text(label), now()),
  timeLog: (label: unknown = 'default', ...values: readonly unknown[]): void =>
    write('log', [elapsed(text(label)), ...values]),
  timeEnd: (label: unknown = 'default'): void => {
    write('log', [elapsed(text(label))])
    timers.delete(text(label))
  },
}

export const groupCollapsed = console.group
Object.assign(console, { groupCollapsed })
