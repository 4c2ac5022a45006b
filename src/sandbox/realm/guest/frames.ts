/** Stack frames of an error in the tenant's own code. */
import { settings } from './bridge.ts'
import { endsWith, indexOf, NativeError, slice, startsWith } from './intrinsics.ts'

const FRAMES = 10
const LINES = 50
const STACK = 20_000

/** Location in one line of a stack, `request_transform:3:7`, when it is in the file `name`. */
const locationIn = (line: string, name: string): string | undefined => {
  let at = -1
  for (let next = indexOf(line, `${name}:`); next >= 0; next = indexOf(line, `${name}:`, next + 1)) at = next
  if (at < 0 || !startsWith(line, '    at ')) return undefined
  const location = slice(line, at)
  return endsWith(location, ')') ? slice(location, 0, -1) : location
}

/** Frames of the code itself, innermost first, at most ten; none of the realm. Never throws. */
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
      const frame = locationIn(slice(text, start, end < 0 ? text.length : end), name)
      if (frame !== undefined) frames[frames.length] = frame
      if (end < 0) break
      start = end + 1
    }
  } catch {
    // a hostile getter: no frames
  }
  return frames
}
