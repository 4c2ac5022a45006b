import type { Page, Route } from 'playwright-core'
import t from 'tap'
import { expectAccessible, expectOperable } from '../kit/accessible.ts'
import { openConsole, signIn } from '../kit/browser.ts'
import { ownTenant } from './shared-vault.ts'

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
const screens = (page: Page) => page.getByRole('navigation', { name: 'Screens' })

/** Whether the heading of the screen has the focus. */
const isHeadingFocused = (page: Page) =>
  heading(page, 'Audit').evaluate((element) => element === document.activeElement)

t.test('Shell: a user navigates by links and keys', async (t) => {
  const page = await openConsole(t, await ownTenant())
  await heading(page, 'Overview').waitFor()
  await screens(page).getByRole('link', { name: 'Audit' }).click()
  await heading(page, 'Audit').waitFor()
  t.ok(await isHeadingFocused(page), 'screen readers continue at the heading')
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
  const page = await openConsole(t, await ownTenant(), { width: 390, height: 844, colorScheme: 'dark' })
  await heading(page, 'Overview').waitFor()
  t.notOk(await page.getByRole('link', { name: 'Audit' }).isVisible())
  await page.getByText('Menu').click()
  await expectOperable(t, page)
  await screens(page).getByRole('link', { name: 'Audit' }).click()
  await heading(page, 'Audit').waitFor()
  await page.getByRole('link', { name: 'Requests' }).waitFor({ state: 'hidden' })
})

t.test('Shell: slow calls, errors and an unreachable service are shown, and retried', async (t) => {
  const page = await openConsole(t, await ownTenant(), { clock: true, expectedStatuses: [503] })
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
