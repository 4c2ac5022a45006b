import type { Application, Destination, Rule } from '../../api/types.ts'
import { containerLabel } from './difference.ts'

const VERBS: Readonly<Record<string, string>> = {
  'token:create': 'creates',
  'token:read': 'reads',
  'token:search': 'searches',
  'token:update': 'updates',
  'token:delete': 'deletes',
  'token:use': 'uses',
}

const WORDS = new Intl.ListFormat('en-GB')

const LEVELS = { redact: 'without values', mask: 'masked', reveal: 'revealed' } as const

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const verbsOf = (permissions: readonly string[]): string => {
  const known = Object.keys(VERBS).filter((permission) => permissions.includes(permission))
  const others = permissions.filter((permission) => !(permission in VERBS))
  return WORDS.format([...known.map((permission) => VERBS[permission] as string), ...others])
}

const ruleOf = ({ permissions, container, transform }: Rule): string =>
  `${verbsOf(permissions)} in ${containerLabel(container)}, ${LEVELS[transform]}`

const plural = (noun: string): string => (noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`)

/** `1 proxy`, `2 proxies`. */
export const formatCount = (count: number, noun: string): string =>
  `${count} ${count === 1 ? noun : plural(noun)}`

/** `tenant:member:read` → `members`. */
const resourceOf = (permission: string): string => {
  const parts = permission.split(':').slice(0, -1)
  if (parts[0] === 'tenant') return parts.length === 1 ? 'the tenant' : plural(parts.slice(1).join(' '))
  return plural(parts.join(' '))
}

const managementPhrase = (permissions: readonly string[]): string => {
  const changed = permissions.filter((permission) => !permission.endsWith(':read')).map(resourceOf)
  const resources = [...new Set(permissions.map(resourceOf))]
  const managed = resources.filter((resource) => changed.includes(resource))
  const read = resources.filter((resource) => !changed.includes(resource))
  return [
    ...(managed.length > 0 ? [`manages ${WORDS.format(managed)}`] : []),
    ...(read.length > 0 ? [`reads ${WORDS.format(read)}`] : []),
  ].join('; ')
}

/** Rules that a phrase names. */
const NAMED = 2

/** The rights of an application, in one phrase. */
export const phraseOf = (application: Pick<Application, 'type' | 'permissions' | 'rules'>): string => {
  const { type, permissions, rules } = application
  if (type === 'management') return capitalize(managementPhrase(permissions))
  const named = rules.slice(0, NAMED).map(ruleOf)
  const rest = rules.length - named.length
  return capitalize(
    [
      ...named,
      ...(rest > 0 ? [`${rest} more ${rest === 1 ? 'rule' : 'rules'}`] : []),
      ...(permissions.length > 0
        ? [`${verbsOf(permissions)} ${rules.length > 0 ? 'elsewhere' : 'tokens'}`]
        : []),
    ].join('; '),
  )
}

/** `POST https://api.example.com/v1/** (body)`. */
export const destinationText = ({ host, ports = [443], methods, path, surfaces }: Destination): string => {
  const address = host.includes(':') ? `[${host}]` : host
  const port = ports.length === 1 && ports[0] === 443 ? '' : `:${ports.join(',')}`
  return [
    ...(methods === undefined ? [] : [methods.join('|')]),
    `https://${address}${port}${path ?? ''}`,
    ...(surfaces === undefined ? [] : [`(${surfaces.join(', ')})`]),
  ].join(' ')
}
