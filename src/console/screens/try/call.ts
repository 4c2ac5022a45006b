import { parseJson } from '../../kit/json.ts'

/** A call of `/proxy` as the form has it, and the request that it becomes. Pure functions. */

export type FieldName = 'method' | 'proxyKey' | 'url' | 'path' | 'headers' | 'body' | 'response' | 'code'

/**
 * Texts of the form. `proxyKey` is the key of a stored proxy, `''` for a call to the base `url`; `path` has the query,
 * too. `headers` are lines of `name: value`. `response` and `code`, which is not saved, are JSON for dry runs, or `''`.
 */
export type Draft = Readonly<Record<FieldName, string>>

interface Field {
  readonly label: string
  readonly hint?: string
  readonly placeholder?: string
  readonly choices?: readonly string[]
  /** Lines; absent: one. */
  readonly rows?: number
  readonly initial?: string
  /** A sentence about what is wrong with the draft, if anything is. */
  readonly issue?: (draft: Draft) => string | false | undefined
}

/** Names that a page cannot set (Fetch, "forbidden request-header"), or that the console does not forward. */
const FORBIDDEN =
  /^(?:connection|content-length|cookie|expect|host|origin|referer|te|transfer-encoding|upgrade|x-sidevault-console|(?:proxy|sec)-.*)$/i

/** What is wrong with a line of headers; undefined: nothing. */
const issueOfHeader = (name: string, value: string, line: number): string | undefined => {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return `Line ${line} is not "name: value".`
  if (FORBIDDEN.test(name)) return `Browsers do not send the header "${name}". Use curl for it.`
  return /[^\t\x20-\x7e\x80-\xff]/.test(value) ? `No header can hold the value of "${name}".` : undefined
}

/** Names and values of the lines, each with its issue. */
const linesOf = (text: string) =>
  text.split(/\r?\n/).flatMap((line, index) => {
    if (line.trim() === '') return []
    const [name = '', value = ''] = line.includes(':') ? line.split(/:(.*)/s).map((part) => part.trim()) : []
    return [{ name, value, issue: issueOfHeader(name, value, index + 1) }]
  })

const headersOf = ({ headers }: Draft): readonly (readonly [name: string, value: string])[] =>
  linesOf(headers).flatMap(({ name, value, issue }) => (issue === undefined ? [[name, value]] : []))

/** The value of the first header of a draft whose name matches. */
export const headerOf = (draft: Draft, name: RegExp): string | undefined =>
  headersOf(draft).find(([own]) => name.test(own))?.[1]

const isPath = (text: string): boolean => {
  const [path = ''] = text.split('?', 1)
  // The browser would take dot segments out, and call another path.
  return /^(?:\/[^\\]*)?$/.test(path) && !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path) && !text.includes('#')
}

/** The fields of a call. */
export const FIELDS: Readonly<Record<FieldName, Field>> = {
  method: { label: 'Method', choices: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], initial: 'POST' },
  proxyKey: { label: 'Proxy key', hint: 'Key of a stored proxy. Leave empty to name a destination URL.' },
  url: {
    label: 'Destination URL',
    placeholder: 'https://api.example.com/v1',
    issue: ({ url, proxyKey }) =>
      url + proxyKey === '' &&
      'Name a destination, e.g. https://api.example.com/v1, or choose a stored proxy.',
  },
  path: {
    label: 'Path and query',
    placeholder: '/charges?expand=all',
    issue: ({ path }) => !isPath(path) && 'Begin it with / or ?, without dot segments and #.',
  },
  headers: {
    label: 'Headers',
    hint: 'One "name: value" a line.',
    rows: 2,
    issue: ({ headers }) =>
      linesOf(headers)
        .flatMap(({ issue }) => issue ?? [])
        .join(' '),
  },
  body: {
    label: 'Body',
    hint: 'JSON, unless the headers have another content-type.',
    rows: 7,
    initial: '{\n  "card": ""\n}',
  },
  response: {
    label: 'Response for the dry run',
    hint: 'A dry run gets no response. The response transform runs on this one.',
    rows: 3,
    initial: '{"status": 200, "headers": {"content-type": "application/json"}, "body": {}}',
    issue: ({ response }) => response.trim() !== '' && parseJson(response).error,
  },
  code: {
    label: 'Code of the proxy',
    // All headers have 60 KiB.
    issue: ({ code }) =>
      code.length > 50_000 &&
      'The changed code is too long for a dry run. Save it first, on the page of the proxy.',
  },
}

export const INITIAL = Object.fromEntries(
  Object.entries(FIELDS).map(([name, { initial = '' }]) => [name, initial]),
) as Draft

/** Issues of a draft, by the name of the field. */
export const issuesOf = (draft: Draft): Partial<Draft> =>
  Object.fromEntries(
    Object.entries(FIELDS).flatMap(([name, { issue }]) => {
      const sentence = issue?.(draft)
      return sentence ? [[name, sentence]] : []
    }),
  )

/** ASCII JSON in one line, as a header can hold; undefined when `parseJson` finds an error in the text. */
const headerJson = (text: string): string | undefined => {
  const { value, error } = parseJson(text)
  if (error !== undefined) return undefined
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The request of a draft. `prefix` is that of the service's headers. */
export const requestOf = (draft: Draft, prefix: string, isDryRun: boolean) => {
  const body = draft.body === '' ? undefined : draft.body
  const hasType = headerOf(draft, /^content-type$/i) !== undefined
  const headers = [
    ['content-type', body === undefined || hasType ? undefined : 'application/json'],
    ...headersOf(draft),
    draft.proxyKey === '' ? [`${prefix}-PROXY-URL`, draft.url] : [`${prefix}-PROXY-KEY`, draft.proxyKey],
    [`${prefix}-PROXY-DRY-RUN`, isDryRun ? 'true' : undefined],
    [`${prefix}-PROXY-DRY-RUN-CODE`, isDryRun ? headerJson(draft.code) : undefined],
    [`${prefix}-PROXY-DRY-RUN-RESPONSE`, isDryRun ? headerJson(draft.response) : undefined],
  ].filter(([, value]) => value !== undefined)
  return { method: draft.method, path: `/proxy${draft.path}`, headers: Object.fromEntries(headers), body }
}

/** An expression for a token: all of it, or what a JSONPath finds in it. */
export const expression = (id: string, path: string): string =>
  path === '' ? `{{ ${id} }}` : `{{ ${id} | json: '${path.replaceAll("'", "\\'")}' }}`

/** JSONPaths of the members of masked data, for picking: `$.number`, `$.owner.name`. */
export const pathsIn = (data: unknown, at = '$', depth = 3): readonly string[] => {
  if (depth === 0 || typeof data !== 'object' || data === null || Array.isArray(data)) return []
  return Object.entries(data)
    .flatMap(([name, value]) => {
      const isName = /^[A-Za-z_]\w*$/.test(name)
      const path = isName ? `${at}.${name}` : `${at}['${name.replaceAll(/(['\\])/g, '\\$1')}']`
      return [path, ...pathsIn(value, path, depth - 1)]
    })
    .slice(0, 40)
}

/** JSON with an indentation of two; other texts, and numbers that this would change, as they are. */
export const prettyJson = (text: string): string => {
  const { value, error } = parseJson(text)
  return error === undefined ? JSON.stringify(value, null, 2) : text
}
