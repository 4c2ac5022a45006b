import t from 'tap'
import { expectAccessible } from '../kit/accessible.ts'
import { openConsole, signIn } from '../kit/browser.ts'
import { ownTenant, sharedVault } from './shared-vault.ts'

t.test('Overview: shows node health and traffic, and links to the calls', async (t) => {
  const { sidevault } = await sharedVault()
  const page = await openConsole(t, sidevault, { clock: true })
  await page.getByText('Nothing needs attention.').or(page.getByText('Ready, degraded')).waitFor()
  const figure = (name: string) => page.getByRole('region', { name, exact: true })
  // Not among the notices, where it is when its sandbox lacks a part of its confinement.
  await figure('Components').getByRole('list').filter({ hasText: 'gateway-0' }).waitFor()
  await figure('Calls per second').getByRole('link').waitFor()
  t.match(await figure('Calls per second').textContent(), /[1-9]\d* calls/)
  await page.getByRole('table', { name: 'Values that left, by destination' }).waitFor()

  await t.test('a plot has its figures as a table', async () => {
    await figure('Calls per second').getByText('As a table').click()
    await figure('Calls per second').getByRole('columnheader', { name: 'Calls' }).waitFor()
    await expectAccessible(t, page)
  })

  await t.test('new calls appear without a reload', async () => {
    const [before = ''] = /[\d,]+ calls/.exec((await figure('Calls per second').textContent()) ?? '') ?? []
    await sidevault.call('GET', '/applications', { key: sidevault.managementKey })
    await page.clock.runFor(5_000)
    await figure('Calls per second').getByText(before, { exact: true }).waitFor({ state: 'detached' })
  })

  await t.test('the time range is in the URL hash', async (t) => {
    await page.getByRole('combobox').selectOption('60 minutes')
    t.match(page.url(), /#\/overview\?minutes=60$/)
  })

  await t.test('each number links to its list', async (t) => {
    await figure('Failed').getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor()
    t.equal(await page.getByLabel('Outcome').inputValue(), 'failed')
    await page
      .getByRole('cell', { name: /^Rejected 4/ })
      .first()
      .waitFor()
  })
})

t.test('Overview: with the service down nothing is green, and it recovers by itself', async (t) => {
  const { sidevault } = await sharedVault()
  const page = await openConsole(t, sidevault, { clock: true, expectedStatuses: [503] })
  const components = page.getByRole('region', { name: 'Components' })
  await components.getByText('ok', { exact: true }).first().waitFor()
  // As the edge responds without the admin process.
  await page.route('**/console/api/**', (route) =>
    route.fulfill({ status: 503, json: { code: 'overloaded', title: 'Overloaded', detail: 'Not now.' } }),
  )
  await page.clock.runFor(10_000)
  const alert = page.getByRole('alert').filter({ hasText: 'The service does not respond' })
  await alert.getByText(/This page is as of .+ UTC/).waitFor()
  await components.getByText('was ok').first().waitFor()
  t.equal(await components.getByText('ok', { exact: true }).count(), 0)
  t.equal(await page.getByText(/^Ready/).count(), 0)
  t.equal(await page.getByRole('main').locator('.good').count(), 0)
  const calls = page.getByRole('region', { name: 'Calls', exact: true })
  t.equal(
    await calls.evaluate((element) => getComputedStyle(element.parentElement as Element).filter),
    'grayscale(1)',
    'figures are grey',
  )
  await expectAccessible(t, page)
  await page.unrouteAll({ behavior: 'wait' })
  await page.clock.runFor(10_000)
  await alert.waitFor({ state: 'detached' })
  await components.getByText('ok', { exact: true }).first().waitFor()
})

t.test('Overview: notices that need attention come first', async (t) => {
  const sidevault = await ownTenant()
  const page = await openConsole(t, sidevault, { key: null, hash: '#/overview', expectedStatuses: [503] })
  const since = new Date(Date.now() - 3_700_000).toISOString()
  await page.route('**/readyz', (route) =>
    route.fulfill({
      status: 503,
      json: {
        status: 503,
        code: 'overloaded',
        title: 'Service unavailable',
        detail: 'Not ready.',
        components: [
          { name: 'store', status: 'failed', since },
          { name: 'sandbox', status: 'degraded', missing: ['uid'], since },
        ],
      },
    }),
  )
  const ends = Date.now() / 1_000 + 4.5 * 86_400
  await page.route('**/metrics', (route) =>
    route.fulfill({
      contentType: 'text/plain',
      body: `sidevault_certificate_expiry_timestamp_seconds{certificate="edge_certificate"} ${ends}\nsidevault_audit_journals_broken 1\n`,
    }),
  )
  await signIn(page, sidevault.managementKey)
  await page.getByText('Not ready').waitFor()
  const items = page.getByRole('listitem')
  await items.filter({ hasText: 'Component store is failed. 1 hour ago' }).waitFor()
  await items.filter({ hasText: 'The certificate “edge” ends soon. in 4 days' }).waitFor()
  const chain = page.getByRole('link', { name: 'The audit chain is broken: 1 journal.' })
  await expectAccessible(t, page)
  await chain.click()
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor()
})
