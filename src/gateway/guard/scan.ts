import { search } from './automaton.ts'
import { HeldBytes } from './held-bytes.ts'
import { type Match, Matches } from './matches.ts'
import type { Needle, NeedleSet } from './needles.ts'
import type { Writer } from './writer.ts'
import { lineWriter, writerOf } from './writers.ts'

/** The occurrences of one token in one body. */
export interface Finding {
  readonly tokenId: string
  readonly isEgressOnly: boolean
  readonly count: number
  /** Of the first: its byte in the decoded body, and whether it stood in hex, base64 or UTF-16. */
  readonly offset: number
  readonly isEncoded: boolean
}

/** Which values are replaced; all that are found are findings. */
export type Replaces = 'all' | 'egress_only' | 'none'

/** Scans one body in pieces, whatever their sizes. */
interface Scan {
  /** Returns what may go on: everything but an end that may begin a value. */
  write(bytes: Buffer): Buffer
  /** Returns the rest. */
  end(): Buffer
  readonly findings: readonly Finding[]
}

const EMPTY = Buffer.alloc(0)

/**
 * Of occurrences that overlap, the first one counts, of those that begin at one byte the longest. What remains of
 * another one behind it is replaced too, so that no part of a value is left.
 */
class StreamScan implements Scan {
  readonly #needles: NeedleSet
  readonly #writer: Writer
  readonly #replaces: Replaces
  readonly #held = new HeldBytes()
  readonly #values = new Matches()
  readonly #fields = new Matches()
  readonly #findings = new Map<string, Finding>()
  #valueState = 0
  #fieldState = 0
  /** Bytes searched, and bytes handed to the writer. */
  #read = 0
  #settled = 0

  constructor(needles: NeedleSet, writer: Writer, replaces: Replaces) {
    this.#needles = needles
    this.#writer = writer
    this.#replaces = replaces
  }

  write(bytes: Buffer): Buffer {
    const base = this.#read
    this.#read += bytes.length
    const { values, fields } = this.#needles
    let open = this.#read
    if (values !== undefined) {
      this.#valueState = search(values, this.#valueState, bytes, (node, end) => {
        const needle = values.items.get(node) as Needle
        this.#values.addLongest({ start: base + end - needle.length, end: base + end, needle })
      })
      open = this.#read - (values.depth[this.#valueState] as number)
    }
    if (fields !== undefined) {
      this.#fieldState = search(fields, this.#fieldState, bytes, (node, end) => {
        for (let match = node; match !== 0; match = fields.match[fields.fail[match] as number] as number) {
          const needle = fields.items.get(match) as Needle
          this.#fields.add({ start: base + end - needle.length, end: base + end, needle })
        }
      })
      open = Math.min(open, this.#read - (fields.depth[this.#fieldState] as number))
    }
    return this.#settle(bytes, open, false)
  }

  end(): Buffer {
    return this.#settle(EMPTY, this.#read, true)
  }

  get findings(): readonly Finding[] {
    return [...this.#findings.values()]
  }

  /** Hands on what is certain. No occurrence begins before `open` but those that are known. */
  #settle(bytes: Buffer, open: number, isLast: boolean): Buffer {
    const text = this.#held.join(bytes)
    const base = this.#settled
    const upTo = (to: number): Buffer => {
      const part = text.subarray(this.#settled - base, to - base)
      this.#settled = to
      return part
    }
    let limit = isLast ? Number.POSITIVE_INFINITY : open
    for (;;) {
      while (this.#values.first !== undefined && this.#values.first.end <= this.#settled) this.#values.shift()
      while (this.#fields.first !== undefined && this.#fields.first.start < this.#settled)
        this.#fields.shift()
      const value = this.#values.first
      const field = this.#fields.first
      const start = value === undefined ? Number.POSITIVE_INFINITY : Math.max(value.start, this.#settled)
      if (field !== undefined && field.start <= start) {
        // Whether it is a whole field is known with the byte behind it.
        if (field.end === this.#read) limit = isLast ? limit : Math.min(limit, field.start)
        if (field.start >= limit) break
        this.#writer.pass(upTo(field.start))
        const [first, next] = [text[field.start - base] as number, text[field.end - base] ?? -1]
        if (this.#writer.isField(first, next)) this.#replace(upTo(field.end), field)
        else this.#fields.shift()
      } else {
        if (value === undefined || start >= limit) break
        this.#writer.pass(upTo(start))
        let furthest = value
        for (
          let next = this.#values.first;
          next !== undefined && next.start <= start;
          next = this.#values.first
        ) {
          furthest = next
          this.#values.shift()
        }
        this.#replace(upTo(furthest.end), furthest)
      }
    }
    const to = Math.min(limit, this.#read)
    if (to > this.#settled) this.#writer.pass(upTo(to))
    const parts = this.#writer.take(isLast).filter(({ length }) => length > 0)
    // What is held is written over by the next piece.
    const result = text === bytes && parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    this.#held.hold(text, text.length - (this.#settled - base))
    return result
  }

  #replace(bytes: Buffer, { needle }: Match): void {
    const { tokenId, isEgressOnly } = needle.source.disclosure
    const known = this.#findings.get(tokenId)
    this.#findings.set(tokenId, {
      tokenId,
      isEgressOnly,
      count: (known?.count ?? 0) + 1,
      offset: known?.offset ?? this.#settled - bytes.length,
      isEncoded: known?.isEncoded ?? (needle.kind !== 'plain' && needle.kind !== 'percent'),
    })
    if (this.#replaces === 'all' || (this.#replaces === 'egress_only' && isEgressOnly))
      this.#writer.replace(bytes, needle)
    else this.#writer.pass(bytes)
  }
}

/** A scan of a body. Needles that are added between two pieces count from the next one on. */
export const createScan = (
  needles: NeedleSet,
  { contentType, replaces }: { readonly contentType: string | undefined; readonly replaces: Replaces },
): Scan => new StreamScan(needles, writerOf(contentType), replaces)

/** Scans the value of a header or trailer, bytes as characters; `isUrl`: expressions are percent-encoded in it. */
export const scanText = (
  needles: NeedleSet,
  text: string,
  { replaces, isUrl }: { readonly replaces: Replaces; readonly isUrl: boolean },
): { readonly text: string; readonly findings: readonly Finding[] } => {
  const scan = new StreamScan(needles, lineWriter(isUrl), replaces)
  const parts = [scan.write(Buffer.from(text, 'latin1')), scan.end()]
  const { findings } = scan
  return findings.length === 0
    ? { text, findings }
    : { text: Buffer.concat(parts).toString('latin1'), findings }
}
