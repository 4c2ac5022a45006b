/** Certificates of stored proxies that Envoy has clusters for: those that are in use. They are in memory only. */
import type { Clock } from '../common/clock.ts'
import { isObject } from '../common/json.ts'
import type { DestinationIdentity } from '../control-plane/options.ts'
import type { Control } from './control.ts'

/** A gateway tells of a use every minute at most, and holds a request for two. */
const IDLE_MS = 10 * 60_000
const SWEEP_MS = 60_000
const MOST = 500

export interface Identities {
  /** Resolves when Envoy has a cluster for it; rejects when it refuses that, or when there are too many. */
  use(identity: DestinationIdentity): Promise<void>
  close(): void
}

const text = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** What a gateway sent for the cluster `name`. Throws an Error when that is no identity. */
export const parseIdentity = (name: string, body: unknown): DestinationIdentity => {
  if (!isObject(body)) throw new Error('not an identity')
  const { certificate, key, authorities } = body
  return {
    name,
    ...(text(certificate) && text(key) ? { client: { certificate, key } } : {}),
    ...(text(authorities) ? { authorities } : {}),
  }
}

export const createIdentities = (
  control: Pick<Control, 'change'>,
  { clock, most = MOST }: { readonly clock: Clock; readonly most?: number },
): Identities => {
  const used = new Map<string, number>()
  const inUse = (known: readonly DestinationIdentity[] = []) =>
    known.filter(({ name }) => (used.get(name) ?? 0) > clock.now() - IDLE_MS)

  const sweep = setInterval(() => {
    control
      .change((current) => {
        const identities = inUse(current.identities)
        for (const name of [...used.keys()])
          if (!identities.some((one) => one.name === name)) used.delete(name)
        return { ...current, identities }
      })
      .catch(() => {}) // it is logged there, and tried again
  }, SWEEP_MS).unref()

  return {
    use: async (identity) => {
      const known = used.has(identity.name)
      used.set(identity.name, clock.now())
      try {
        await control.change((current) => {
          const { identities = [] } = current
          if (identities.some(({ name }) => name === identity.name)) return current
          const others = inUse(identities)
          if (others.length >= most) throw new Error('too many certificates are in use')
          return { ...current, identities: [...others, identity] }
        })
      } catch (error) {
        if (!known) used.delete(identity.name)
        throw error
      }
    },
    close: () => clearInterval(sweep),
  }
}
