import type { May } from '../../kit/screen.ts'
import { link } from '../../router.ts'

type Place = readonly [permission: string, hash: (id: string) => string]

const PLACES: Readonly<Record<string, Place>> = {
  application: ['application:read', (id) => link`/applications/${id}`],
  proxy: ['proxy:read', (id) => link`/proxies/${id}`],
  reactor: ['reactor:read', (id) => link`/reactors/${id}`],
  reactor_formula: ['reactor:read', (id) => link`/formulas/${id}`],
  tenant: ['tenant:read', () => '#/settings'],
  tenant_member: ['tenant:member:read', () => '#/settings'],
  tenant_invitation: ['tenant:invitation:read', () => '#/settings'],
}

/** The page of a token shows access and history, also to keys that may not read the token. */
const TOKEN: Place = ['log:read', (id) => link`/tokens/${id}`]

/** Entity types without a page of their own, besides types of tokens. */
const WITHOUT_PAGE = new Set([
  'application_key',
  'console_session',
  'log',
  'report',
  'session',
  'token_association',
])

/** Whether an entity type is one of tokens. The type is data, and may be the name of a member of every object. */
export const isToken = (type: string): boolean => !Object.hasOwn(PLACES, type) && !WITHOUT_PAGE.has(type)

/** The hash of the page of an entity that a record names; undefined without one that the session may see. */
export const entityLink = (type: string, id: string, may: May): string | undefined => {
  if (id === '' || WITHOUT_PAGE.has(type)) return undefined
  const [permission, hash] = (isToken(type) ? undefined : PLACES[type]) ?? TOKEN
  return may(permission) ? hash(id) : undefined
}
