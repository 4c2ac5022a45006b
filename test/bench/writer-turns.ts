/** A moment, with what the thread has run and waited for a core until then, in ms. */
export interface Clocked {
  readonly at: number
  readonly ran: number
  readonly waited: number
}

/** One group of jobs of the writer thread, in the order of its moments. */
export interface Turn {
  /** The main thread has posted the first of the jobs. */
  readonly sent: number
  /** Jobs by their command. */
  readonly jobs: Readonly<Record<string, number>>
  /** The first token of each call that creates some. */
  readonly tokens: readonly string[]
  readonly received: Clocked
  readonly began: Clocked
  /** Start of the rows of audit records. */
  readonly maintenance?: number
  /** End of them, when calls came during them and follow; otherwise the calls are before them. */
  readonly joined?: number
  readonly ran: Clocked
  readonly committed: Clocked
  /** Frames in the write-ahead log after the commit. */
  readonly frames: number
  /** Frames that the commit has copied into the database file: it has made a checkpoint. */
  readonly backfilled: number
  /** The main thread has the results. */
  readonly replied: number
}

/** A line of the trace (writer-trace.ts). */
export type TraceLine =
  | ({ readonly kind: 'turn' } & Turn)
  | { readonly kind: 'gc'; readonly thread: 'main' | 'writer'; readonly from: number; readonly to: number }
  | { readonly kind: 'loop'; readonly from: number; readonly to: number; readonly waited: number }
  | { readonly kind: 'call'; readonly number: number; readonly arrived: number; readonly finished: number }

/** A call as its caller saw it. */
export interface TracedCall {
  readonly number: number
  readonly sent: number
  readonly done: number
  /** Id of its first token. */
  readonly token: string
}

type Cause =
  | 'rows of audit records'
  | 'rows of calls'
  | 'commit: sync'
  | 'commit: CPU'
  | 'the writer waits for a core'
  | 'checkpoint'
  | 'way to the writer'
  | 'way back'
  | 'collection, main thread'
  | 'collection, writer'
  | 'long turn of the event loop'
  | 'the loop waits for a core'
  | 'way in'
  | 'way out'
  | 'own work and gathering'
  | 'not explained'

interface Span {
  readonly from: number
  readonly to: number
  readonly cause: Cause
}

/** ms of a step in which a slow call is looked at. */
const STEP = 0.05

/**
 * The phases of a turn. What a thread waited for a core in one is at the end of it, and a sync sleeps: it is what the
 * commit neither ran nor waited.
 */
const phases = (turn: Turn): readonly Span[] => {
  const { sent, began, maintenance, joined, ran, committed, backfilled, replied } = turn
  const rows = ran.at - (ran.waited - began.waited)
  const audited = Math.min(maintenance ?? rows, rows)
  const called = Math.min(joined ?? rows, rows)
  const waited = committed.waited - ran.waited
  const written = Math.min(ran.at + (committed.ran - ran.ran), committed.at)
  const synced = Math.max(written, committed.at - waited)
  const checkpoint = backfilled > 0
  return [
    { from: sent, to: began.at, cause: 'way to the writer' },
    { from: began.at, to: audited, cause: 'rows of calls' },
    { from: audited, to: called, cause: 'rows of audit records' },
    { from: called, to: rows, cause: 'rows of calls' },
    { from: rows, to: ran.at, cause: 'the writer waits for a core' },
    { from: ran.at, to: written, cause: checkpoint ? 'checkpoint' : 'commit: CPU' },
    { from: written, to: synced, cause: checkpoint ? 'checkpoint' : 'commit: sync' },
    { from: synced, to: committed.at, cause: 'the writer waits for a core' },
    { from: committed.at, to: replied, cause: 'way back' },
  ]
}

/** The span that holds a moment; spans are in order and do not overlap. */
const finder = (spans: readonly Span[]) => {
  const sorted = spans.filter(({ from, to }) => to > from).sort((a, b) => a.from - b.from)
  return (at: number): Cause | undefined => {
    let low = 0
    let high = sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sorted[middle] as Span).from <= at) low = middle + 1
      else high = middle
    }
    const span = sorted[low - 1]
    return span !== undefined && at < span.to ? span.cause : undefined
  }
}

