import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { auditRecord } from '../../access/audit-record.ts'
import type { Journal } from '../../audit/types.ts'
import type { Clock } from '../../common/clock.ts'
import { AppError, concurrentChange, invalid } from '../../common/errors.ts'
import { inOwnTurn } from '../../common/event-loop.ts'
import { newId } from '../../common/ids.ts'
import { isObject } from '../../common/json.ts'
import type { Log } from '../../common/log.ts'
import { parseJson } from '../../common/parse-json.ts'
import { writeJson } from '../../common/write-json.ts'
import type { Keys, SealContext } from '../../keys/types.ts'
import type { Call, Caller, Grants, Operation, TokenType, Vault } from '../../sdk/index.ts'
import type { BeginResult, IdempotencyStore, ShownToken } from '../../store/idempotency/types.ts'
import { methodOf, pathParams } from '../check/operation.ts'
import { repeatedRecord } from './audit.ts'
import { GUARDED, redactResponse, withoutLiterals } from './redact-response.ts'

/** Characters of an idempotency key (completions §1). */
export const MAX_KEY = 200
/** Retention of a response, ms. */
export const RETENTION = 24 * 60 * 60_000
/** Retention of transient members of a response, ms. */
const TRANSIENT_RETENTION = 10 * 60_000
/** Lease of a running call, ms. After it a repetition may run, unless something was written. */
const LEASE = 60_000
/** Attempts to store the outcome of a call, and ms before the second; later ones wait longer. */
const MAX_ATTEMPTS = 10
const RETRY_DELAY = 100

interface IdempotencyDeps {
  readonly responses: IdempotencyStore
  readonly vault: Pick<Vault, 'areCurrent'>
  readonly keys: Pick<Keys, 'tenant'>
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
  readonly tokenTypes: ReadonlyMap<string, TokenType>
  /** Name of this process: its successor of the same name abandons its leases (`IdempotencyStore.abandonAllOf`). */
  readonly processName?: string
}

export interface Idempotency {
  /**
   * Runs `work` once for each operation, entity of its path, and key. Repetitions within 24 h get its first successful
   * outcome, or `conflict` when the outcome of an effect is not known.
   */
  once(
    operation: Operation,
    input: unknown,
    call: Call,
    key: string,
    work: () => Promise<unknown>,
  ): Promise<unknown>
}

/** True for reads. An association needs `token:read` only, but its audit verb is not `read`. */
const onlyReads = ({ permission, audit }: Operation): boolean =>
  /:(?:read|search)$/.test(permission) && (audit === 'none' || audit.verb === 'read')

/**
 * Operations that only read are run again: each disclosure is decided and recorded when it happens. Those for public
 * keys, too: every visitor has the key, and what one of them was given is no other's.
 */
export const isRepeatable = (operation: Operation): boolean =>
  ['POST', 'PUT', 'PATCH'].includes(methodOf(operation)) &&
  !['none', 'public key'].includes(operation.permission) &&
  !onlyReads(operation)

/** The entity of a call's path: one key with changes of two entities must not lose the second. */
const placeOf = ({ http }: Operation, input: unknown): readonly unknown[] =>
  pathParams(http).map((name) => (isObject(input) ? input[name] : undefined))

/**
 * Every visitor has the key of a public application: only who knows the body repeats a call. A session's key is one
 * visitor's.
 */
const isShared = ({ actorType, applicationType }: Caller): boolean =>
  actorType === 'application' && applicationType === 'public'

/** The seal context of a stored response. */
export const responseBinding = (
  tenantId: string,
  key: Buffer,
  part: 'summary' | 'complete',
): SealContext => ({
  tenantId,
  tokenId: key.toString('hex'),
  // No token type has a colon in its name.
  type: `idempotency:${part}`,
  version: 1,
  part: 'sealed',
})

/** Digest of grants. An unchanged token and unchanged grants give an unchanged response. */
const digestOf = (grants: Grants): string =>
  createHash('sha256').update(JSON.stringify(grants)).digest('base64')

/** All that decides about a repetition is under the seal: columns may have been edited, or rolled back. */
interface StoredResponse {
  readonly output?: unknown
  readonly grants: string
  /** Expiry in ms since the epoch. */
  readonly until: number
  readonly tokens: readonly ShownToken[]
}

