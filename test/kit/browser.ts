import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, ConsoleMessage, Page, Request, Response, WebError } from 'playwright-core'
import type { Test } from 'tap'
import { browser } from './chromium.ts'
import type { Sidevault } from './sidevault.ts'
import { root } from './sources.ts'

/** Members of a test that these helpers use. */
type BrowserTest = Pick<Test, 'name' | 'passing' | 'teardown'>

export interface PageOptions {
  readonly colorScheme?: 'light' | 'dark'
  /** CSS pixels; default 1280. */
  readonly width?: number
  /** CSS pixels; default 800. */
  readonly height?: number
  /** Statuses from 500 that this test provokes. */
  readonly expectedStatuses?: readonly number[]
  /** The test sets the time of the page: `page.clock.runFor(30_000)`. It passes by itself too. */
  readonly clock?: boolean
}

interface ConsoleOptions extends PageOptions {
  /** Signs in with this key; default: the management key. `null`: stays on the sign-in form. */
  readonly key?: string | null
  /** The first screen, e.g. `#/tokens`. */
  readonly hash?: string
}

/** Reports violations of the content security policy that Chromium does not print. */
const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('content security policy: ' + event.violatedDirective + ' blocks ' + event.blockedURI + ' ' + event.sample), true)`

/** Chromium prints each response from 400 as an error. Which of these are errors, `watch` decides by their status. */
const FAILED_TO_LOAD = /^Failed to load resource: the server responded with a status of \d+/

/** Opaque URLs made by the page itself. */
const isOwn = (url: string, origin: string): boolean =>
  url.startsWith('blob:') || url.startsWith('data:') || new URL(url).origin === origin

/** Collects what no page may do, from all pages of the context, until `stop`. */
const watch = (context: BrowserContext, origin: string, expected: readonly number[]) => {
  const issues: string[] = []
  const onConsole = (message: ConsoleMessage): void => {
    if (!['error', 'warning', 'assert'].includes(message.type()) || FAILED_TO_LOAD.test(message.text()))
      return
    issues.push(`console ${message.type()}: ${message.text()}`)
  }
  const onError = (error: WebError): void => {
    issues.push(`page error: ${error.error().stack ?? error.error()}`)
  }
  const onRequest = (request: Request): void => {
    if (!isOwn(request.url(), origin)) issues.push(`request to another origin: ${request.url()}`)
  }
  const onResponse = (response: Response): void => {
    if (response.status() >= 500 && !expected.includes(response.status()))
      issues.push(`status ${response.status()}: ${response.request().method()} ${response.url()}`)
  }
  context.on('console', onConsole)
  context.on('weberror', onError)
  context.on('request', onRequest)
  context.on('response', onResponse)
  const stop = (): void => {
    context.off('console', onConsole)
    context.off('weberror', onError)
    context.off('request', onRequest)
    context.off('response', onResponse)
  }
  return { issues, stop }
}

const createContext = async (origin: string): Promise<BrowserContext> => {
  const context = await (await browser()).newContext({
    baseURL: origin,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  context.setDefaultTimeout(20_000)
  await context.addInitScript(REPORT_VIOLATIONS)
  return context
}

const contexts = new Map<string, Promise<BrowserContext>>()

/** A context without cookies and permissions. Tests of one origin share it: its cache has the program of the page. */
const sharedContext = (origin: string): Promise<BrowserContext> => {
  const known = contexts.get(origin) ?? createContext(origin)
  contexts.set(origin, known)
  return known
}

/** ms after which a page that does not close is left: Chromium hung once in some hundred closes, for good. */
const CLOSE_MS = 10_000

/** Closes a page. Playwright has no timeout for it. */
export const closePage = async (page: Page): Promise<void> => {
  await Promise.race([page.close(), sleep(CLOSE_MS, undefined, { ref: false })])
}

const resetContext = async (context: BrowserContext): Promise<void> => {
  await Promise.all(context.pages().map(closePage))
  await context.clearCookies()
  await context.clearPermissions()
}

/** Screenshots of the pages of a failed test, as files below `.cache/console/failures/`. */
const describe = async (context: BrowserContext, name: string): Promise<void> => {
  const folder = join(root, '.cache/console/failures')
  mkdirSync(folder, { recursive: true })
  for (const [index, page] of context.pages().entries()) {
    const path = join(folder, `${name.replaceAll(/[^\w-]+/g, '-')}-${index}`)
    await page.screenshot({ path: `${path}.png` })
    writeFileSync(`${path}.yml`, `# ${page.url()}\n${await page.locator('body').ariaSnapshot()}\n`)
  }
}

/**
 * An empty page of this origin, signed out, and alone in its context. The test fails at its end if a page of the
 * context violated its content security policy, printed an error or a warning, threw, sent a request to another
 * origin, or received a status from 500 that is not expected.
 */
export const openPage = async (t: BrowserTest, origin: string, options: PageOptions = {}): Promise<Page> => {
  const { colorScheme = 'light', width = 1280, height = 800, expectedStatuses = [], clock = false } = options
  const context = clock ? await createContext(origin) : await sharedContext(origin)
  const { issues, stop } = watch(context, new URL(origin).origin, expectedStatuses)
  t.teardown(async () => {
    if (!t.passing()) await describe(context, t.name).catch(() => {})
    // Calls in flight end with the page.
    await Promise.all(context.pages().map((page) => page.unrouteAll({ behavior: 'wait' })))
    if (clock) await context.close()
    else await resetContext(context)
    stop()
    if (issues.length === 0) return
    const message = `the pages of "${t.name}":\n  ${issues.join('\n  ')}`
    // tap does not print what a teardown throws.
    process.stderr.write(`${message}\n`)
    throw new Error(message)
  })
  const page = await context.newPage()
  await page.setViewportSize({ width, height })
  await page.emulateMedia({ colorScheme })
  if (clock) await page.clock.install()
  return page
}

/** Fills in the sign-in form that the page shows. */
export const signIn = async (page: Page, key: string): Promise<void> => {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('API key').waitFor({ state: 'detached' })
}

/** The console of a running Sidevault in a watched page (`openPage`), signed in through its form. */
export const openConsole = async (
  t: BrowserTest,
  sidevault: Pick<Sidevault, 'url' | 'managementKey'>,
  options: ConsoleOptions = {},
): Promise<Page> => {
  const { key = sidevault.managementKey, hash = '' } = options
  const page = await openPage(t, sidevault.url, options)
  await page.goto(`/console/${hash}`)
  if (key !== null) await signIn(page, key)
  return page
}

/** Adds the key of the other kind, as a person does; in a window that is wide enough for the navigation. */
export const addKey = async (page: Page, key: string): Promise<void> => {
  const screens = page.getByRole('navigation', { name: 'Screens' })
  await screens.getByRole('button', { name: /^Add a / }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('API key').fill(key)
  await dialog.getByRole('button', { name: 'Add key' }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** Opens a screen by its hash, and waits until nothing of it loads. */
export const openScreen = async (page: Page, hash: string): Promise<void> => {
  await page.evaluate(
    `new Promise((done) => { location.hash = ${JSON.stringify(hash)}; setTimeout(() => setTimeout(done, 20)) })`,
  )
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
}

/** A picture of the window, once what changed is painted: a page that was never painted cannot be captured. */
export const pictureOf = async (page: Page, type: 'png' | 'jpeg' = 'png'): Promise<Buffer> => {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  return page.screenshot({ animations: 'disabled', type })
}
