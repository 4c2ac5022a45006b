import type { Child } from './child.ts'
import type { ChildRules, Slots } from './child-rules.ts'
import type { Job } from './job.ts'

/** Largest part of the children, and of all places in them, for one tenant. */
export const TENANT_SHARE = 0.5

/** Rules of a pool in which each child serves one tenant only: the first one that it gets. */
export const createTenantChildren = (slots: Slots, isIdle: (child: Child) => boolean): ChildRules => {
  /** Whether a tenant may have one more child. */
  const mayOwn = (tenantId: string): boolean =>
    slots.filter((child) => child?.tenantId === tenantId).length < Math.max(1, slots.length * TENANT_SHARE)

  return {
    update: () => {},
    permit: (child, { source: { tenantId } }) =>
      child.ready && (child.tenantId === tenantId || (child.tenantId === undefined && mayOwn(tenantId))),
    /** An idle child of another tenant, for a tenant that has none. */
    childToReplaceFor: ({ source: { tenantId } }: Job) => {
      const served = slots.some((child) => !child?.ready || (child.tenantId ?? tenantId) === tenantId)
      return served ? undefined : slots.find((child) => child !== undefined && isIdle(child))
    },
  }
}
