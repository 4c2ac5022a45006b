/** What the code has printed: kept in the isolate, with a cap, until it leaves with the outcome. */
import type { RealmLine } from '../abi.ts'
import { settings } from './bridge.ts'
import { jsonArray, slice, stringify } from './intrinsics.ts'

type Level = RealmLine['level']

const lines: string[] = []
let chars = 0

/** Nothing has been printed yet. */
export const clear = (): void => {
  lines.length = 0
  chars = 0
}

/** Keeps one line, or as much of it as there is room for. */
export const print = (level: Level, line: string): void => {
  const { logLines, logChars } = settings()
  const room = logChars - chars
  if (lines.length >= logLines || room <= 0) return
  const retained = slice(line, 0, room)
  chars += retained.length
  lines[lines.length] = `{"level":${stringify(level)},"text":${stringify(retained)}}`
}

/** JSON text of the lines so far. */
export const printed = (): string => jsonArray(lines)

/** There is no room for another line. */
export const full = () => {
  const { logLines, logChars } = settings()
  return lines.length >= logLines || chars >= logChars
}
