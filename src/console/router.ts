/** Routes are hashes: filters never reach a server, a proxy or a log. */

interface Route {
  /** `/tokens/abc`, as in the hash. */
  readonly path: string
  readonly filters: URLSearchParams
}

/** `#/tokens?type=card` → `/tokens` and `type=card`. */
export const parseHash = (hash: string): Route => {
  const text = hash.replace(/^#/, '')
  const at = text.indexOf('?')
  const path = (at < 0 ? text : text.slice(0, at)).replace(/\/+$/, '')
  return {
    path: path.startsWith('/') ? path : `/${path}`,
    filters: new URLSearchParams(at < 0 ? '' : text.slice(at + 1)),
  }
}

type Filters = URLSearchParams | Readonly<Record<string, string | undefined>>

/** The hash of a screen: `hashOf('/tokens', { type: 'card' })`. undefined and `''` are left out. */
export const hashOf = (path: string, filters: Filters = {}): string => {
  const members = new URLSearchParams()
  const entries = filters instanceof URLSearchParams ? filters : Object.entries(filters)
  for (const [name, value] of entries) if (value !== undefined && value !== '') members.append(name, value)
  return `#${path}${members.size === 0 ? '' : `?${members}`}`
}

/** `link`/tokens/${id}``: a hash whose parameters are encoded. */
export const link = (parts: TemplateStringsArray, ...ids: readonly string[]): string =>
  `#${String.raw({ raw: parts }, ...ids.map(encodeURIComponent))}`

/** Filters with changes; undefined and `''` remove a member. */
export const withChanges = (
  filters: URLSearchParams,
  changes: Readonly<Record<string, string | undefined>>,
): URLSearchParams => {
  const next = new URLSearchParams(filters)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  return next
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Parameters of a path that has the form of `pattern` (`/tokens/:id`); undefined when it does not. */
const matchPath = (pattern: string, path: string): Readonly<Record<string, string>> | undefined => {
  const names = pattern.split('/')
  const values = path.split('/')
  if (names.length !== values.length) return undefined
  const params: [string, string][] = []
  for (const [index, name] of names.entries()) {
    const value = decoded(values[index] ?? '')
    if (value === undefined) return undefined
    if (!name.startsWith(':')) {
      if (name !== value) return undefined
    } else if (value === '') return undefined
    else params.push([name.slice(1), value])
  }
  return Object.fromEntries(params)
}

interface Match<T> {
  readonly screen: T
  readonly params: Readonly<Record<string, string>>
}

/** The screen of a path. Literal paths (`/proxies/new`) come before those with parameters. */
export const findScreen = <T extends { readonly path: string }>(
  screens: readonly T[],
  path: string,
): Match<T> | undefined => {
  const matches = screens.flatMap((screen) => {
    const params = matchPath(screen.path, path)
    return params === undefined ? [] : [{ screen, params }]
  })
  return matches.sort((a, b) => Object.keys(a.params).length - Object.keys(b.params).length)[0]
}
