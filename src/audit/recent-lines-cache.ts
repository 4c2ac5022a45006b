import type { ChainLine } from './line.ts'

/** Some seconds of a busy process. When exceeded, all are dropped and verified like lines of other processes. */
const MAX_LINES = 4_096

/**
 * Lines written by this process and not read back yet. A line that is equal byte for byte needs no new digest and
 * record, which is most of the cost of reading it. Without it `/detokenize` of 20 tokens takes 1.13 × the CPU (1.11 to
 * 1.21, `npm run bench -- --against` at 8 calls).
 */
export interface RecentLinesCache {
  /** `text`: with its newline, after the line whose hash is `previous`. */
  wrote(previous: string, text: string, line: ChainLine): void
  /** The line after `previous`, once; undefined when these bytes (without a newline) differ. */
  read(previous: string, bytes: Buffer): ChainLine | undefined
}

export const createRecentLinesCache = (): RecentLinesCache => {
  const lines = new Map<string, { readonly text: string; readonly line: ChainLine }>()
  return {
    wrote: (previous, text, line) => {
      if (lines.size >= MAX_LINES) lines.clear()
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
