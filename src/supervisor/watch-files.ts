import { stat } from 'node:fs/promises'

const EVERY_MS = 1_000
/** Looks between two tries to take the same files. */
const MOST_PAUSED = 60

const look = async (path: string): Promise<string> => {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? path : `${path} ${found.ino} ${found.size} ${found.mtimeMs}`
}

/** What tells these files, as they are now, from others, also behind links, as mounted secrets are. */
export const fingerprint = async (paths: readonly string[]): Promise<string> =>
  (await Promise.all(paths.map(look))).join('\n')

export interface Watched {
  /** The files as they are now (`lookAt`). */
  readonly now: () => Promise<string>
  /** As they were just before they were read the last time that they were taken. */
  readonly applied: () => string
  /** Takes them. Rejects when they cannot be: then it is tried again, ever less often until they change. */
  readonly take: () => Promise<void>
  /** Told why, once for each state of the files. */
  readonly onRejected: (error: unknown) => void
}

/** Has files taken that are not those that were. Looks, since systems tell of changes in different ways, or not at all. */
export const watchFiles = (
  { now, applied, take, onRejected }: Watched,
  { everyMs = EVERY_MS }: { readonly everyMs?: number } = {},
): { close(): void } => {
  let rejected: string | undefined
  let pause = 0
  let left = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const round = async () => {
    const found = await now()
    const again = found === rejected
    if (found === applied() || (again && --left > 0) || closed) return
    try {
      await take()
    } catch (error) {
      pause = again ? Math.min(2 * pause, MOST_PAUSED) : 1
      left = pause
      rejected = found
      if (!again) onRejected(error)
    }
  }
  const next = () => {
    if (!closed) timer = setTimeout(() => round().then(next, next), everyMs).unref()
  }
  next()
  return {
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}
