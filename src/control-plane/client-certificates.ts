/** Certificates of stored proxies that Envoy has clusters for: those that are in use. They are in memory only. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../common/clock.ts'
import { isObject } from '../common/json.ts'
import { NackError } from './discovery.ts'
import type { BootstrapOptions, DestinationIdentity } from './options.ts'

/** A gateway tells of a use once a minute, and holds a request for two at most. */
const IDLE_MS = 5 * 60_000
const SWEEP_MS = 60_000

/** Each is a cluster with its own guards, and Envoy is told of all when one comes. */
const MOST = { all: 200, ofOwner: 50 }

/** Certificates that Envoy refused are remembered: others have another name, so that these are likely to stay refused. */
const REMEMBERED = 2_000
/** ms until one is tried again: something else may have been at fault. */
const REJECTED_MS = 60_000
/** ms in which a tenant whose certificates were refused may bring no others: each refusal costs all a change. */
const PENALTY_MS = 10_000

export interface OwnedCertificate extends DestinationIdentity {
  /** The tenant, whose use is limited. */
  readonly owner: string
}

/** Makes what `next` says Envoy's configuration, as `Control.change` does. */
type Change = (next: (current: BootstrapOptions) => BootstrapOptions) => Promise<void>

export interface Identities {
  /** Resolves when Envoy has a cluster for it; rejects when it refuses that, or when there are too many. */
  use(identity: OwnedCertificate): Promise<void>
  close(): void
}

/** Envoy would tell its log of a configuration that is no UTF-8, whole. */
const text = (value: unknown): value is string => typeof value === 'string' && /^[\t\n\r -~]+$/.test(value)

/** What a gateway sent for the cluster `name`. Throws an Error when that is no identity. */
export const parseIdentity = (name: string, body: unknown): OwnedCertificate => {
  if (!isObject(body) || !text(body.owner)) throw new Error('not an identity')
  const { owner, certificate, key, authorities } = body
  for (const one of [certificate, key, authorities])
    if (one !== undefined && !text(one)) throw new Error('not an identity')
  return {
    name,
    owner,
    ...(text(certificate) && text(key) ? { client: { certificate, key } } : {}),
    ...(text(authorities) ? { authorities } : {}),
  }
}

export const createIdentities = (
  control: { readonly change: Change },
  { clock, most = MOST }: { readonly clock: Clock; readonly most?: typeof MOST },
): Identities => {
  const known = new Map<string, { readonly owner: string; usedAt: number }>()
  const waiting = new Map<string, OwnedCertificate>()
  const rejections = new LRUCache<string, { readonly error: NackError; readonly until: number }>({
    max: REMEMBERED,
  })
  const penalties = new LRUCache<string, number>({ max: REMEMBERED })

  const forgetIdle = () => {
    for (const [name, { usedAt }] of known) if (usedAt <= clock.now() - IDLE_MS) known.delete(name)
  }
  /** `current` with `more`, and without what nobody uses. */
  const having = (current: BootstrapOptions, more: readonly DestinationIdentity[]): BootstrapOptions => {
    const { identities = [] } = current
    const retained = identities.filter(({ name }) => known.has(name))
    const all = new Map([...more, ...retained].map((one) => [one.name, one]))
    return all.size === retained.length && retained.length === identities.length
      ? current
      : { ...current, identities: [...all.values()] }
  }

  const admit = ({ name, owner }: OwnedCertificate) => {
    const rejection = rejections.get(name)
    if (rejection !== undefined && clock.now() < rejection.until) throw rejection.error
    if (!known.has(name) && clock.now() < (penalties.get(owner) ?? 0))
      throw new Error('certificates of this tenant were refused a moment ago')
    forgetIdle()
    const others = [...known].filter(([other]) => other !== name)
    const ofOwner = others.filter(([, one]) => one.owner === owner)
    if (others.length >= most.all || ofOwner.length >= most.ofOwner)
      throw new Error('too many certificates are in use')
    known.set(name, { owner, usedAt: clock.now() })
  }

  /** Those that came while another change was made come together. */
  const add = async (identity: OwnedCertificate): Promise<void> => {
    waiting.set(identity.name, identity)
    let batch: readonly DestinationIdentity[] = []
    try {
      await control.change((current) => {
        batch = [...waiting.values()]
        waiting.clear()
        return having(current, [...batch, identity])
      })
    } catch (error) {
      // One that is refused is not to stop the others.
      if (batch.length <= 1) throw error
      await control.change((current) => having(current, [identity]))
    }
  }

  const sweep = setInterval(() => {
    forgetIdle()
    control.change((current) => having(current, [])).catch(() => {}) // it is logged there, and tried again
  }, SWEEP_MS).unref()

  return {
    use: async (identity) => {
      const isNew = !known.has(identity.name)
      admit(identity)
      try {
        await add(identity)
        // The same use, asked for by another gateway, may have failed meanwhile.
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
