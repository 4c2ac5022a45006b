import type { Locator, Page, Route } from 'playwright-core'
import t from 'tap'
import { expectAccessible, expectOperable } from '../kit/accessible.ts'
import { openConsole, signIn } from '../kit/browser.ts'
import { until } from '../kit/until.ts'
import { ownTenant } from './shared-vault.ts'

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
const screens = (page: Page) => page.getByRole('navigation', { name: 'Screens' })

const isFocused = (locator: Locator) => locator.evaluate((element) => element === document.activeElement)

t.test('Shell: a user navigates by links and keys', async (t) => {
  const page = await openConsole(t, await ownTenant(), { hash: '#/overview' })
  await heading(page, 'Overview').waitFor()
  await screens(page).getByRole('link', { name: 'Audit' }).click()
  await heading(page, 'Audit').waitFor()
  t.ok(await isFocused(heading(page, 'Audit')), 'screen readers continue at the heading')
  t.equal(await page.title(), 'Audit · Sidevault')
  t.equal(await page.getByRole('link', { name: 'Audit' }).getAttribute('aria-current'), 'page')
  await page.goBack()
  await heading(page, 'Overview').waitFor()

  await page.keyboard.press('Tab')
  await page.goto('/console/#/nowhere')
  await heading(page, 'Page not found').waitFor()
  await expectAccessible(t, page)
  await page.goto('/console/#/audit')
  await heading(page, 'Audit').waitFor()
  await page.reload()
  await heading(page, 'Audit').waitFor()
  t.equal(await page.getByLabel('API key').count(), 0, 'the session outlives a reload')
})

t.test('Shell: on a phone the screens are in a menu', async (t) => {
  const page = await openConsole(t, await ownTenant(), {
    width: 390,
    height: 844,
    colorScheme: 'dark',
    hash: '#/overview',
  })
  await heading(page, 'Overview').waitFor()
  t.notOk(await page.getByRole('link', { name: 'Audit' }).isVisible())
  const button = page.getByRole('button', { name: 'Menu' })
  const menu = page.getByRole('dialog', { name: 'Menu' })
  await button.click()
  await expectOperable(t, page)
  await page.keyboard.press('Escape')
  await menu.waitFor({ state: 'hidden' })
  t.ok(await isFocused(button))
  await button.click()
  await page.mouse.click(380, 600)
  await menu.waitFor({ state: 'hidden' })
  await button.click()
  await menu.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('dialog', { name: 'Search' }).getByRole('button', { name: 'Close' }).click()
  await button.click()
  await screens(page).getByRole('link', { name: 'Audit' }).click()
  await heading(page, 'Audit').waitFor()
  await menu.waitFor({ state: 'hidden' })
  t.ok(await isFocused(heading(page, 'Audit')))
})

t.test('Shell: slow calls, errors and an unreachable service are shown, and retried', async (t) => {
  const page = await openConsole(t, await ownTenant(), {
    clock: true,
    expectedStatuses: [503],
    hash: '#/overview',
  })
  await heading(page, 'Overview').waitFor()
  let respond: (route: Route) => Promise<void> | void = () => {}
  await page.route('**/console/api/logs?*', (route) => respond(route))
  const problem = (status: number, code: string, detail: string) => (route: Route) =>
    route.fulfill({
      status,
      json: { status, code, title: 'Title', detail },
      headers: { 'svc-trace-id': 'trace-of-the-test' },
    })

  const held = Promise.withResolvers<Route>()
  respond = held.resolve
  await screens(page).getByRole('link', { name: 'Audit' }).click()
  await page.clock.runFor(1_500)
  await page.getByRole('region', { name: 'Records' }).getByText('This takes longer than usual').waitFor()

  await problem(503, 'overloaded', 'Retry later.')(await held.promise)
  await page.getByRole('heading', { name: 'Sidevault is not ready' }).waitFor()
  await page.getByText('trace-of-the-test').waitFor()
  t.equal(
    await page.getByRole('link', { name: 'overloaded' }).getAttribute('href'),
    '/docs/errors#overloaded',
  )
  await page.getByText('Last verified').waitFor() // the other part of the page moves no element from now on
  await expectOperable(t, page)

  respond = problem(429, 'rate_limited', 'Send fewer calls.')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('heading', { name: 'Too many calls' }).waitFor()
  respond = problem(403, 'forbidden', 'This call needs "log:read".')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('heading', { name: 'This key may not do this' }).waitFor()
  t.equal(await page.getByRole('button', { name: 'Retry' }).count(), 0, 'it would not help')
  respond = (route) => route.continue()
  await page.reload()
  await page
    .getByRole('table', { name: /records/i })
    .or(page.getByText(/^No record/))
    .first()
    .waitFor()
})

