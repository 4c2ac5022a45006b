import { stat } from 'node:fs/promises'

const EVERY_MS = 1_000
/** Maximum checks between two attempts to apply the same files. */
const MAX_BACKOFF = 60

const stateOf = async (path: string): Promise<string> => {
  const stats = await stat(path).catch(() => undefined)
  return stats === undefined ? path : `${path} ${stats.ino} ${stats.size} ${stats.mtimeMs}`
}

/** Changes when one of the files changes. Follows links, which mounted secrets are. */
export const fingerprint = async (paths: readonly string[]): Promise<string> =>
  (await Promise.all(paths.map(stateOf))).join('\n')

interface Watched {
  /** Fingerprint of the files now. */
  readonly now: () => Promise<string>
  /** Fingerprint computed just before the applied files were read. */
  readonly applied: () => string
  /** Applies the files. If it rejects, it is retried with exponential backoff until the files change. */
  readonly apply: () => Promise<void>
  /** Called once for each rejected state of the files. */
  readonly onRejected: (error: unknown) => void
}

/** Applies files when they change. Polls, since file system events differ between systems and may be missing. */
export const watchFiles = (
  { now, applied, apply, onRejected }: Watched,
  { everyMs = EVERY_MS }: { readonly everyMs?: number } = {},
): { close(): void } => {
  let rejected: string | undefined
  let pause = 0
  let left = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const round = async () => {
    const current = await now()
    const again = current === rejected
    if (current === applied() || (again && --left > 0) || closed) return
    try {
      await apply()
    } catch (error) {
      pause = again ? Math.min(2 * pause, MAX_BACKOFF) : 1
      left = pause
      rejected = current
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
