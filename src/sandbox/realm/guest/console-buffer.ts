/** Console output: buffered in the isolate up to a limit, returned with the outcome. */
import type { RealmLine } from '../abi.ts'
import { settings } from './bridge.ts'
import { jsonArray, slice, stringify } from './intrinsics.ts'

type Level = RealmLine['level']

const lines: string[] = []
let chars = 0

/** Adds one line, truncated to the remaining space. */
export const print = (level: Level, line: string): void => {
  const { logLines, logChars } = settings()
  const room = logChars - chars
  if (lines.length >= logLines || room <= 0) return
  const retained = slice(line, 0, room)
  chars += retained.length
  lines[lines.length] = `{"level":${stringify(level)},"text":${stringify(retained)}}`
}

/** JSON text of the lines. */
export const printed = (): string => jsonArray(lines)

/** True when no line can be added. */
export const full = () => {
  const { logLines, logChars } = settings()
  return lines.length >= logLines || chars >= logChars
}