const running = () =>
  concurrentChange('Another request with this idempotency key is in progress. Retry after it completes.', {
    retryAfter: 1,
  })

const indeterminate = () =>
  concurrentChange(
    'Whether the first request with this idempotency key was carried out is not known. Read what it may have changed, then use a new key.',
  )

const altered = () =>
  new AppError(
    'internal',
    'A stored response was altered outside the service. Give the trace id to the operator.',
  )

/**
 * True when nothing was written. Errors from 500 may follow a write; operations with code are treated as if they had
 * written.
 */
const isCertain = ({ uncertain, status }: AppError, { runsCode = false }: Operation): boolean =>
  !uncertain && (status < 500 || runsCode)

interface Shown {
  readonly id: string
  readonly type: string
}

/** Tokens whose data a response has. */
const tokensIn = (response: unknown, types: ReadonlyMap<string, unknown>): readonly Shown[] => {
  if (Array.isArray(response)) return response.flatMap((item) => tokensIn(item, types))
  if (!isObject(response)) return []
  const { id, type, data } = response
  if (typeof id === 'string' && typeof type === 'string' && types.has(type) && data !== undefined)
    return [{ id, type }]
  return Object.values(response).flatMap((value) => tokensIn(value, types))
}

/** The response without these members; itself when it has none of them. */
const omit = (response: unknown, names: readonly string[]): unknown =>
  isObject(response) && names.some((name) => Object.hasOwn(response, name))
    ? Object.fromEntries(Object.entries(response).filter(([name]) => !names.includes(name)))
    : response

/**
 * Idempotency keys (completions §1), by tenant, actor, operation, entity of its path, key, and the body of calls with a
 * public key. The lease is in the store, so it holds across processes. Writes under a lease mark it in their own
 * transaction, so it holds when a process is killed. Responses are sealed, since they may hold data and new API keys. A
 * response loses its token data when one of the tokens is changed, deleted or expires. A caller whose grants have
 * changed gets it without token data, metadata and fingerprints. Keys are stored as keyed hashes.
 */
