import { AppError } from '../../common/errors.ts'
import type { Scanner } from './scanner.ts'

const OPEN = 0x7b
const CLOSE = 0x7d

const isPrintable = (byte: number) => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d)

/**
 * Throws `malformed` for a body that visibly holds an expression: `{{`, printable ASCII, `}}`. Zero bytes do not count,
 * so that UTF-16 and UTF-32 are seen too; in binary data this is no accident.
 */
export const createUnread = (why: string): Scanner => {
  /** 0: outside; 1: behind `{`; 2: behind `{{`; 3: behind `}` within. */
  let state = 0
  return {
    encoding: 'latin1',
    mayHold: (bytes) => bytes.includes('{'),
    scan(part) {
      for (let at = 0; at < part.length; at++) {
        if (state === 0) {
          at = part.indexOf(OPEN, at)
          if (at === -1) break
          state = 1
          continue
        }
        const byte = part[at] as number
        if (byte === 0) continue
        if (state === 1) state = byte === OPEN ? 2 : 0
        else if (byte === CLOSE) {
          if (state === 3)
            throw new AppError('malformed', `The body holds an expression, and ${why}. Nothing was replaced.`)
          state = 3
        } else state = isPrintable(byte) ? 2 : 0
      }
      return { end: part.length, occurrences: [] }
    },
  }
}
