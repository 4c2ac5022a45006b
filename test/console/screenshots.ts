/**
 * `npm run screenshots`: writes the pictures of the documentation, docs/console/*.png, from a vault with made-up data.
 * With names (`npm run screenshots overview`), only these.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { addKey, openConsole, openScreen, pictureOf, signIn } from '../kit/browser.ts'
import { browser } from '../kit/chromium.ts'
import { type FilledVault, fillVault } from '../kit/demo-vault.ts'
import { withFewColours } from '../kit/png.ts'
import { rewriteResponses } from '../kit/rewrite.ts'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'

const FOLDER = join(root, 'docs/console')

/** Bytes of a picture, at most. */
const MAX_BYTES = 130_000

interface Picture {
  readonly name: string
  readonly colorScheme?: 'light' | 'dark'
  readonly hash: (ids: FilledVault['ids']) => string
  /** Steps of a person before the picture is taken. */
  readonly act?: (page: Page, ids: FilledVault['ids']) => Promise<void>
}

const PICTURES: readonly Picture[] = [
  { name: 'overview', hash: () => '#/overview' },
  { name: 'overview-dark', hash: () => '#/overview', colorScheme: 'dark' },
  { name: 'requests', hash: () => '#/requests' },
  { name: 'request', hash: ({ requests }) => `#/requests/${requests}` },
  {
    name: 'dry-run',
    hash: () => '#/try',
    act: async (page, { tokens }) => {
      await page.getByLabel('Through').selectOption('Card processor')
      await page
        .getByLabel('Body', { exact: true })
        .fill(`{ "card": "{{ ${tokens} | json: '$.number' }}", "amount": 4200 }`)
      await page.getByRole('button', { name: 'Dry run' }).click()
      const first = page.getByRole('list', { name: 'Steps of the call' }).getByRole('heading').first()
      await first.waitFor()
    },
  },
  { name: 'tokens', hash: () => '#/tokens' },
  {
    name: 'access',
    hash: ({ tokens }) => `#/tokens/${tokens}`,
    act: (page) =>
      page.getByRole('heading', { name: 'Who can see it' }).evaluate((one) => one.scrollIntoView()),
  },
  {
    name: 'difference',
    hash: ({ applications }) => `#/applications/${applications}/edit`,
    act: async (page) => {
      await page.getByRole('group', { name: 'Rule 1' }).getByLabel('Disclosure').selectOption('reveal')
      const difference = page.getByRole('complementary', { name: 'Differences' })
      await difference.getByText('gains reveal on').first().waitFor()
      await difference.getByText('comparing …').waitFor({ state: 'detached' })
    },
  },
]

/** Payments of some minutes, of which some fail. */
const trade = async ({ call }: Sidevault, { ids, privateKey: key }: FilledVault): Promise<void> => {
  for (let turn = 0; turn < 240; turn++) {
    const card = [7, 19, 61, 64, 150, 201, 203].includes(turn)
      ? '00000000-0000-4000-8000-000000000000'
      : ids.tokens
    const headers = { 'svc-proxy-url': `https://demo.sidevault.test/${turn % 3 === 0 ? 'refund' : 'pay'}` }
    await call('POST', '/proxy', { key, body: { card: `{{ ${card} | json: '$.number' }}` }, headers })
    if (turn % 4 === 0) await call('GET', `/tokens/${ids.tokens}`, { key })
  }
}

const TIMES = ['at', 'created_at', 'modified_at']

const isList = (json: unknown): json is { readonly data: readonly Readonly<Record<string, unknown>>[] } =>
  typeof json === 'object' && json !== null && 'data' in json && Array.isArray(json.data)

/** Moves the times of a list into the past, each a little further: the vault was filled in a few seconds. */
const spread = (json: unknown): unknown => {
  if (!isList(json)) return json
  let ago = 0
  const data = json.data.map((row, at) => {
    ago += 700 + ((at * 7_919) % 5_000)
    const moved = TIMES.filter((name) => typeof row[name] === 'string').map((name) => [
      name,
      new Date(Date.parse(String(row[name])) - ago).toISOString(),
    ])
    return { ...row, ...Object.fromEntries(moved) }
  })
  return { ...json, data }
}

const only = process.argv.slice(3)
const ends: (() => unknown)[] = []
const test = {
  name: 'screenshots',
  passing: () => true,
  teardown: (end: () => unknown) => void ends.push(end),
}
const sidevault = await startSidevault()
let isDone = false
try {
  const vault = await fillVault(sidevault)
  await trade(sidevault, vault)
  mkdirSync(FOLDER, { recursive: true })
  const page = await openConsole(test, sidevault, { key: null })
  await rewriteResponses(page, spread)
  await signIn(page, sidevault.managementKey)
  await addKey(page, vault.privateKey)
  for (const { name, colorScheme = 'light', hash, act } of PICTURES) {
    if (only.length > 0 && !only.includes(name)) continue
    await page.emulateMedia({ colorScheme })
    await openScreen(page, '#/start')
    await openScreen(page, hash(vault.ids))
    await page.waitForTimeout(500) // figures that come after the screen
    await act?.(page, vault.ids)
    await page.mouse.move(0, 0)
    const png = withFewColours(await pictureOf(page))
    if (png.length > MAX_BYTES) throw new Error(`${name}.png has ${png.length} bytes, more than ${MAX_BYTES}`)
    writeFileSync(join(FOLDER, `${name}.png`), png)
    process.stdout.write(`docs/console/${name}.png ${png.length}\n`)
  }
  for (const end of ends) await end()
  isDone = true
} catch (error) {
  process.stderr.write(`${(error as Error).stack}\n`)
} finally {
  await (await browser()).close()
  await sidevault.stop()
}
// Without the report of tap, which is loaded and has no test here.
process.exit(isDone ? 0 : 1)
