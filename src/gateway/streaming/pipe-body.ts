/** Streams a body: expressions are replaced in the arrived part before it is sent on. */
import { AppError } from '../../common/errors.ts'
import { yieldIfDue } from '../../common/event-loop.ts'
import type { Resolve } from '../../expressions/types.ts'
import { type GrowingWork, growingWork, type Work } from '../../expressions/work.ts'
import type { UsedToken } from '../../sdk/index.ts'
import { type Part, type PartReader, readPart } from '../body/parts.ts'
import { parseAll, type Replacement } from '../body/plan.ts'
import type { Disclosures } from '../guard/disclosures.ts'
import { resolver } from '../language.ts'
import type { BodyStream } from '../types.ts'

export interface StreamLimits {
  /** Bytes of a body, as it comes and with its values in. */
  readonly bytes: number
  /** Strings, fields or texts with expressions. */
  readonly expressions: number
  /** Bytes that one of them becomes. */
  readonly printed: number
  /** Bodies on their way at once, which tenants share. */
  readonly running: number
  /** Milliseconds from a body's first to its last. */
  readonly ms: number
}

export const STREAM_LIMITS: StreamLimits = {
  bytes: 1024 ** 3,
  expressions: 10_000_000,
  printed: 4 * 1024 ** 2,
  running: 32,
  ms: 900_000,
}

interface PipeBodyDeps {
  readonly flow: BodyStream
  readonly reader: PartReader
  readonly limits: StreamLimits
  /** Work budget of its expressions, which is extended here. Absent: an own one. */
  readonly work?: GrowingWork
  /** ms after which a request without a body is sent on: less than Envoy's timeout for the reply to its headers. */
  readonly timeoutMs: number
  /** Tokens in use, none or more, their records written. Rejects when one may not be used. */
  use(ids: readonly string[]): Promise<ReadonlyMap<string, UsedToken>>
  /** Gets the values that go out. */
  readonly disclosures?: Disclosures | undefined
  /** Lets the request itself go, before the first piece of its body. */
  release(): Promise<void>
}

/** Tokens that are looked up, and whose values are held, at once. */
const BATCH = 500
/** Bytes that are sent together, at most. */
const PIECE = 65_536
const NOTHING = Buffer.alloc(0)

const tooLarge = (limit: number) =>
  new AppError(
    'too_large',
    `The body is larger than ${limit} bytes, as sent or with its values in. Split it into several requests.`,
  )

const tooLong = (limit: number) =>
  new AppError(
    'too_large',
    `An expression becomes more than ${limit} bytes. Name a smaller token, or use other filters.`,
  )

const tooSlow = () =>
  new AppError('destination_timeout', 'The body was not complete in time. Split it into several requests.')

interface Batch {
  readonly ids: readonly string[]
  readonly batch: readonly Replacement[]
}

const batchOf = (batch: readonly Replacement[]): Batch => ({
  ids: [...new Set(batch.flatMap(({ ids }) => ids))],
  batch,
})

/** Replacements in order, in groups that name few enough tokens. */
function* batchesOf(replacements: readonly Replacement[]): Generator<Batch> {
  let ids = new Set<string>()
  let batch: Replacement[] = []
  for (const replacement of replacements) {
    for (const id of replacement.ids) ids.add(id)
    batch.push(replacement)
    if (ids.size < BATCH) continue
    yield { ids: [...ids], batch }
    ids = new Set()
    batch = []
  }
  if (batch.length > 0) yield { ids: [...ids], batch }
}

/** Each batch with its tokens in use; one whose tokens are too large together, in halves. */
async function* usedIn(
  batches: readonly Batch[],
  use: PipeBodyDeps['use'],
): AsyncGenerator<{ readonly used: ReadonlyMap<string, UsedToken>; readonly batch: readonly Replacement[] }> {
  for (const { ids, batch } of batches) {
    let used: ReadonlyMap<string, UsedToken>
    try {
      used = await use(ids)
    } catch (thrown) {
      if (batch.length === 1 || AppError.from(thrown).code !== 'too_large') throw thrown
      const half = Math.ceil(batch.length / 2)
      yield* usedIn([batch.slice(0, half), batch.slice(half)].map(batchOf), use)
      continue
    }
    yield { used, batch }
  }
}

/** The part with values in, in pieces; no value of a batch leaves before all its tokens are allowed and recorded. */
async function* piecesOf(
  { bytes, occurrences }: Part,
  { reader: { encoding }, limits, use, disclosures }: PipeBodyDeps,
  work: Work,
): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = []
  let size = 0
  let from = 0
  const add = (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
  }
  function* applied(): Generator<Buffer> {
    const all = Buffer.concat(chunks, size)
    chunks = []
    size = 0
    for (let at = 0; at < all.length; at += PIECE) yield all.subarray(at, at + PIECE)
  }
  for await (const { used, batch } of usedIn([...batchesOf(await parseAll(occurrences))], use)) {
    const resolve: Resolve = resolver(used, { disclosures })
    for (const replacement of batch) {
      add(bytes.subarray(from, replacement.start))
      const printed = replacement.print(resolve, work)
      if (Buffer.byteLength(printed, encoding) > limits.printed) throw tooLong(limits.printed)
      add(Buffer.from(printed, encoding))
      from = replacement.end
      if (size >= PIECE) yield* applied()
      const pause = yieldIfDue()
      if (pause) await pause
    }
  }
  add(bytes.subarray(from))
  yield* applied()
}

/**
 * Passes a body on to its end. Rejects with what the body, a token or the vault is rejected with, and when the caller
 * goes: the request must then be reset.
 */
export const pipeBody = async (deps: PipeBodyDeps): Promise<void> => {
  const { flow, reader, limits, timeoutMs, release, work = growingWork() } = deps
  let received = 0
  let sent = 0
  let expressions = 0
  let released = false
  const end = performance.now() + limits.ms
  const left = (): number => {
    const ms = end - performance.now()
    if (ms <= 0) throw tooSlow()
    return ms
  }
  const releaseBody = async () => {
    if (released) return
    released = true
    await release()
  }
  for (;;) {
    const chunk = await flow.read(released ? left() : Math.min(left(), timeoutMs))
    if (chunk === undefined) {
      await releaseBody()
      continue
    }
    received += chunk.bytes.length
    work.grow(chunk.bytes.length)
    const part = await readPart(reader, chunk.bytes, chunk.isLast)
    expressions += part.occurrences.length
    if (received > limits.bytes) throw tooLarge(limits.bytes)
    if (expressions > limits.expressions)
      throw new AppError(
        'too_large',
        `There are more than ${limits.expressions} expressions in one body. Send several.`,
      )
    let last: Buffer = NOTHING
    for await (const piece of piecesOf(part, deps, work)) {
      sent += piece.length
      if (sent > limits.bytes) throw tooLarge(limits.bytes)
      await releaseBody()
      if (last.length > 0) await flow.write({ kind: 'streamed', body: last, isLast: false }, left())
      last = piece
    }
    if (chunk.isLast) {
      await releaseBody()
      await flow.end(last)
      return
    }
    if (last.length > 0) await flow.write({ kind: 'streamed', body: last, isLast: false }, left())
  }
}
