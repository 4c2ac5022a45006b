import type { Json } from '../../common/json.ts'
import { SHORT_ARGUMENT, SILENCE_MS } from '../limits.ts'
import type { Ending } from '../protocol.ts'
import type { ConsoleLine, Invocation, LimitName, Outcome, SandboxLimits } from '../types.ts'
import { createHostCalls } from './host-calls.ts'
import type { Channel, Job, Source } from './job.ts'
import { limitSentence, unusableSentence } from './limit-messages.ts'

type WithoutRest<T> = T extends unknown ? Omit<T, 'console' | 'timing'> : never
type End = WithoutRest<Outcome>

/** Console lines within the limits of the program, which a child need not have respected. */
const withinLimits = (
  lines: readonly ConsoleLine[],
  { logLines, logBytes }: SandboxLimits,
): readonly ConsoleLine[] => {
  let chars = 0
  return lines.slice(0, logLines).filter(({ text }) => {
    chars += text.length
    return chars <= logBytes
  })
}

/** An invocation as a job of the pool. Calls `resolve` once. */
export const createInvocationJob = (
  id: number,
  invocation: Invocation,
  source: Source,
  limits: SandboxLimits,
  deps: {
    readonly now: () => number
    readonly resolve: (outcome: Outcome) => void
    /** Reports for the program's trust: true when it ended by itself, false at a limit of CPU, memory or time. */
    readonly onBehaved: (well: boolean) => void
  },
): Job => {
  const { tenantId } = source
  const createdAt = deps.now()
  const calls = createHostCalls(invocation.host, {
    atOnce: limits.asyncCalls,
    maxChars: limits.resultBytes,
  })
  let over = false
  let called = false
  let startedAt: number | undefined
  let channel: Channel | undefined

  const finish = (end: End, console: readonly ConsoleLine[] = [], cpu = 0): void => {
    if (over) return
    over = true
    clearTimeout(wall)
    invocation.signal?.removeEventListener('abort', cancel)
    calls.end()
    const now = deps.now()
    const timing = { waited: (startedAt ?? now) - createdAt, cpu, wall: now - createdAt }
    deps.resolve({ ...end, console, timing })
  }

  const limit = (which: LimitName, console: readonly ConsoleLine[] = [], cpu = 0, location?: string) => {
    if (which === 'cpu' || which === 'memory' || which === 'wall') deps.onBehaved(false)
    finish(
      { kind: 'limit', limit: which, message: limitSentence(which, limits, source, location) },
      console,
      cpu,
    )
  }

  const stop = (which: LimitName) => {
    limit(which)
    channel?.send({ kind: 'cancel', id, tenantId })
  }
  const cancel = () => stop('cancelled')
  // for queued invocations and stuck children; a working child ends it itself and reports the location
  const wall = setTimeout(() => {
    if (channel === undefined || channel.closed) stop('overload')
    else stop('wall')
  }, limits.wallMs + SILENCE_MS)
  if (invocation.signal?.aborted) queueMicrotask(cancel)
  else invocation.signal?.addEventListener('abort', cancel, { once: true })

  const endOf = (ending: Exclude<Ending, { kind: 'limit' }>, result: string): End => {
    if (ending.kind === 'returned') return { kind: 'returned', json: ending.empty ? undefined : result }
    if (ending.kind === 'unusable')
      return { kind: 'unusable', message: unusableSentence(ending.issues), issues: ending.issues }
    const { body, ...rest } = ending
    return body === undefined ? rest : { ...rest, body: body as Json }
  }

  return {
    id,
    source,
    get repeatable() {
      return !called
    },
    get over() {
      return over
    },
    budgetMs: invocation.argument.length > SHORT_ARGUMENT ? undefined : Math.min(limits.cpuMs, limits.wallMs),
    begin: (assigned, quiet) => {
      channel = assigned
      const now = deps.now()
      startedAt ??= now
      channel.send(
        {
          kind: 'run',
          id,
          tenantId,
          key: source.key,
          sdk: invocation.host.sdk,
          cpuMs: limits.cpuMs,
          wallMs: Math.max(1, limits.wallMs - (now - createdAt)),
          syncCalls: limits.syncCalls,
          asyncCalls: limits.asyncCalls,
          quiet,
        },
        invocation.argument,
      )
    },
    onCall: ({ call, name }, json) => {
      if (over) return
      const caller = channel
      called = true
      calls.call(name, json).then((envelope) => {
        if (!over) caller?.send({ kind: 'settle', id, tenantId, call }, envelope)
      })
    },
    onEnded: ({ ending, console: printed, cpuMs }, result) => {
      const console = withinLimits(printed, limits)
      if (ending.kind === 'limit') limit(ending.limit, console, cpuMs, ending.location)
      else if (Buffer.byteLength(result) > limits.resultBytes) limit('result', console, cpuMs)
      else {
        deps.onBehaved(true)
        finish(endOf(ending, result), console, cpuMs)
      }
    },
    onChecked: () => limit('crash'),
    // a child killed as unresponsive may have exceeded the wall limit rather than the CPU limit
    fail: (which) => limit(which === 'cpu' && deps.now() - createdAt >= limits.wallMs ? 'wall' : which),
  }
}
