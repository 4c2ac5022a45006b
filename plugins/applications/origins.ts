import { throwIfInvalid } from '#kit'
import type { ApplicationType } from '#sdk'
import type { ApplicationGrants } from './grants.ts'

/** Stands for all origins. */
const ANY = '*'

const ORIGIN =
  /^(?:https:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?$/

/** As browsers serialize it (RFC 6454 §6.1): other spellings would never match. */
const isOrigin = (text: string): boolean =>
  ORIGIN.test(text) && URL.canParse(text) && new URL(text).origin === text

const rejection = (origin: string, origins: readonly string[]): string | undefined => {
  if (origin === ANY) return origins.length === 1 ? undefined : '"*" must be the only entry'
  return isOrigin(origin)
    ? undefined
    : 'must be an origin as browsers send it: https://host or https://host:port in lower case, without the default port and without a slash at its end; http for localhost only'
}

/**
 * The origins of an application of `type` with these grants, in stored form: none twice, absent without any. Throws
 * `invalid` with all issues (completions §20).
 */
export const checkOrigins = (
  { allowed_origins }: { readonly allowed_origins?: readonly string[] | null },
  type: ApplicationType,
  { permissions, rules }: Pick<ApplicationGrants, 'permissions' | 'rules'>,
): { readonly allowed_origins?: string[] } => {
  const origins = [...new Set(allowed_origins ?? [])]
  if (origins.length === 0) return {}
  const granted = [...permissions, ...rules.flatMap((rule) => rule.permissions)]
  throwIfInvalid([
    ['allowed_origins', type === 'public' ? undefined : 'are for public applications'],
    [
      'allowed_origins',
      origins.includes(ANY) && granted.some((permission) => permission !== 'token:create')
        ? '"*" is for applications with no other permission than token:create; name the origins'
        : undefined,
    ],
    ...(allowed_origins ?? []).map(
      (origin, index) => [`allowed_origins[${index}]`, rejection(origin, origins)] as const,
    ),
  ])
  return { allowed_origins: origins }
}
