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
import { brandHeaders, PROXY_METHODS, type Upstream } from '../control-plane/agreement.ts'
import type { Expressions, Resolve } from '../expressions/types.ts'
import type { Authenticator } from '../kernel/types.ts'
import type { Caller, UsedToken, Vault } from '../sdk/index.ts'
import type { Admission } from './admission.ts'
import { type BodyLimits, planBody } from './body/rewrite.ts'
import {
  type Destination,
  type DestinationPolicy,
  isSameAuthority,
  joinPath,
  parseDestination,
  parseSuffix,
} from './destination.ts'
import {
  type BrandRules,
  branded,
  brandOf,
  type Edits,
  type Head,
  single,
  strippedNames,
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

interface Accepted {
  readonly caller: Caller
  readonly destination: Destination
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

const SLOW = 'A part of the service does not answer. Nothing was forwarded. Retry.'

/** completions §4: `token:use` may come from a plain permission or any rule; which tokens it covers is the vault's. */
const mayUse = ({ grants }: Caller): boolean =>
  grants.permissions.includes('token:use') ||
  grants.rules.some(({ permissions }) => permissions.includes('token:use'))

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

type Stage = 'authenticate' | 'plan' | 'use' | 'apply'

export const createExchange = (deps: ExchangeDeps, options: ExchangeOptions): Exchange => {
  const { brands } = options
  const began = performance.now()
  let brand: string = brands.brands[0]
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
      deps.metrics.stage.observe({ stage }, (performance.now() - start) / 1000)
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
    const found = await timed('authenticate', () =>
      deps.authenticator.authenticate(branded(head, brands, 'apiKey')),
    )
    caller = found
    if (found.applicationType !== 'private')
      throw new AppError(
        'forbidden',
        'The proxy takes the key of a private application. Use one that holds token:use.',
      )
    if (!mayUse(found))
      throw new AppError(
        'forbidden',
        'The application lacks the permission token:use, which the proxy needs.',
      )
    return found
  }

  const accept = async (head: Head): Promise<{ readonly path: string; readonly accepted: Accepted }> => {
    const method = single(head, ':method') ?? ''
    if (!PROXY_METHODS.includes(method))
      throw new AppError('method_not_allowed', 'The proxy takes GET, POST, PUT, PATCH and DELETE.', {
        allow: PROXY_METHODS,
      })
    const path = single(head, ':path') ?? ''
    if (!/^\/proxy(?:[/?]|$)/.test(path)) throw new Error('a request off /proxy reached the gateway')
    const suffix = parseSuffix(path, brands.keyParameters)
    const proxyKey = branded(head, brands, 'proxyKey') ?? suffix.proxyKeys[0]
    if (proxyKey !== undefined)
      throw new AppError('not_found', 'No proxy has this proxy key. Check the key, or create a proxy.')
    await deps.admit?.({
      key: branded(head, brands, 'apiKey'),
      address: head.get(CLIENT_ADDRESS_HEADER)?.[0],
    })
    const allowed = await authorize(head)
    if (Number(single(head, 'content-length') ?? 0) > options.bodyLimit)
      throw new AppError(
        'too_large',
        `The body is larger than ${options.bodyLimit} bytes. Send a smaller one.`,
      )
    const url = branded(head, brands, 'proxyUrl')
    if (url === undefined)
      throw new AppError(
        'malformed',
        `The request names no destination. Send its base URL in the header "${brandHeaders(brand).proxyUrl}".`,
      )
    const destination = parseDestination(Buffer.from(url, 'latin1').toString('utf8'), options.destinations)
    if (isSameAuthority(destination, single(head, ':authority') ?? '', single(head, ':scheme') ?? ''))
      throw new AppError('destination_forbidden', 'The destination is this gateway itself. Use another one.')
    return {
      path: joinPath(destination, suffix),
      accepted: {
        caller: allowed,
        destination,
        contentType: head.get('content-type')?.join(', '),
        contentEncoding: head.get('content-encoding')?.join(', '),
      },
    }
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
    const traceHeader = [brandHeaders(brand).traceId, traceId] as const
    const plan = await timed('plan', () =>
      planBody(body, contentType, contentEncoding, deps.expressions, options.body),
    )
    const { upstream } = destination
    if (plan.kind === 'pass')
      return { kind: 'release', brand, upstream, edits: { set: new Map([traceHeader]), remove: [] } }
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
        set: new Map([traceHeader, ['content-length', String(replaced.length)]]),
        remove: plan.decoded ? ['content-encoding'] : [],
      },
      body: replaced,
    }
  }

  return {
    async headers(head, endOfStream) {
      try {
        brand = brandOf(head, brands)
        traceId = traceIdOf(head, brand)
        const { path, accepted: found } = await within(deps.admission.run(0, () => accept(head)))
        const edits: Edits = {
          set: new Map([
            [':authority', found.destination.authority],
            [':path', path],
            [brandHeaders(brand).traceId, traceId],
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
