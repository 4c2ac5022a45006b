/**
 * One proxied request's life, from its headers to its release (interface "Ephemeral proxy", completions §7). Knows
 * HTTP, nothing of gRPC; stream.ts carries its answers to Envoy.
 */

import type { AuditRecord } from '../audit/types.ts'
import { type Admit, CLIENT_ADDRESS_HEADER } from '../common/admit.ts'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { Log } from '../common/log.ts'
import type { Metrics } from '../common/metrics.ts'
import type { Upstream } from '../control-plane/agreement.ts'
import type { Expressions, Resolve } from '../expressions/types.ts'
import type { Authenticator } from '../kernel/types.ts'
import type { Caller, UsedToken, Vault } from '../sdk/index.ts'
import { type Acceptance, type Accepted, acceptHead, checkCaller } from './accept.ts'
import type { Admission } from './admission.ts'
import { type BodyLimits, planBody } from './body/rewrite.ts'
import { createDestinations, type DestinationPolicy } from './destination.ts'
import {
  type BrandRules,
  branded,
  brandOf,
  type Edits,
  type Head,
  strippedNames,
  traceHeaderOf,
  traceIdOf,
} from './headers.ts'
import { proxyError, type Reply } from './replies.ts'

/** What Envoy is told. `hold`: wait for the body; only `release` names where the request goes. */
export type Answer =
  | { readonly kind: 'hold'; readonly brand: string; readonly edits: Edits }
  | {
      readonly kind: 'release'
      readonly brand: string
      readonly edits: Edits
      readonly upstream: Upstream
      /** Absent: the body stays as it came. */
      readonly body?: Buffer
    }
  | { readonly kind: 'reply'; readonly brand: string; readonly reply: Reply }

/** Neither step rejects: a failure is a `reply`. Each is called at most once, `headers` first. */
export interface Exchange {
  headers(head: Head, endOfStream: boolean): Promise<Answer>
  body(body: Buffer): Promise<Answer>
  /** The caller went away: what is waited for is let go. */
  abandon(): void
}

export interface ExchangeDeps {
  readonly authenticator: Authenticator
  readonly vault: Vault
  readonly expressions: Expressions
  readonly log: Log
  readonly metrics: Metrics
  readonly clock: Clock
  readonly admission: Admission
  /** Rate limits; absent: none. */
  readonly admit?: Admit | undefined
  /** Where denied calls are recorded (completions §10). */
  readonly audit?: (records: readonly AuditRecord[]) => Promise<void>
}

export interface ExchangeOptions {
  readonly brands: BrandRules
  readonly destinations: DestinationPolicy
  /** Milliseconds that one step may take before it fails with `unavailable`. */
  readonly stepMs: number
  readonly body: BodyLimits
  readonly bodyLimit: number
}

const SLOW = 'A part of the service does not answer. Nothing was forwarded. Retry.'

const whole = (token: UsedToken): Json => ({
  id: token.id,
  type: token.type,
  data: token.data,
  metadata: token.metadata,
  containers: [token.container],
})

/** What expressions see of tokens in use. */
export const resolver =
  (tokens: ReadonlyMap<string, UsedToken>): Resolve =>
  (id) => {
    const token = tokens.get(id)
    return token && { data: token.data, token: whole(token) }
  }

/** What makes an exchange for each request; what they have in common is prepared here. */
export const createExchanges = (deps: ExchangeDeps, options: ExchangeOptions): (() => Exchange) => {
  const { metrics } = deps
  const shared: Shared = {
    deps,
    options,
    brands: options.brands,
    bodyLimit: options.bodyLimit,
    destinations: createDestinations(options.destinations),
    stages: {
      authenticate: metrics.stage.labels('authenticate'),
      plan: metrics.stage.labels('plan'),
      use: metrics.stage.labels('use'),
      apply: metrics.stage.labels('apply'),
    },
  }
  return () => createExchange(shared)
}

type Stage = 'authenticate' | 'plan' | 'use' | 'apply'

interface Shared extends Acceptance {
  readonly deps: ExchangeDeps
  readonly options: ExchangeOptions
  readonly stages: Readonly<Record<Stage, { observe(seconds: number): void }>>
}

