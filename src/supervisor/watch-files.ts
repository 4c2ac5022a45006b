import { stat } from 'node:fs/promises'

const EVERY_MS = 1_000

const look = async (path: string): Promise<string> => {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`
}

/**
 * Calls `changed` when one of the files is another than before, also behind links, as mounted secrets are. Looks, since
 * systems tell of such changes in different ways, or not at all.
 */
export const watchFiles = (
  paths: () => readonly string[],
  changed: () => void,
  { everyMs = EVERY_MS }: { readonly everyMs?: number } = {},
): { close(): void } => {
  const seen = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const round = async () => {
    let different = false
    for (const path of paths()) {
      const now = await look(path)
      const before = seen.get(path)
      seen.set(path, now)
      if (before !== undefined && before !== now) different = true
    }
    if (closed) return
    if (different) changed()
    timer = setTimeout(round, everyMs).unref()
  }
  void round()
  return {
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}
