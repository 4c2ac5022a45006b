import { consoleHeader, createApi } from './api/client.ts'
import { ApiError, problemOf } from './api/problem.ts'
import { notice } from './kit/notice.ts'
import { pausePolls } from './kit/poll.ts'
import type { May } from './kit/screen.ts'
import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from './kit/signals.ts'

/** An application, as one of the signed-in keys. */
export interface Identity {
  readonly application: { readonly id: string; readonly name: string; readonly type: string }
  readonly permissions: readonly string[]
  readonly tenant?: { readonly id: string; readonly name?: string }
}

/** Up to one key of each kind. The server chooses the key that a call goes out with. */
interface Session {
  readonly management?: Identity
  readonly private?: Identity
  /** Times, ISO 8601. */
  readonly expires_at: string
  readonly idle_expires_at: string
}

/** `ended`: the page is still there, and continues when the same keys sign in again. */
export type SessionStatus = 'unknown' | 'signed out' | 'signed in' | 'ended'

const current = signal<Session | undefined>(undefined)
const state = signal<SessionStatus>('unknown')

export const session: ReadonlySignal<Session | undefined> = current
export const sessionStatus: ReadonlySignal<SessionStatus> = state

/** A signal for what a call returned, values among it: undefined when the session has ended, until `within` aborts. */
export const sessionResult = <T>(within: AbortSignal): Signal<T | undefined> => {
  const result = signal<T | undefined>(undefined)
  const dispose = effect(() => {
    // A response may come later.
    if (state.value !== 'signed in' && result.value !== undefined) result.value = undefined
  })
  within.addEventListener('abort', dispose)
  return result
}

const permissions = computed(
  () =>
    new Set(
      [current.value?.management, current.value?.private].flatMap((session) => session?.permissions ?? []),
    ),
)

export type KeyKind = 'management' | 'private'

/** The kind of key that the session has none of; undefined: it has both. */
export const missingKey = (): KeyKind | undefined => {
  const { management, private: own } = current.value ?? {}
  return management === undefined ? 'management' : own === undefined ? 'private' : undefined
}

/** Whether a key of a kind may have a permission (completions §4). */
export const isOfKind = (kind: KeyKind, permission: string): boolean =>
  permission.startsWith('token:') === (kind === 'private')

/** Whether one of the signed-in keys has a permission. For `needs`, and for buttons. */
export const may: May = (permission) => permissions.value.has(permission)

/** Tells other tabs, which share the cookie, that the session changed. */
const tabs = globalThis.window === undefined ? undefined : new BroadcastChannel('sidevault-console')
const CHANGED = 'session'

/** Loads the page again, without asking about what is unsaved. */
const reload = (): void => {
  state.value = 'unknown'
  location.reload()
}

const apply = (next: Session | undefined): void => {
  const before = current.peek()
  // What the page shows belongs to other keys. A key may be added, not exchanged.
  const isOther = (kind: KeyKind) =>
    before?.[kind] !== undefined && before[kind].application.id !== next?.[kind]?.application.id
  if (next !== undefined && (isOther('management') || isOther('private'))) {
    reload()
    return
  }
  batch(() => {
    if (next !== undefined) current.value = next
    state.value = next !== undefined ? 'signed in' : before === undefined ? 'signed out' : 'ended'
  })
  pausePolls(next === undefined)
  schedule(next)
}

let timer: ReturnType<typeof setTimeout> | undefined

/** Asks the server again when the session should have ended. */
const schedule = (next: Session | undefined): void => {
  clearTimeout(timer)
  if (next === undefined) return
  const end = Math.min(Date.parse(next.expires_at), Date.parse(next.idle_expires_at))
  if (Number.isFinite(end))
    timer = setTimeout(() => void refreshSession(), Math.max(5_000, end - Date.now() + 1_000))
}

const request = (method: string, body?: unknown): Promise<Response> =>
  fetch('/console/session', {
    method,
    headers: {
      ...consoleHeader(method === 'GET'),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    cache: 'no-store',
    credentials: 'same-origin',
    redirect: 'error',
  })

const parseSession = async (response: Response): Promise<Session | undefined> => {
  if (response.status === 401 || response.status === 204) return undefined
  if (!response.ok) throw await problemOf(response)
  const loaded = (await response.json()) as Session
  return loaded.management === undefined && loaded.private === undefined ? undefined : loaded
}

/** Asks the server who is signed in. */
const refreshSession = async (): Promise<void> => {
  try {
    apply(await parseSession(await request('GET')))
  } catch (thrown) {
    if (state.peek() !== 'unknown') return // the next call shows that the server does not respond
    state.value = 'signed out'
    throw thrown
  }
}

/** Signs in with a key, or adds it to the session. The key is sent once and stored nowhere. */
export const signIn = async (key: string): Promise<void> => {
  const response = await request('POST', { key })
  const next = response.status === 401 ? undefined : await parseSession(response)
  if (next === undefined)
    throw new ApiError({
      ...(await problemOf(response)),
      status: 400,
      title: 'This key is not valid',
      detail: 'Check that it is complete, and that it has not expired or been replaced.',
    })
  apply(next)
  tabs?.postMessage(CHANGED)
}

/** Ends the session, and removes from memory all that the page has loaded. A notice says when it did not end. */
export const signOut = async (): Promise<void> => {
  const response = await request('DELETE').catch(() => undefined)
  if (response === undefined || (!response.ok && response.status !== 401))
    return notice('error', 'You are still signed in: Sidevault did not respond. Retry.')
  tabs?.postMessage(CHANGED)
  location.replace(`${location.pathname}#/`)
  reload()
}

export const api = createApi(() => void refreshSession())

/** Begins to follow other tabs, and asks who is signed in. */
export const startSession = (): Promise<void> => {
  tabs?.addEventListener('message', () => void refreshSession())
  return refreshSession()
}
