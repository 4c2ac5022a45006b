/** Everything that Envoy gets from the control plane, as plain data that is never changed. */
import { clusters } from './clusters.ts'
import { listener } from './listener.ts'
import { type BootstrapOptions, settle } from './options.ts'
import { routes } from './routes.ts'
import { secrets } from './secrets.ts'
import { KIND_NAMES, KINDS, type Kind } from './xds.ts'

/** A resource in the JSON form of its message. */
export type Resource = Readonly<Record<string, unknown>> & { readonly name: string }

export type Snapshot = Readonly<Record<Kind, readonly Resource[]>>

/** What these options come to. Throws an Error naming an option that cannot be. */
export const createSnapshot = (options: BootstrapOptions): Snapshot => {
  const settings = settle(options)
  return {
    clusters: clusters(settings),
    listeners: [listener(settings)],
    routes: [routes(settings)],
    secrets: secrets(settings),
  }
}

/** The resources of a kind in a snapshot, each with the type that an `Any` names. */
export const typed = (kind: Kind, resources: readonly Resource[]): readonly object[] =>
  resources.map((resource) => ({ '@type': KINDS[kind].type, ...resource }))

/**
 * A snapshot whose clusters are all of its own and those of `before` that it has no more: what refers to them may be
 * taken and left in any order.
 */
export const overlapping = (before: Snapshot, next: Snapshot): Snapshot => {
  const names = new Set(next.clusters.map(({ name }) => name))
  const leaving = before.clusters.filter(({ name }) => !names.has(name))
  return { ...next, clusters: [...next.clusters, ...leaving] }
}

/** True when both hold the same. */
export const isSame = (one: Snapshot, other: Snapshot): boolean =>
  KIND_NAMES.every((kind) => JSON.stringify(one[kind]) === JSON.stringify(other[kind]))
