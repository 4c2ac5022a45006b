/** Envoy clusters for the certificates of stored proxies in use. The certificates are in memory only. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../common/clock.ts'
import { isObject } from '../common/json.ts'
import { NackError } from './discovery.ts'
import type { BootstrapOptions, ClientCertificate } from './options.ts'

/** Idle time until a cluster is removed. A gateway reports a use once a minute, and holds a request for two at most. */
const IDLE_MS = 5 * 60_000
const SWEEP_MS = 60_000

/** Limits of clusters: each has its own egress filters, and each change sends all of them to Envoy. */
const MAX_CERTIFICATES = { all: 200, ofOwner: 50 }

/** Remembered certificates that Envoy rejected. */
const REMEMBERED = 2_000
/** ms until a rejected certificate is tried again: the cause may have been another one. */
const REJECTED_MS = 60_000
/** ms in which a tenant with a rejected certificate may add no others: each NACK costs a configuration change. */
const PENALTY_MS = 10_000

interface OwnedCertificate extends ClientCertificate {
  /** The tenant, for its limit. */
  readonly owner: string
}

/** See `XdsServer.change`. */
type Change = (next: (current: BootstrapOptions) => BootstrapOptions) => Promise<void>

interface ClientCertificates {
  /** Resolves when Envoy has a cluster for it; rejects when Envoy rejects it, or there are too many. */
  use(identity: OwnedCertificate): Promise<void>
  close(): void
}

/** ASCII only: Envoy logs the complete configuration when it is not valid UTF-8. */
export const isPemText = (value: unknown): value is string =>
  typeof value === 'string' && /^[\t\n\r -~]+$/.test(value)

/** Parses a gateway's request for the cluster `name`. Throws an Error when it is invalid. */
export const parseClientCertificate = (name: string, body: unknown): OwnedCertificate => {
  if (!isObject(body) || !isPemText(body.owner)) throw new Error('not an identity')
  const { owner, certificate, key, authorities } = body
  for (const pem of [certificate, key, authorities])
    if (pem !== undefined && !isPemText(pem)) throw new Error('not an identity')
  return {
    name,
    owner,
    ...(isPemText(certificate) && isPemText(key) ? { client: { certificate, key } } : {}),
    ...(isPemText(authorities) ? { authorities } : {}),
  }
}

export const createClientCertificates = (
  control: { readonly change: Change },
  { clock, limits = MAX_CERTIFICATES }: { readonly clock: Clock; readonly limits?: typeof MAX_CERTIFICATES },
): ClientCertificates => {
  const known = new Map<string, { readonly owner: string; usedAt: number }>()
  const waiting = new Map<string, OwnedCertificate>()
  const rejections = new LRUCache<string, { readonly error: NackError; readonly until: number }>({
    max: REMEMBERED,
  })
  const penalties = new LRUCache<string, number>({ max: REMEMBERED })

  const removeIdle = () => {
    for (const [name, { usedAt }] of known) if (usedAt <= clock.now() - IDLE_MS) known.delete(name)
  }
  /** `current` with `more`, without unused identities. */
  const withIdentities = (
    current: BootstrapOptions,
    more: readonly ClientCertificate[],
  ): BootstrapOptions => {
    const { identities = [] } = current
    const retained = identities.filter(({ name }) => known.has(name))
    const all = new Map([...more, ...retained].map((identity) => [identity.name, identity]))
    return all.size === retained.length && retained.length === identities.length
      ? current
      : { ...current, identities: [...all.values()] }
  }

  const admit = ({ name, owner }: OwnedCertificate) => {
    const rejection = rejections.get(name)
    if (rejection !== undefined && clock.now() < rejection.until) throw rejection.error
    if (!known.has(name) && clock.now() < (penalties.get(owner) ?? 0))
      throw new Error('a certificate of this tenant was rejected recently')
    removeIdle()
    const others = [...known].filter(([other]) => other !== name)
    const ofOwner = others.filter(([, other]) => other.owner === owner)
    if (others.length >= limits.all || ofOwner.length >= limits.ofOwner)
      throw new Error('too many certificates are in use')
    known.set(name, { owner, usedAt: clock.now() })
  }

  /** Certificates that arrive during a change are added together by the next one. */
  const add = async (identity: OwnedCertificate): Promise<void> => {
    waiting.set(identity.name, identity)
    let batch: readonly ClientCertificate[] = []
    try {
      await control.change((current) => {
        batch = [...waiting.values()]
        waiting.clear()
        return withIdentities(current, [...batch, identity])
      })
    } catch (error) {
      // A rejected certificate must not block the others.
      if (batch.length <= 1) throw error
      await control.change((current) => withIdentities(current, [identity]))
    }
  }

  const sweep = setInterval(() => {
    removeIdle()
    control.change((current) => withIdentities(current, [])).catch(() => {}) // logged there, and retried
  }, SWEEP_MS).unref()

  return {
    use: async (identity) => {
      const isNew = !known.has(identity.name)
      admit(identity)
      try {
        await add(identity)
        // A concurrent use by another gateway may have failed and removed it.
        known.set(identity.name, { owner: identity.owner, usedAt: clock.now() })
      } catch (error) {
        if (isNew) known.delete(identity.name)
        if (error instanceof NackError && error.nacked.length > 0) {
          rejections.set(identity.name, { error, until: clock.now() + REJECTED_MS })
          penalties.set(identity.owner, clock.now() + PENALTY_MS)
        }
        throw error
      }
    },
    close: () => clearInterval(sweep),
  }
}