t.test('Shell: an expired session hides the page, which continues unchanged after sign-in', async (t) => {
  const sidevault = await ownTenant()
  const page = await openConsole(t, sidevault, { hash: '#/requests?live=off&console=true' })
  await page
    .getByRole('link', { name: /ago|just now/ })
    .first()
    .waitFor()
  await page.context().clearCookies()
  await page.getByRole('searchbox', { name: 'Trace id' }).fill('console')
  await page.getByRole('searchbox', { name: 'Trace id' }).press('Enter')
  await heading(page, 'Your session ended').waitFor()
  t.notOk(await page.getByRole('searchbox').isVisible(), 'nothing of the vault is shown')
  await signIn(page, sidevault.managementKey)
  t.equal(
    await page.getByRole('searchbox', { name: 'Trace id' }).inputValue(),
    'console',
    'the page was not lost',
  )
})

t.test('Shell: Search opens what has a name or an id, and starts actions', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey } = sidevault
  const create = async (path: string, body: object, key = managementKey): Promise<string> =>
    (await call('POST', path, { key, body })).json.id
  await create('/proxies', { name: 'Card processor', destination_url: 'https://demo.sidevault.test/' })
  const writer = await sidevault.application({ permissions: ['token:create'] })
  const token = await create('/tokens', { type: 'token', data: 'value' }, writer)
  const page = await openConsole(t, sidevault)
  await heading(page, 'Overview').waitFor()
  const dialog = page.getByRole('dialog', { name: 'Search' })
  const box = dialog.getByRole('combobox', { name: 'Name, id or action' })
  const find = async (text: string, option: string | RegExp) => {
    await page.keyboard.press('Control+k')
    await box.fill(text)
    await dialog.getByRole('option', { name: option, selected: true }).waitFor()
  }

  await page.getByRole('button', { name: 'Search' }).click()
  await dialog.getByRole('option', { name: 'Sign out' }).waitFor()
  await expectOperable(t, page)
  await page.keyboard.press('Escape')

  await find('processor', 'Card processor Proxy')
  await box.press('Enter')
  await heading(page, 'Card processor').waitFor()
  await page.keyboard.press('Control+k')
  await box.fill(token)
  await box.press('Enter') // before the API responds
  await heading(page, token).waitFor()
  await find('prox', 'Proxies Screen')
  await box.press('ArrowDown')
  await dialog.getByRole('option', { name: 'New proxy Action', selected: true }).waitFor()
  await box.press('Enter')
  await heading(page, 'New proxy').waitFor()
  await find('add a priv', /^Add a private key/)
  await box.press('Enter')
  await page
    .getByRole('dialog', { name: 'Add a private key' })
    .getByRole('button', { name: 'Cancel' })
    .click()
  const trace = '0af7651916cd43dd8448eb211c80319c'
  await find(trace, /trace/)
  await dialog.getByRole('option').click()
  await heading(page, 'Requests').waitFor()
  t.match(page.url(), `trace_id=${trace}`)

  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  await page.keyboard.press('Control+k')
  await box.fill('4242 4242 4242 4242')
  await dialog.getByText('This may be data').waitFor()
  t.same(
    sent.filter((url) => url.includes('4242')),
    [],
    'it is sent nowhere',
  )
  await box.fill('no such thing')
  await dialog.getByText('Nothing has this name or id.').waitFor()
})

t.test('Shell: / leads to the search of a screen, except where somebody types', async (t) => {
  const page = await openConsole(t, await ownTenant(), { hash: '#/applications' })
  const name = page.getByRole('searchbox', { name: 'Name' })
  await name.waitFor()
  await page.keyboard.press('/')
  t.ok(await isFocused(name))
  t.equal(await name.inputValue(), '')
  await page.keyboard.press('/')
  t.equal(await name.inputValue(), '/')

  await t.test('a menu of a button closes with Escape and with a click beside it', async (t) => {
    const button = page.getByRole('button', { name: 'Copy as …' })
    const item = page.getByRole('button', { name: 'curl' })
    await button.click()
    await item.waitFor()
    await expectAccessible(t, page)
    await page.keyboard.press('Escape')
    await item.waitFor({ state: 'hidden' })
    t.ok(await isFocused(button))
    await button.click()
    await heading(page, 'Applications').click()
    await item.waitFor({ state: 'hidden' })
  })
})

t.test('Shell: Back shows a page where it was left', async (t) => {
  const page = await openConsole(t, await ownTenant(), { hash: '#/settings', height: 320 })
  const scrolled = () => page.evaluate<number>('scrollY')
  await page
    .getByRole('region', { name: 'This node' })
    .getByText(/^tokens \d/)
    .waitFor()
  // What comes later above it would move the page.
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  await page.evaluate('scrollTo(0, 300)')
  await page.goto('/console/#/audit')
  await heading(page, 'Audit').waitFor()
  t.equal(await scrolled(), 0)
  await page.goBack()
  await until('the page is scrolled', async () => (await scrolled()) === 300)
  t.ok(await isFocused(heading(page, 'Settings')))
})
