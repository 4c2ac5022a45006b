import type { Page } from 'playwright-core'
import { openScreen, signIn } from '../kit/browser.ts'
import { browser } from '../kit/chromium.ts'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { checkout, median } from './against.ts'
import { table } from './report.ts'

const TOKENS = 10_000
const CALLS = 1_000
/** Tokens of a call that creates them. */
const BATCH = 100
/** Calls at once. */
const AT_ONCE = 8

const inTurn = async (count: number, atOnce: number, work: (index: number) => Promise<void>) => {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/** Tokens with an entry `order` of metadata, and proxied calls that take one of them. The key reads and uses all. */
const fill = async ({ call, application }: Sidevault): Promise<string> => {
  const key = await application({
    permissions: ['create', 'read', 'use', 'search'].map((verb) => `token:${verb}`),
  })
  const ids: string[] = []
  const post = async (path: string, body: unknown, headers = {}) => {
    const response = await call('POST', path, { key, body, headers })
    if (response.status >= 300) throw new Error(`POST ${path}: ${response.text}`)
    return response.json
  }
  await inTurn(TOKENS / BATCH, 1, async (batch) => {
    const created: readonly { readonly id: string }[] = await post(
      '/tokenize',
      Array.from({ length: BATCH }, (_, index) => ({
        type: 'token',
        data: `value ${batch}-${index}`,
        metadata: { order: String(batch * BATCH + index) },
      })),
    )
    ids.push(...created.map(({ id }) => id))
  })
  await inTurn(CALLS, AT_ONCE, (index) =>
    post('/proxy', { value: `{{ ${ids[index]} }}` }, { 'svc-proxy-url': 'https://demo.sidevault.test/pay' }),
  )
  return key
}

/** What a person waits for. `act` resolves when it is there. */
interface Wait {
  readonly name: string
  readonly key: 'management' | 'private'
  /** The screen on which it begins. */
  readonly from: string
  act(page: Page): Promise<unknown>
}

const open = (page: Page, hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
const row = (page: Page, name: RegExp) => page.getByRole('row', { name }).first().waitFor()

const WAITS: readonly Wait[] = [
  {
    name: '10,000 tokens: the list',
    key: 'private',
    from: '#/try',
    act: async (page) => {
      await open(page, '#/tokens')
      await row(page, /order: \d/)
    },
  },
  {
    name: '10,000 tokens: a search for one',
    key: 'private',
    from: '#/tokens',
    act: async (page) => {
      await page.locator('main').getByLabel('Search', { exact: true }).fill('metadata.order:77')
      await page.keyboard.press('Enter')
      await row(page, /order: 77(?!\d)/)
    },
  },
  {
    name: '1,000 calls: Overview',
    key: 'management',
    from: '#/settings',
    act: async (page) => {
      await open(page, '#/overview')
      await page.getByRole('figure').first().waitFor()
    },
  },
  {
    name: '1,000 calls: Requests',
    key: 'management',
    from: '#/settings',
    act: async (page) => {
      await open(page, '#/requests')
      // Below the heads. The newest calls may be the console's own.
      await page.getByRole('table', { name: 'Requests' }).getByRole('row').nth(1).waitFor()
    },
  },
]

const NAMES = ['first view', 'first view, cached', ...WAITS.map(({ name }) => name)]

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** Waits of one round, in ms, in the order of `NAMES`. */
const measure = async ({ url, managementKey }: Sidevault, privateKey: string): Promise<readonly number[]> => {
  const times: number[] = []
  for (const kind of ['management', 'private'] as const) {
    const context = await (await browser()).newContext({ baseURL: url, reducedMotion: 'reduce' })
    const page = await context.newPage()
    await page.goto('/console/')
    await signIn(page, kind === 'management' ? managementKey : privateKey)
    await page.getByRole('heading', { level: 1 }).waitFor()
    if (kind === 'management') {
      const cookies = await context.cookies()
      const fresh = await (await browser()).newContext({ baseURL: url, reducedMotion: 'reduce' })
      await fresh.addCookies(cookies)
      const other = await fresh.newPage()
      const view = async () => {
        await other.goto('/console/#/overview')
        await other.getByRole('figure').first().waitFor()
      }
      times[0] = await timed(view)
      await other.goto('about:blank')
      times[1] = await timed(view)
      await fresh.close()
    }
    for (const [index, { key, from, act }] of WAITS.entries()) {
      if (key !== kind) continue
      await openScreen(page, from)
      times[index + 2] = await timed(() => act(page))
    }
    await context.close()
  }
  return times
}

interface Measured {
  readonly name: string
  readonly service: Sidevault
  readonly key: string
  readonly rounds: (readonly number[])[]
}

const start = async (name: string, project?: string): Promise<Measured> => {
  const service = await startSidevault(project === undefined ? {} : { project })
  return { name, service, key: await fill(service), rounds: [] }
}

interface ConsoleOptions {
  /** A commit to take turns with. */
  readonly against: string | undefined
  readonly rounds: number
}

/**
 * A table of how long a person waits for screens in Chromium: ms, as medians with extremes. The first view without and
 * with a cache, the list and a search among 10,000 tokens, and 1,000 proxied calls.
 */
export const benchConsole = async ({ against, rounds }: ConsoleOptions): Promise<string> => {
  const other = against === undefined ? undefined : checkout(against)
  const versions = [
    await start('this version'),
    ...(other === undefined ? [] : [await start(other.sha, other.folder)]),
  ]
  try {
    for (let round = 0; round <= rounds; round++)
      for (const version of versions) {
        const times = await measure(version.service, version.key)
        // The first one warms.
        if (round > 0) version.rounds.push(times)
      }
  } finally {
    for (const { service } of versions) await service.stop()
    await (await browser()).close()
    other?.remove()
  }
  return table(
    ['ms until it is there', ...versions.map(({ name }) => name)],
    NAMES.map((name, index) => [
      name,
      ...versions.map(({ rounds }) => {
        const times = rounds.map((times) => times[index] ?? Number.NaN)
        return `${Math.round(median(times))} (${Math.round(Math.min(...times))} to ${Math.round(Math.max(...times))})`
      }),
    ]),
  )
}
