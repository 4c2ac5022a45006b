import { isObject } from '../kit/json.ts'

/** A failed call, with the problem that the API reported. All texts are data of the API. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status; 0: no response. */
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  /** Sentences by member of the input. */
  readonly issues: Readonly<Record<string, readonly string[]>>
  readonly traceId: string | undefined
  /** Seconds. */
  readonly retryAfter: number | undefined

  constructor(members: Partial<Omit<ApiError, 'name' | 'message' | 'stack' | 'cause'>>) {
    super(members.detail ?? members.title ?? '')
    this.status = members.status ?? 0
    this.code = members.code ?? ''
    this.title = members.title ?? 'The call failed'
    this.detail = members.detail ?? ''
    this.issues = members.issues ?? {}
    this.traceId = members.traceId
    this.retryAfter = members.retryAfter
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const issuesOf = (errors: unknown): ApiError['issues'] =>
  isObject(errors)
    ? Object.fromEntries(
        Object.entries(errors).map(([place, sentences]) => [
          place,
          Array.isArray(sentences) ? sentences.filter((sentence) => typeof sentence === 'string') : [],
        ]),
      )
    : {}

/** The trace id of a response; its header has a configured prefix. */
export const traceIdOf = (headers: Headers): string | undefined => {
  for (const [name, value] of headers) if (name.endsWith('-trace-id')) return value
  return undefined
}

const CHANGED = 'Somebody else changed it since you opened it. Reload, then make your change again.'

/** The error of a response (completions §2), or one that says that the response has none. */
export const problemOf = async (response: Response): Promise<ApiError> => {
  const parsed: unknown = await response.json().catch(() => undefined)
  const body = isObject(parsed) ? (isObject(parsed.proxy_error) ? parsed.proxy_error : parsed) : {}
  const { status } = response
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new ApiError({
    status,
    code: textOf(body.code) ?? '',
    title: textOf(body.title) ?? `Status ${status}`,
    detail: status === 412 ? CHANGED : (textOf(body.detail) ?? 'The response does not say why.'),
    issues: issuesOf(body.errors),
    traceId: traceIdOf(response.headers),
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
  })
}

/** Anything thrown as an `ApiError`; a network error has status 0. */
export const asApiError = (thrown: unknown): ApiError =>
  thrown instanceof ApiError
    ? thrown
    : thrown instanceof TypeError || thrown instanceof DOMException
      ? new ApiError({
          title: 'No response',
          detail: 'Sidevault did not respond. Check that it runs, then retry.',
        })
      : new ApiError({ title: 'The page failed', detail: 'Reload the page. Report this if it repeats.' })
