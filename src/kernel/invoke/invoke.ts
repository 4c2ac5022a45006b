import { AppliedRules } from '../../access/applied-rules.ts'
import { authorize, isAuthorized } from '../../access/authorize.ts'
import { originIssue } from '../../access/cross-origin.ts'
import type { Journal } from '../../audit/types.ts'
import type { Clock } from '../../common/clock.ts'
import { AppError, codeOf } from '../../common/errors.ts'
import { inOwnTurn } from '../../common/event-loop.ts'
import type { Log } from '../../common/log.ts'
import { createLogThrottle } from '../../common/log-throttle.ts'
import type { Metrics } from '../../common/metrics.ts'
import { currentSpan, inSpan } from '../../common/tracing.ts'
import { compileValidator } from '../../common/validate.ts'
import type { Call, Caller, CodeScope, Decisions, Held, Operation, UsedTokens } from '../../sdk/index.ts'
import { compilePrune } from '../prune.ts'
import type { Authenticator, CodeInvocation, Invocation, Kernel } from '../types.ts'
import { createUsedTokens } from '../used-tokens.ts'
import { deniedRecord, doneRecord } from './audit.ts'
import { createConditionalRun } from './conditional.ts'
import { type Idempotency, isRepeatable } from './idempotency.ts'

interface InvokeDeps {
  readonly authenticator: Authenticator
  readonly idempotency: Idempotency
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

export interface Invoke {
  readonly invoke: Kernel['invoke']
  readonly invokeAs: Kernel['invokeAs']
  /** Resolves when all running calls have ended, canceled ones included. */
  settled(): Promise<void>
}

/**
 * ms for which a transport's authentication holds: as long as a body takes that is not slow. A key revoked during a
 * slow body is unknown.
 */
const IDENTIFIED_MS = 1_000

const ANONYMOUS: Caller = Object.freeze({
  tenantId: '',
  actorId: '',
  actorType: 'anonymous',
  grants: Object.freeze({ permissions: Object.freeze([]), rules: Object.freeze([]) }),
})

/** Compiled functions of one operation. */
interface Compiled {
  readonly validate: (input: unknown) => AppError | undefined
  readonly pruneInput: (input: unknown) => unknown
  readonly pruneOutput: (output: unknown) => unknown
}

const compile = (operation: Operation): Compiled => ({
  validate: compileValidator(operation.input),
  pruneInput: compilePrune(operation.input),
  pruneOutput: compilePrune(operation.output),
})

const aborted = (signal: AbortSignal): AppError =>
  signal.reason instanceof AppError
    ? signal.reason
    : new AppError('gateway_timeout', 'The call was canceled before it completed. Retry.')

/** The key of a call that has at least one; `malformed` when it has two. */
const singleKey = ([key = '', ...others]: readonly string[]): string => {
  if (others.length === 0) return key
  throw new AppError(
    'malformed',
    'Two headers have different idempotency keys. Send one of them, or both with the same key.',
  )
}

/** The context of an operation's run. The child logger is made on first use. */
class OperationCall implements Call {
  readonly caller: Caller
  readonly traceId: string
  readonly signal: AbortSignal
  readonly now: number
  readonly depth: number
  readonly used: UsedTokens
  readonly decisions: Decisions
  readonly code: CodeScope | undefined
  readonly hold: (held: Held) => void
  readonly #operation: string
  #log: Log
  #isChild = false

  constructor(
    { caller, traceId, signal, now, depth, used, decisions, code, hold }: Omit<Call, 'log'>,
    { operation, log }: { readonly operation: string; readonly log: Log },
  ) {
    this.caller = caller
    this.traceId = traceId
    this.signal = signal
    this.now = now
    this.depth = depth
    this.used = used
    this.decisions = decisions
    this.code = code
    this.hold = hold
    this.#operation = operation
    this.#log = log
  }

