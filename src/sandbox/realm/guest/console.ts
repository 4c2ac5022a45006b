/** `console`: writes to `console-buffer.ts`. Created on first use. */

import type { InspectOptions } from 'node:util'
import type { RealmLine } from '../abi.ts'
import { full, print } from './console-buffer.ts'
import { format, inspect } from './inspect.ts'
import { now, text } from './intrinsics.ts'

type Level = RealmLine['level']

let indent = ''
const counts = new Map<string, number>()
const timers = new Map<string, number>()

/** Frames of the realm itself in a stack. */
const OWN_FRAMES = /\n +at (?:[^\n]* \()?sidevault:\d+:\d+\)?/g

const isPlain = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && value !== 0)

/** Formats like Node, but never throws. Most output needs no inspection. */
const textOf = (values: readonly unknown[]): string => {
  try {
    const [first] = values
    const hasFormat = values.length > 1 && typeof first === 'string' && first.includes('%')
    return values.every(isPlain) && !hasFormat ? values.join(' ') : format(...values).replace(OWN_FRAMES, '')
  } catch {
    return '[values that cannot be shown]'
  }
}

const write = (level: Level, values: readonly unknown[]) => {
  if (full()) return
  const line = textOf(values)
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

const console = {
  log: printer('log'),
  info: printer('info'),
  warn: printer('warn'),
  error: printer('error'),
  debug: printer('debug'),
  trace: (...values: readonly unknown[]): void => write('error', [`Trace: ${textOf(values)}`]),
  dir: (value: unknown, options?: InspectOptions): void => write('log', [inspect(value, options)]),
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

export const builtin = Object.assign(console, { groupCollapsed: console.group })
