import { detectPrefix } from './prefix.ts'
import { problemOf } from './problem.ts'

export { ApiError } from './problem.ts'

type Member = string | number | boolean | undefined

export interface CallOptions {
  /** undefined and `''` are left out; a list repeats its name. */
  readonly query?: Readonly<Record<string, Member | readonly string[]>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** A call that no person makes, such as a poll. It does not extend the session. */
  readonly background?: boolean
}

export interface Api {
  /** Parsed JSON of a successful response; throws `ApiError` for others. `path`: `/tokens`, or of the tag `path`. */
  call<T>(method: string, path: string, options?: CallOptions): Promise<T>
  /** Any response, whatever its status: for NDJSON, `/proxy` and texts. A string as `body` is sent as it is. */
  raw(method: string, path: string, options?: CallOptions): Promise<Response>
}

/** Throws for `.` and `..`, which the browser would resolve, encoded or not: the call would be another one. */
const segment = (id: string): string => {
  if (id === '.' || id === '..') throw new Error(`"${id}" cannot be part of a path`)
  return encodeURIComponent(id)
}

/** A path whose parameters are encoded: path`/tokens/${id}`. */
export const path = (parts: TemplateStringsArray, ...ids: readonly string[]): string =>
  String.raw({ raw: parts }, ...ids.map(segment))

/** `?a=1&b=2`, or `''`. */
export const queryText = (query: CallOptions['query'] = {}): string => {
  const members = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const member of Array.isArray(value) ? value : [value])
      if (member !== undefined && member !== '') members.append(name, String(member))
  return members.size === 0 ? '' : `?${members}`
}

/** Every unsafe call of the console carries it: other sites cannot send it without a preflight. */
export const consoleHeader = (background = false) => ({
  'x-sidevault-console': background ? 'background' : '1',
})

/**
 * The API as the session may call it. Changes and deletions are made over the version that was read last, else they are
 * 412. `onUnauthorized`: a response was 401, so that the session may have ended. `send`: `fetch` of the page.
 */
export const createApi = (
  onUnauthorized: () => void,
  send: typeof fetch = (...request) => fetch(...request),
): Api => {
  const etags = new Map<string, string>()
  const noteVersion = (where: string, { status, headers }: Response) => {
    // A new or deleted part, such as a key, is a change of what it is part of.
    if (status === 201 || status === 204)
      for (const entity of etags.keys()) if (`${where}/`.startsWith(`${entity}/`)) etags.delete(entity)
    const etag = headers.get('etag')
    if (etag !== null) etags.set(where, etag)
  }
  const raw: Api['raw'] = async (method, where, { query, body, headers, signal, background } = {}) => {
    const etag = method === 'GET' ? undefined : etags.get(where)
    const response = await send(`/console/api${where}${queryText(query)}`, {
      method,
      headers: {
        ...consoleHeader(background),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(etag === undefined ? {} : { 'if-match': etag }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      cache: 'no-store',
      credentials: 'same-origin',
      // Responses of destinations have no location to follow; the API sends no redirects.
      redirect: where.startsWith('/proxy') ? 'follow' : 'error',
      referrerPolicy: 'no-referrer',
    })
    if (!where.startsWith('/proxy')) {
      detectPrefix(response.headers)
      noteVersion(where, response)
    }
    if (response.status === 401) onUnauthorized()
    return response
  }
  return {
    raw,
    call: async <T>(method: string, where: string, options?: CallOptions): Promise<T> => {
      const response = await raw(method, where, options)
      if (!response.ok) throw await problemOf(response)
      const text = await response.text()
      return (text === '' ? undefined : JSON.parse(text)) as T
    },
  }
}
