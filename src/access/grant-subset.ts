import { isWithin } from '../egress/destination-list.ts'
import type { AccessRule, Condition, DestinationList, Disclosure, Grants } from '../sdk/index.ts'
import { implied } from './rules.ts'

const LEVEL: Readonly<Record<Disclosure, number>> = { redact: 0, mask: 1, reveal: 2 }

type Granted = Pick<Grants, 'permissions' | 'rules'>

/** Containers of a rule: one (`exact`), or all whose path begins with `path`. */
interface Region {
  readonly path: string
  readonly exact: boolean
}

const EVERYWHERE: Region = { path: '/', exact: false }

/** The narrowest region of a rule's container or conditions; conditions on ids do not limit it. */
const regionOf = ({ container, conditions = [] }: Pick<AccessRule, 'container' | 'conditions'>): Region => {
  if (container !== undefined) return { path: container, exact: false }
  const places = conditions.filter(({ attribute }) => attribute === 'container')
  const region = ({ operator, value }: Condition): Region => {
    const path = value.toLowerCase()
    return operator === 'equals'
      ? { path: path.endsWith('/') ? path : `${path}/`, exact: true }
      : { path, exact: false }
  }
  return places.map(region).sort((a, b) => b.path.length - a.path.length)[0] ?? EVERYWHERE
}

const covers = (outer: Region, inner: Region): boolean =>
  outer.exact ? inner.exact && inner.path === outer.path : inner.path.startsWith(outer.path)

const meets = (a: Region, b: Region): boolean => covers(a, b) || covers(b, a)

/**
 * True when `own` grants `permission` in all of the region with at least the disclosure `transform`, and uses to all of
 * `destinations`. Its rules are evaluated as for a token: a rule that covers the region decides, one that covers a part
 * of it decides there.
 */
const allows = (
  own: Granted,
  permission: string,
  region: Region,
  transform: Disclosure,
  destinations?: DestinationList,
): boolean => {
  const rules = own.rules
    .filter((rule) => rule.permissions.includes(permission))
    .toSorted((a, b) => a.priority - b.priority)
  for (const rule of rules) {
    const where = regionOf(rule)
    if (!meets(where, region)) continue
    if (LEVEL[transform] > LEVEL[rule.transform]) return false
    if (permission === 'token:use' && !isWithin(rule.destinations, destinations)) return false
    if (covers(where, region) && !rule.conditions?.length) return true
  }
  return own.permissions.includes(permission) && LEVEL[transform] <= LEVEL[implied(permission)]
}

/**
 * Paths of the request at which permissions or rules exceed those of `own`; empty: they lie within. The lists of the
 * applications themselves are compared by `isWithin`.
 */
export const exceeds = (own: Granted, grant: Granted): readonly string[] => [
  ...grant.permissions
    .filter((permission) => !allows(own, permission, EVERYWHERE, implied(permission)))
    .map(() => 'permissions'),
  ...grant.rules.flatMap((rule, index) =>
    rule.permissions
      .filter((permission) => !allows(own, permission, regionOf(rule), rule.transform, rule.destinations))
      .map(() => `rules[${index}]`),
  ),
]
