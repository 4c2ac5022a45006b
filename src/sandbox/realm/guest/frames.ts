/** Where in the customer's own text an error came from. */
import { settings } from './bridge.ts'
import { endsWith, indexOf, NativeError, slice, startsWith } from './intrinsics.ts'

const FRAMES = 10
const LINES = 50
const STACK = 20_000

/** The place in one line of a stack, `request_transform:3:7`, when it lies in the file `name`. */
const placeIn = (line: string, name: string): string | undefined => {
  let at = -1
  for (let next = indexOf(line, `${name}:`); next >= 0; next = indexOf(line, `${name}:`, next + 1)) at = next
  if (at < 0 || !startsWith(line, '    at ')) return undefined
  const place = slice(line, at)
  return endsWith(place, ')') ? slice(place, 0, -1) : place
}

/** Frames of the code itself, innermost first, at most ten; none of ours. Never throws. */
export const framesOf = (error: unknown): string[] => {
  const frames: string[] = []
  try {
    if (!(error instanceof NativeError)) return frames
    const { name } = settings()
    const stack: unknown = error.stack
    if (typeof stack !== 'string') return frames
    const text = slice(stack, 0, STACK)
    let start = indexOf(text, '\n    at ') + 1
    for (let i = 0; i < LINES && frames.length < FRAMES && start < text.length; i++) {
      const end = indexOf(text, '\n', start)
      const frame = placeIn(slice(text, start, end < 0 ? text.length : end), name)
      if (frame !== undefined) frames[frames.length] = frame
      if (end < 0) break
      start = end + 1
    }
  } catch {
    // a hostile getter: there are no frames then
  }
  return frames
}