interface Explanation {
  readonly slow: number
  /** Of all time of the slow calls, by cause, the largest first. */
  readonly shares: readonly (readonly [cause: Cause, share: number])[]
  /** Slow calls by their largest cause. */
  readonly largest: ReadonlyMap<Cause, number>
  /** The longest turns. */
  readonly turns: readonly Turn[]
}

/** What calls above `limit` ms waited for. Of causes that hold the same moment the first one of the code counts. */
export const explain = (
  lines: readonly TraceLine[],
  calls: readonly TracedCall[],
  limit: number,
): Explanation => {
  const turns = lines.filter((line) => line.kind === 'turn')
  const collections = (thread: 'main' | 'writer', cause: Cause) =>
    finder(
      lines.flatMap((line) =>
        line.kind === 'gc' && line.thread === thread ? [{ from: line.from, to: line.to, cause }] : [],
      ),
    )
  const mainGc = collections('main', 'collection, main thread')
  const writerGc = collections('writer', 'collection, writer')
  const loop = finder(
    lines.flatMap((line) => {
      if (line.kind !== 'loop') return []
      const { from, to, waited } = line
      const cause = waited > (to - from) / 2 ? 'the loop waits for a core' : 'long turn of the event loop'
      return [{ from, to, cause }]
    }),
  )
  const turnAt = finder(turns.flatMap(phases))
  const known = new Map(lines.flatMap((line) => (line.kind === 'call' ? [[line.number, line]] : [])))
  const turnOf = new Map(turns.flatMap((turn) => turn.tokens.map((token) => [token, turn])))

  const times = new Map<Cause, number>()
  const largest = new Map<Cause, number>()
  const slow = calls.filter(({ sent, done }) => done - sent > limit)
  for (const { number, sent, done, token } of slow) {
    const call = known.get(number)
    const turn = turnOf.get(token)
    const own = new Map<Cause, number>()
    for (let at = sent; at < done; at += STEP) {
      const phase = turnAt(at)
      const inWriter = phase !== undefined && phase !== 'way back' && writerGc(at)
      const cause =
        mainGc(at) ||
        inWriter ||
        // The loop has to be free for the ways; the writer is not.
        (phase === undefined || phase.startsWith('way') ? loop(at) : undefined) ||
        phase ||
        (call !== undefined && at < call.arrived ? 'way in' : undefined) ||
        (call !== undefined && at > call.finished ? 'way out' : undefined) ||
        (turn === undefined ? 'not explained' : 'own work and gathering')
      own.set(cause, (own.get(cause) ?? 0) + STEP)
    }
    for (const [cause, ms] of own) times.set(cause, (times.get(cause) ?? 0) + ms)
    const [most] = [...own].sort(([, a], [, b]) => b - a)[0] ?? []
    if (most !== undefined) largest.set(most, (largest.get(most) ?? 0) + 1)
  }
  const all = [...times.values()].reduce((sum, ms) => sum + ms, 0)
  const long = (turn: Turn) => turn.replied - turn.sent
  return {
    slow: slow.length,
    shares: [...times].map(([cause, ms]) => [cause, ms / all] as const).sort(([, a], [, b]) => b - a),
    largest,
    turns: turns.toSorted((a, b) => long(b) - long(a)),
  }
}

/** A turn in one line, ms. */
export const turnLine = (turn: Turn): string => {
  const { sent, jobs, received, began, maintenance, joined, ran, committed, frames, backfilled, replied } =
    turn
  const ms = (value: number) => value.toFixed(2)
  const names = Object.entries(jobs).map(([name, count]) => (count > 1 ? `${count} × ${name}` : name))
  const rows = maintenance ?? ran.at
  const ingested = joined ?? ran.at
  const [cpu, waited] = [committed.ran - ran.ran, committed.waited - ran.waited]
  return [
    `${ms(replied - sent)}: queue ${ms(received.at - sent)}`,
    `begin ${ms(began.at - received.at)}`,
    `run ${ms(rows - began.at + ran.at - ingested)}${maintenance === undefined ? '' : ` + ingest ${ms(ingested - rows)}`}`,
    `commit ${ms(committed.at - ran.at)} (sync ${ms(Math.max(0, committed.at - ran.at - cpu - waited))})`,
    `reply ${ms(replied - committed.at)}`,
    `waited for a core ${ms(committed.waited - received.waited)}`,
    `${frames} frames${backfilled > 0 ? `, checkpoint of ${backfilled}` : ''}`,
    names.join(', '),
  ].join(', ')
}