export const createIdempotency = (deps: IdempotencyDeps): Idempotency => {
  const { responses, vault, keys, journal, clock, log, tokenTypes } = deps

  const replay = async (
    {
      operation,
      input,
      call,
    }: { readonly operation: Operation; readonly input: unknown; readonly call: Call },
    key: Buffer,
    { sealed, shown }: Extract<BeginResult, { kind: 'done' }>,
    now: number,
  ): Promise<unknown> => {
    const { tenantId } = call.caller
    const ring = await keys.tenant(tenantId, shown ? [sealed, shown] : [sealed])
    const opened = async (stored: Buffer, part: 'summary' | 'complete'): Promise<StoredResponse> => {
      const text = await inOwnTurn(() => ring.open(stored, responseBinding(tenantId, key, part)).toString())
      return inOwnTurn(() => parseJson(text) as StoredResponse)
    }
    const grants = digestOf(call.caller.grants)
    const holds = async (complete: StoredResponse): Promise<boolean> =>
      complete.grants === grants && complete.until > now && (await vault.areCurrent(complete.tokens, call))
    const summary = await opened(sealed, 'summary')
    if (summary.until <= now) throw altered()
    const complete = summary.grants === grants && shown ? await opened(shown, 'complete') : undefined
    const isComplete = complete !== undefined && (await holds(complete))
    const output = isComplete
      ? complete.output
      : summary.grants === grants
        ? summary.output
        : redactResponse(summary.output, tokenTypes, GUARDED).output
    const read = await inOwnTurn(() => tokensIn(output, tokenTypes))
    const records = read.map(({ id, type }) => {
      const message = `${tokenTypes.get(type)?.title ?? 'Token'} retrieved from a repeated response`
      return auditRecord({ entity: type, id, operation: 'read', message }, call, call.now)
    })
    // A result of code holds what the code was given of tokens, and names none of them.
    const result = isComplete && operation.runsCode && repeatedRecord(operation, input, output, call)
    if (result) records.push(result)
    if (records.length > 0) await journal.append(records)
    return output
  }

  const retryStoring = async (store: () => Promise<void>, call: Call): Promise<void> => {
    for (let attempt = 2; attempt <= MAX_ATTEMPTS; attempt++) {
      await setTimeout(RETRY_DELAY * 2 ** (attempt - 2), undefined, { ref: false })
      try {
        return await store()
      } catch (err) {
        if (attempt === MAX_ATTEMPTS)
          log.error({ err, trace_id: call.traceId }, 'cannot store the outcome of a request')
      }
    }
  }

  /** Waits for the first attempt only: an outage may last longer, and the lease prevents repetitions. */
  const storeOutcome = (store: () => Promise<void>, call: Call): Promise<void> =>
    store().catch(() => void retryStoring(store, call))

  return {
    once: async (operation, input, call, sent, work) => {
      if (sent === '' || sent.length > MAX_KEY)
        throw invalid({ 'idempotency-key': [`must have 1 to ${MAX_KEY} characters`] })
      const { tenantId, actorId } = call.caller
      const ring = await keys.tenant(tenantId)
      const body = isShared(call.caller) ? [String(await writeJson(input))] : []
      const scope = [actorId, operation.rpc, sent, ...placeOf(operation, input), ...body]
      const key = await inOwnTurn(() => ring.term(`idempotency ${JSON.stringify(scope)}`))
      const now = clock.now()
      const lease = { tenantId, key, holder: newId(), expiresAt: now + RETENTION }
      const releaseLease = (certain: boolean) =>
        storeOutcome(() => responses.abandon({ ...lease, certain }, clock.now()), call)
      const begin = await responses
        .begin(
          {
            ...lease,
            operation: operation.rpc,
            process: deps.processName,
            runningUntil: now + LEASE,
            effects: operation.runsCode === true,
          },
          now,
        )
        .catch((thrown: unknown) => {
          // The lease may have been stored nevertheless.
          void releaseLease(true)
          throw thrown
        })
      if (begin.kind === 'running') throw running()
      if (begin.kind === 'indeterminate') throw indeterminate()
      if (begin.kind === 'done') return replay({ operation, input, call }, key, begin, now)
      let output: unknown
      try {
        output = await responses.runWithLease(lease, work)
      } catch (thrown) {
        const error = AppError.from(thrown)
        const released = releaseLease(isCertain(error, operation))
        // An uncertain write may still arrive; the store waits for it.
        if (!error.uncertain) await released
        throw thrown
      }
      try {
        const grants = digestOf(call.caller.grants)
        const sealed = async (stored: Omit<StoredResponse, 'grants'>, part: 'summary' | 'complete') => {
          const json = await writeJson({ ...stored, grants } satisfies StoredResponse)
          const bytes = typeof json === 'string' ? Buffer.from(json) : json
          return inOwnTurn(() => ring.seal(bytes, responseBinding(tenantId, key, part)))
        }
        const { runsCode = false, transient = [] } = operation
        const named = omit(output, transient)
        const lasting = runsCode ? await inOwnTurn(() => withoutLiterals(named, tokenTypes)) : named
        const passing = lasting !== output
        const summary = await inOwnTurn(() => redactResponse(lasting, tokenTypes))
        const done = clock.now()
        const expiresAt = done + RETENTION
        // Results of code are deleted with the tokens that they depend on.
        const states =
          passing || runsCode ? call.used.states() : summary.tokens.map((id) => call.used.get(id))
        const used = states?.every((state) => state !== undefined) ? states : undefined
        const tokens = used?.map(({ id, created_at, version }) => ({ id, created_at, version }))
        const latest = passing ? done + TRANSIENT_RETENTION : expiresAt
        const until = (used ?? []).reduce((end, token) => Math.min(end, token.until ?? end), latest)
        const response = {
          ...lease,
          expiresAt,
          sealed: await sealed({ output: summary.output, until: expiresAt, tokens: [] }, 'summary'),
          ...(tokens === undefined || (summary.tokens.length === 0 && !passing)
            ? {}
            : { shown: { sealed: await sealed({ output, until, tokens }, 'complete'), tokens, until } }),
        }
        // The call has succeeded: its response does not depend on whether it can be stored yet.
        await storeOutcome(() => responses.finish(response, done), call)
      } catch (err) {
        log.error({ err, trace_id: call.traceId }, 'cannot store the response for its idempotency key')
      }
      return output
    },
  }
}
