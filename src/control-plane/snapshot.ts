/** All resources of the control plane, as immutable plain data. */
import { clusters } from './clusters.ts'
import { consoleRoutes } from './console-routes.ts'
import { forwardListeners } from './forward-listeners.ts'
import { connectRoutes, tunneledRoutes } from './forward-routes.ts'
import { listener } from './listener.ts'
import type { Settings } from './options.ts'
import { routes } from './routes.ts'
import { secrets } from './secrets.ts'
import { RESOURCE_TYPE_NAMES, RESOURCE_TYPES, type ResourceType } from './xds.ts'

/** A resource in the JSON form of its message. */
export type Resource = Readonly<Record<string, unknown>> & { readonly name: string }

export type Snapshot = Readonly<Record<ResourceType, readonly Resource[]>>

/** The resources for these settings. */
export const snapshotOf = (settings: Settings): Snapshot => ({
  clusters: clusters(settings),
  listeners: [listener(settings), ...forwardListeners(settings)],
  routes: [
    routes(settings, consoleRoutes(settings)),
    ...(settings.forward ? [connectRoutes(), tunneledRoutes(settings)] : []),
  ],
  secrets: secrets(settings),
})

/** Resources with the type URL of an `Any`. */
export const typed = (kind: ResourceType, resources: readonly Resource[]): readonly object[] =>
  resources.map((resource) => ({ '@type': RESOURCE_TYPES[kind].type, ...resource }))

/**
 * `next` with the removed clusters of `before`, so that references to both can be applied in any order.
 */
export const overlapping = (before: Snapshot, next: Snapshot): Snapshot => {
  const names = new Set(next.clusters.map(({ name }) => name))
  const leaving = before.clusters.filter(({ name }) => !names.has(name))
  return { ...next, clusters: [...next.clusters, ...leaving] }
}

/** True when both have the same content. */
export const isSame = (one: Snapshot, other: Snapshot): boolean =>
  RESOURCE_TYPE_NAMES.every((kind) => JSON.stringify(one[kind]) === JSON.stringify(other[kind]))
