import { parseJson } from '../../kit/json.ts'

/** A call of `/proxy` as the form has it, and the request that it becomes. Pure functions. */

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export interface Draft {
  readonly method: string
  /** Base URL of the destination; unused with a proxy key. */
  readonly url: string
  /** Key of a stored proxy; `''` for a call to `url`. */
  readonly proxyKey: string
  /** Path and query behind the base URL: `/charges?expand=all`. */
  readonly path: string
  /** Lines of `name: value`. */
  readonly headers: string
  readonly body: string
  /** JSON of a response for the response transform, in a dry run. */
  readonly response: string
  /** JSON of code that is not saved, in a dry run; `''`: none. */
  readonly code: string
}

export interface ProxyRequest {
  readonly method: string
  /** `/proxy/charges?expand=all`. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Names that a page cannot set (Fetch, "forbidden request-header"), or that the console does not forward. */
const FORBIDDEN =
  /^(?:connection|content-length|cookie|expect|host|origin|referer|te|transfer-encoding|upgrade|x-sidevault-console|(?:proxy|sec)-.*)$/i

const NAME = /^[\w!#$%&'*+.^`|~-]+$/

/** Headers of the lines, and sentences about lines that are not headers. */
const parseHeaders = (
  text: string,
): {
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly issues: readonly string[]
} => {
  const headers: [string, string][] = []
  const issues: string[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    const colon = line.indexOf(':')
    const [name, value] = [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    if (colon < 1 || !NAME.test(name)) issues.push(`Line ${index + 1} is not "name: value".`)
    else if (FORBIDDEN.test(name)) issues.push(`Browsers do not send the header "${name}". Use curl for it.`)
    else if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) issues.push(`No header can hold the value of "${name}".`)
    else headers.push([name, value])
  }
  return { headers, issues }
}

/** The value of the first header of a draft whose name matches. */
export const headerOf = ({ headers }: Draft, name: RegExp): string | undefined =>
  parseHeaders(headers).headers.find(([own]) => name.test(own))?.[1]

/** ASCII JSON in one line, as a header can hold; undefined when `parseJson` finds an error in the text. */
const headerJson = (text: string): string | undefined => {
  const { value, error } = parseJson(text)
  if (error !== undefined) return undefined
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Characters of code in a header; all headers have 60 KiB. */
const MAX_CODE = 50_000

/** Issues of a draft, by the name of the field. */
export const issuesOf = (draft: Draft): Readonly<Partial<Record<keyof Draft, string>>> => {
  const headers = parseHeaders(draft.headers).issues.join(' ')
  // The browser would take dot segments out, and call another path.
  const [path = ''] = draft.path.split('?', 1)
  const isPath =
    /^(?:\/[^\\]*)?$/.test(path) && !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path) && !draft.path.includes('#')
  const response = draft.response.trim() === '' ? undefined : parseJson(draft.response).error
  return {
    ...(draft.url === '' && draft.proxyKey === ''
      ? { url: 'Name a destination, e.g. https://api.example.com/v1, or choose a stored proxy.' }
      : {}),
    ...(isPath ? {} : { path: 'Begin it with / or ?, without dot segments and #.' }),
    ...(headers === '' ? {} : { headers }),
    ...(draft.code.length > MAX_CODE
      ? { code: 'The changed code is too long for a dry run. Save it first, on the page of the proxy.' }
      : {}),
    ...(response === undefined ? {} : { response }),
  }
}

/** The request of a draft. `prefix` is that of the service's headers. */
export const requestOf = (draft: Draft, prefix: string, dryRun: boolean): ProxyRequest => {
  const { headers } = parseHeaders(draft.headers)
  const body = draft.body === '' ? undefined : draft.body
  const response = dryRun && draft.response.trim() !== '' ? headerJson(draft.response) : undefined
  const hasType = headerOf(draft, /^content-type$/i) !== undefined
  return {
    method: draft.method,
    path: `/proxy${draft.path}`,
    headers: {
      ...(body === undefined || hasType ? {} : { 'content-type': 'application/json' }),
      ...Object.fromEntries(headers),
      ...(draft.proxyKey === ''
        ? { [`${prefix}-PROXY-URL`]: draft.url }
        : { [`${prefix}-PROXY-KEY`]: draft.proxyKey }),
      ...(dryRun ? { [`${prefix}-PROXY-DRY-RUN`]: 'true' } : {}),
      ...(dryRun && draft.code !== ''
        ? { [`${prefix}-PROXY-DRY-RUN-CODE`]: headerJson(draft.code) ?? '' }
        : {}),
      ...(response === undefined ? {} : { [`${prefix}-PROXY-DRY-RUN-RESPONSE`]: response }),
    },
    body,
  }
}

/** An expression for a token: all of it, or what a JSONPath finds in it. */
export const expression = (id: string, path: string): string =>
  path === '' ? `{{ ${id} }}` : `{{ ${id} | json: '${path.replaceAll("'", "\\'")}' }}`

const NAMED = /^[A-Za-z_]\w*$/

/** JSONPaths of the members of masked data, for picking: `$.number`, `$.owner.name`. */
export const pathsIn = (data: unknown, at = '$', depth = 3): readonly string[] => {
  if (depth === 0 || typeof data !== 'object' || data === null || Array.isArray(data)) return []
  return Object.entries(data)
    .flatMap(([name, value]) => {
      const path = NAMED.test(name) ? `${at}.${name}` : `${at}['${name.replaceAll(/(['\\])/g, '\\$1')}']`
      return [path, ...pathsIn(value, path, depth - 1)]
    })
    .slice(0, 40)
}

/** JSON with an indentation of two; other texts, and numbers that this would change, as they are. */
export const prettyJson = (text: string): string => {
  const { value, error } = parseJson(text)
  return error === undefined ? JSON.stringify(value, null, 2) : text
}
