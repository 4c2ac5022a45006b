import type { ChainLine } from './line.ts'

/** Some seconds of a busy process. Beyond them all are forgotten, and verified like those of others. */
const MOST = 4_096

/**
 * The lines that this process has written and not read back yet. One that is in the file byte for byte is what was
 * written here: to make its digest and its record anew is most of what reading it costs.
 */
export interface RecentLinesCache {
  /** `text`: with its newline, behind the line whose hash is `previous`. */
  wrote(previous: string, text: string, line: ChainLine): void
  /** The line behind `previous`, once; undefined when these bytes (without a newline) are not known to be it. */
  read(previous: string, bytes: Buffer): ChainLine | undefined
}

export const createRecentLinesCache = (): RecentLinesCache => {
  const lines = new Map<string, { readonly text: string; readonly line: ChainLine }>()
  return {
    wrote: (previous, text, line) => {
      if (lines.size >= MOST) lines.clear()
      lines.set(previous, { text, line })
    },
    read: (previous, bytes) => {
      const own = lines.get(previous)
      if (own === undefined) return undefined
      lines.delete(previous)
      const written = Buffer.from(own.text)
      const end = written.length - 1
      return bytes.length === end && written.compare(bytes, 0, end, 0, end) === 0 ? own.line : undefined
    },
  }
}
