import { closeDialogs } from './kit/dialog.ts'
import { addressFilters } from './kit/may-hold-data.ts'
import type { Screen, ScreenInstance } from './kit/screen.ts'
import { batch, computed, effect, type ReadonlySignal, signal, untracked } from './kit/signals.ts'
import { findScreen, hashOf, parseHash, withChanges } from './router.ts'
import { noteEntry } from './scroll.ts'
import { api, may, sessionStatus } from './session.ts'

/** The open screen. */
interface CurrentScreen {
  readonly screen: Screen | undefined
  readonly instance: ScreenInstance | undefined
  readonly unavailable?: 'not found' | 'not allowed'
}

const current = signal<CurrentScreen>({ screen: undefined, instance: undefined })
const heading = signal('')
/** Counts navigations: focus moves to the heading after each but the first. */
const navigations = signal(0)

const all = signal<readonly Screen[]>([])

/** All screens. They are loaded after the first view, since the sign-in page needs none. */
export const screens: ReadonlySignal<readonly Screen[]> = all

/** False until the screens are loaded. */
export const hasScreens: ReadonlySignal<boolean> = computed(() => screens.value.length > 0)
export const currentScreen: ReadonlySignal<CurrentScreen> = current
export const currentHeading: ReadonlySignal<string> = heading
export const navigationCount: ReadonlySignal<number> = navigations

let closeScreen = () => {}
let openPath: string | undefined
/** Filters of the open screen. `inAddress`: those that the hash has. */
let filters = signal(new URLSearchParams())
let inAddress = signal(filters.peek())

const navigate = (hash: string): void => {
  location.hash = hash
}

const open = (path: string, initial: URLSearchParams): void => {
  closeScreen()
  // Without a screen it belongs to none: somebody adds a key before the page has landed.
  if (current.peek().screen !== undefined) closeDialogs()
  const controller = new AbortController()
  const own = signal(initial)
  const ownInAddress = signal(initial)
  filters = own
  inAddress = ownInAddress
  openPath = path
  const match = findScreen(screens.peek(), path)
  const isAllowed = match?.screen.needs(may) ?? false
  const title = (text: string) => {
    if (!controller.signal.aborted) heading.value = text
  }
  batch(() => {
    heading.value =
      match === undefined ? 'Page not found' : isAllowed ? match.screen.title : 'This page is not available'
    const instance =
      match === undefined || !isAllowed
        ? undefined
        : match.screen.open({
            api,
            params: match.params,
            filters: own,
            hasHiddenFilters: computed(() => String(own.value) !== String(ownInAddress.value)),
            setFilters: (changes) => {
              if (controller.signal.aborted) return
              const next = withChanges(own.peek(), changes)
              batch(() => {
                own.value = next
                ownInAddress.value = addressFilters(next)
              })
              // Browsers limit how often; the next change shows in the address again.
              try {
                history.replaceState(history.state, '', hashOf(path, ownInAddress.peek()))
              } catch {}
            },
            signal: controller.signal,
            title,
            navigate,
          })
    current.value = {
      screen: match?.screen,
      instance,
      ...(instance === undefined ? { unavailable: match === undefined ? 'not found' : 'not allowed' } : {}),
    }
    navigations.value++
    closeScreen = () => {
      controller.abort()
      instance?.close?.()
    }
  })
}

/** Puts the landing in the place of `#/`, unless the reader is elsewhere by then. */
const land = async (): Promise<void> => {
  const { landing } = await import('./screens.ts')
  const path = await landing()
  if (parseHash(location.hash).path !== '/') return
  history.replaceState(history.state, '', hashOf(path))
  onHashChange()
}

const onHashChange = (): void => {
  const place = parseHash(location.hash)
  if (place.path === '/') {
    if (sessionStatus.peek() === 'signed in') void land()
  } else if (place.path !== openPath) open(place.path, place.filters)
  else if (String(place.filters) !== String(filters.peek()))
    batch(() => {
      filters.value = place.filters
      inAddress.value = place.filters
    })
}

/** Opens the screen of the hash as soon as somebody is signed in, and each that follows. */
export const startRouting = async (): Promise<void> => {
  history.scrollRestoration = 'manual'
  noteEntry()
  addEventListener('hashchange', () => {
    noteEntry()
    onHashChange()
  })
  effect(() => {
    // A key that was added may open what was not available.
    const isIn = sessionStatus.value === 'signed in'
    const isClosed = current.peek().instance === undefined
    for (const { needs } of screens.value) needs(may)
    if (isIn && isClosed && hasScreens.value)
      untracked(() => {
        openPath = undefined
        onHashChange()
      })
  })
  const loaded = await import('./screens.ts')
  all.value = loaded.screens
}

/** Opens the screen again, as a reload does. */
export const reopen = (): void => {
  openPath = undefined
  onHashChange()
}
