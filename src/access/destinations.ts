/**
 * Where a token's value may go: the lists of the token, of the deciding rule and of the application (completions §14).
 */
import { allowsDestination, isWithin } from '../egress/destination-list.ts'
import type {
  CodeScope,
  DestinationList,
  DestinationVerdict,
  Disclosure,
  EgressLimits,
  Grants,
  Surface,
  UseContext,
} from '../sdk/index.ts'
import { decide, decidingRule, type Located, limitsUse } from './rules.ts'

/** A token as these rules look at it. */
export interface Limited extends Located {
  readonly egress?: EgressLimits | null
}

type Owner = NonNullable<DestinationVerdict['by']>

/** Why a use is denied; `by`: the list that denies. */
export type Denial =
  | { readonly code: 'egress_only' }
  | { readonly code: 'destination_not_allowed'; readonly by: Owner }

/** The destination of a use, the surfaces that hold its values, and the code that gets those of the body. */
type Use = Pick<UseContext, 'destination' | 'surfacesOf' | 'copies' | 'code'>

/** False: nothing limits where `token:use` sends the value. */
export const isLimited = (grants: Grants, { egress }: Limited): boolean =>
  (egress !== null && egress !== undefined) || limitsUse(grants)

/**
 * Whether a use sends the value without showing it: the use is limited by the grants, or the value is for proxies only.
 */
export const isOpaque = (grants: Grants, token: Limited): boolean =>
  token.egress?.egress_only === true ||
  (grants.destinations ?? []).length > 0 ||
  decidingRule(grants, 'token:use', token)?.destinations !== undefined

/** The lists that a use of the token must satisfy. */
export const listsOf = (grants: Grants, token: Limited): readonly (readonly [Owner, DestinationList])[] => {
  const own = token.egress?.destinations
  const ofRule = decidingRule(grants, 'token:use', token)?.destinations
  return [
    ...(own ? ([['token', own]] as const) : []),
    ...(ofRule ? ([['rule', ofRule]] as const) : []),
    ...(grants.destinations ?? []).map((list) => ['application', list] as const),
  ]
}

/** Whether code gets the value: a request transform gets those of the body. */
export const isForCode = ({ id }: Limited, { code, surfacesOf }: Use): boolean =>
  code !== undefined && (surfacesOf?.(id).includes('body') ?? true)

/** The surfaces on which the value may end; undefined: any, since code can put it anywhere. */
const surfacesIn = (token: Limited, use: Use): readonly Surface[] | undefined => {
  const surfaces = use.surfacesOf?.(token.id)
  if (surfaces === undefined || isForCode(token, use)) return undefined
  return surfaces.includes('body') ? [...surfaces, ...(use.copies ?? [])] : surfaces
}

/**
 * The error of a use of the token; undefined: the value may go there. Without a destination no list is satisfied.
 * Proxies with a request transform send no value that is for proxies only.
 */
export const denialOf = (grants: Grants, token: Limited, use: Use): Denial | undefined => {
  const { destination, code } = use
  const surfaces = surfacesIn(token, use)
  for (const [by, list] of listsOf(grants, token))
    if (destination === undefined || !allowsDestination(list, destination, surfaces))
      return { code: 'destination_not_allowed', by }
  const isTransformed = destination !== undefined && code !== undefined
  return isTransformed && token.egress?.egress_only ? { code: 'egress_only' } : undefined
}

/** A reader's disclosure of a token: a value for proxies only is masked at most. */
export const readable = <D extends Disclosure | 'denied'>(
  disclosure: D,
  { egress }: Pick<Limited, 'egress'>,
): D | 'mask' => (disclosure === 'reveal' && egress?.egress_only ? 'mask' : disclosure)

/**
 * Whether code may read the token: a transform may if the token allows its destination; the list then limits its
 * requests.
 */
export const admitsCode = ({ egress }: Pick<Limited, 'egress'>, code: CodeScope): boolean => {
  const list = egress?.destinations
  if (!list) return true
  if (code.destination === undefined || !allowsDestination(list, code.destination)) return false
  code.limit(list)
  return true
}

/** Whether the caller's uses may send the token to more destinations after a move. */
export const usesMoreAt = (grants: Grants, here: Located, there: Located): boolean =>
  limitsUse(grants) &&
  decide(grants, 'token:use', there) !== 'denied' &&
  !isWithin(
    decidingRule(grants, 'token:use', here)?.destinations,
    decidingRule(grants, 'token:use', there)?.destinations,
  )