const createExchange = (shared: Shared): Exchange => {
  const { deps, options, brands, stages } = shared
  const began = performance.now()
  let brand: string = brands.brands[0]
  let traceHeader = ''
  let traceId = ''
  let caller: Caller | undefined
  let accepted: Accepted | undefined
  let tokens = 0
  let giveUp: (() => void) | undefined

  const timed = async <T>(stage: Stage, work: () => T | Promise<T>): Promise<T> => {
    const start = performance.now()
    try {
      return await work()
    } finally {
      stages[stage].observe((performance.now() - start) / 1000)
    }
  }

  /** Rejects when the caller goes away or the step takes too long; its work then goes on unheard. */
  const within = <T>(work: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      giveUp = () => reject(new AppError('unavailable', SLOW))
      const timer = setTimeout(giveUp, options.stepMs)
      const settle = () => {
        clearTimeout(timer)
        giveUp = undefined
      }
      work.then(
        (value) => {
          settle()
          resolve(value)
        },
        (error) => {
          settle()
          reject(error)
        },
      )
    })

  const authorize = async (head: Head): Promise<Caller> => {
    const key = branded(head, brands, 'apiKey')
    await deps.admit?.({ key, address: head.get(CLIENT_ADDRESS_HEADER)?.[0] })
    caller = await timed('authenticate', () => deps.authenticator.authenticate(key))
    checkCaller(caller)
    return caller
  }

  const audit = async (error: AppError): Promise<void> => {
    if (!caller || !deps.audit || error.status !== 403) return
    await deps.audit([
      {
        tenant_id: caller.tenantId,
        entity_type: 'proxy',
        entity_id: caller.applicationId ?? caller.actorId,
        operation: 'use',
        actor_id: caller.actorId,
        actor_type: caller.actorType,
        message: `Proxy call denied: ${error.toProblem().title}`,
        trace_id: traceId,
        created_at: deps.clock.now(),
      },
    ])
  }

  const finish = (status: string, error?: AppError): void => {
    deps.metrics.requests.inc({ operation: 'proxy', status })
    const ms = Math.round((performance.now() - began) * 10) / 10
    const line = {
      operation: 'proxy',
      status,
      tokens,
      ms,
      trace_id: traceId,
      tenant_id: caller?.tenantId,
      actor_id: caller?.actorId,
    }
    if (error?.code === 'internal') deps.log.error({ ...line, err: error.cause }, 'proxied call failed')
    else deps.log.info(line, 'proxied call')
  }

  const refuse = async (thrown: unknown): Promise<Answer> => {
    const error = AppError.from(thrown)
    finish(String(error.status), error)
    try {
      await audit(error)
    } catch (cause) {
      deps.log.error({ trace_id: traceId, err: cause }, 'denied call not recorded')
    }
    return { kind: 'reply', brand, reply: proxyError(error, brand, traceId) }
  }

  const rewrite = async (body: Buffer, { caller, destination, ...request }: Accepted): Promise<Answer> => {
    const { contentType, contentEncoding } = request
    const plan = await timed('plan', () =>
      planBody(body, contentType, contentEncoding, deps.expressions, options.body),
    )
    const { upstream } = destination
    if (plan.kind === 'pass')
      return {
        kind: 'release',
        brand,
        upstream,
        edits: { set: new Map([[traceHeader, traceId]]), remove: [] },
      }
    const context = { caller, traceId, now: deps.clock.now() }
    const used = await timed('use', async () =>
      plan.ids.length === 0 ? new Map<string, UsedToken>() : await deps.vault.use(plan.ids, context),
    )
    tokens = used.size
    const replaced = await timed('apply', () => plan.apply(resolver(used)))
    return {
      kind: 'release',
      brand,
      upstream,
      edits: {
        set: new Map([
          [traceHeader, traceId],
          ['content-length', String(replaced.length)],
        ]),
        remove: plan.decoded ? ['content-encoding'] : [],
      },
      body: replaced,
    }
  }

  return {
    async headers(head, endOfStream) {
      try {
        brand = brandOf(head, brands)
        traceHeader = traceHeaderOf(brands, brand)
        traceId = traceIdOf(head, traceHeader)
        const found = await within(deps.admission.run(0, () => acceptHead(head, brand, shared, authorize)))
        const edits: Edits = {
          set: new Map([
            [':authority', found.destination.authority],
            [':path', found.path],
            [traceHeader, traceId],
          ]),
          remove: strippedNames(head, brands),
        }
        if (!endOfStream) {
          accepted = found
          return { kind: 'hold', brand, edits }
        }
        finish('forwarded')
        return { kind: 'release', brand, edits, upstream: found.destination.upstream }
      } catch (error) {
        return refuse(error)
      }
    },
    async body(body) {
      try {
        const request = accepted
        if (request === undefined) throw new Error('a body came without accepted headers')
        const answer = await within(deps.admission.run(body.length, () => rewrite(body, request)))
        finish('forwarded')
        return answer
      } catch (error) {
        return refuse(error)
      }
    },
    abandon() {
      giveUp?.()
    },
  }
}