  get log(): Log {
    if (!this.#isChild) this.#log = this.#log.child({ trace_id: this.traceId, operation: this.#operation })
    this.#isChild = true
    return this.#log
  }
}

/** A component is down, and all calls fail alike. */
const isOutage = ({ code }: AppError): boolean => code === 'overloaded' || code === 'gateway_timeout'

/**
 * The pipeline under both transports (docs/architecture.md, "The pipeline"). An audited operation runs only while the
 * journal is healthy, and responds only when its record is in the journal. Denied calls (403) have a record too,
 * whether the permission is missing or the operation denies them. A started call completes with its record, even if
 * the client disconnects.
 */
export const createInvoke = (
  operations: readonly Operation[],
  { authenticator, idempotency, journal, clock, log, metrics }: InvokeDeps,
): Invoke => {
  const known = new Set(operations)
  const runConditional = createConditionalRun(operations)
  const cache = new Map<Operation, Compiled>()
  const compiledFor = (operation: Operation): Compiled => {
    if (!known.has(operation)) throw new Error(`${operation.rpc} is not an operation of this kernel`)
    const compiled = cache.get(operation) ?? compile(operation)
    cache.set(operation, compiled)
    return compiled
  }
  const stages = {
    authenticate: metrics.stage.labels({ stage: 'authenticate' }),
    validate: metrics.stage.labels({ stage: 'validate' }),
    run: metrics.stage.labels({ stage: 'run' }),
    audit: metrics.stage.labels({ stage: 'audit' }),
  }

  const throttle = createLogThrottle()

  const recordDenial = async (
    operation: Operation,
    input: unknown,
    call: Parameters<typeof deniedRecord>[2],
  ) => {
    const record = deniedRecord(operation, input, call)
    if (record === undefined) return
    try {
      await journal.append([record])
    } catch (err) {
      log.error({ err, trace_id: call.traceId, operation: operation.rpc }, 'denied call not recorded')
    }
  }

  const handle = async (
    operation: Operation,
    rawInput: unknown,
    invocation: Omit<Invocation, 'key'> & Pick<CodeInvocation, 'used' | 'code'>,
    depth: number,
    findCaller: () => Promise<Caller>,
  ): Promise<unknown> => {
    const { traceId, signal, onCaller, onReplay, idempotencyKeys = [] } = invocation
    const { ifMatch, onVersion, sent, used = createUsedTokens(), code, origin } = invocation
    const decisions = new AppliedRules()
    const holdings: Held[] = []
    const hold = (held: Held): void => void holdings.push(held)
    const release = () => {
      for (const held of holdings.splice(0)) held.release()
    }
    const now = clock.now()
    const span = currentSpan()
    let at = performance.now()
    const lap = (stage: keyof typeof stages) => {
      const end = performance.now()
      stages[stage].observe((end - at) / 1000)
      span?.add(stage, at, end)
      at = end
    }
    let caller: Caller = ANONYMOUS
    try {
      const compiled = compiledFor(operation)
      if (operation.permission !== 'none') caller = await findCaller()
      onCaller?.(caller, decisions.list)
      lap('authenticate')

      const input = await inOwnTurn(() => compiled.pruneInput(rawInput))
      // A denied call gets its issues from here: `run` does not run.
      const validated = operation.validatedBy === 'run' && isAuthorized(caller, operation.permission)
      const issue = validated ? undefined : await inOwnTurn(() => compiled.validate(input))
      lap('validate')
      const once = idempotencyKeys.length > 0 && isRepeatable(operation)
      // A stored response is repeated whatever the body is (completions §1); without one, the issues are the outcome.
      const denial =
        origin === undefined || operation.permission === 'none'
          ? undefined
          : originIssue(caller, operation, origin)
      if (issue && !denial && !(once && isAuthorized(caller, operation.permission))) throw issue

      const audited = operation.audit !== 'none'
      try {
        if (denial) throw denial
        authorize(caller, operation.permission)
        if (audited) await journal.health()
        const call = new OperationCall(
          { caller, traceId, signal, now, depth, used, decisions, code, hold },
          { operation: operation.rpc, log },
        )
        if (signal.aborted) throw aborted(signal)
        let ran = false
        const run = async (): Promise<unknown> => {
          ran = true
          if (issue) throw issue
          const output = await runConditional(operation, { input, caller, ifMatch, onVersion }, () =>
            operation.run(input as never, call),
          )
          lap('run')
          const record = doneRecord(operation, input, output, call)
          if (record) {
            await journal.append([record])
            lap('audit')
          }
          return await inOwnTurn(() => compiled.pruneOutput(output))
        }
        if (!once) return await run()
        const output = await idempotency.once(operation, input, call, singleKey(idempotencyKeys), run)
        if (!ran) onReplay?.()
        return output
      } catch (thrown) {
        // Operations without an audit declaration write their own records of denials.
        if (
          thrown === denial ||
          (thrown instanceof AppError &&
            thrown.code === 'forbidden' &&
            (audited || !isAuthorized(caller, operation.permission)))
        )
          await recordDenial(operation, input, { caller, traceId, now })
        throw thrown
      }
    } catch (thrown) {
      const error = AppError.from(thrown)
      if (error.code === 'internal' || error.cause !== undefined) {
        const suppressed = isOutage(error) ? throttle(`${error.code} ${codeOf(error.cause)}`) : 0
        if (suppressed !== undefined)
          log.error(
            {
              err: error.cause ?? error,
              trace_id: traceId,
              operation: operation.rpc,
              code: error.code,
              ...(suppressed > 0 ? { suppressed } : {}),
            },
            'operation failed',
          )
      }
      throw error
    } finally {
      if (sent === undefined) release()
      else void sent.then(release)
    }
  }

  const running = new Set<Promise<unknown>>()
  /** The call's outcome, or the signal's reason when that comes first; the call then continues in the background. */
  const start: typeof handle = (operation, rawInput, invocation, depth, findCaller) =>
    new Promise((resolve, reject) => {
      const { signal } = invocation
      if (signal.aborted) {
        reject(aborted(signal))
        return
      }
      const abort = () => reject(aborted(signal))
      signal.addEventListener('abort', abort)
      const work = handle(operation, rawInput, invocation, depth, findCaller)
      running.add(work)
      const end = () => {
        running.delete(work)
        signal.removeEventListener('abort', abort)
      }
      work.then(
        (output) => {
          end()
          resolve(output)
        },
        (thrown) => {
          end()
          reject(thrown)
        },
      )
    })
  const callerOf = async (
    { permission }: Operation,
    { key, identified }: Pick<Invocation, 'key' | 'identified'>,
  ): Promise<Caller> =>
    identified !== undefined && performance.now() - identified.at <= IDENTIFIED_MS
      ? identified.caller
      : authenticator.authenticate(key, permission)

  return {
    invoke: (operation, rawInput, invocation) =>
      start(operation, rawInput, invocation, 0, () => callerOf(operation, invocation)),
    invokeAs: async (application, operation, rawInput, invocation) =>
      inSpan(currentSpan(), operation.rpc, () =>
        start(operation, rawInput, invocation, invocation.depth, () => authenticator.identify(application)),
      ),
    settled: async () => {
      await Promise.allSettled(running)
    },
  }
}
