import t from 'tap'
import { expectAccessible } from '../kit/accessible.ts'
import { openConsole } from '../kit/browser.ts'
import { sharedVault } from './shared-vault.ts'

t.test('Requests: a user finds a failed call, and its cause', async (t) => {
  const { sidevault, vault } = await sharedVault()
  const page = await openConsole(t, sidevault, { hash: '#/requests?live=off', clock: true })
  const rows = page.getByRole('table', { name: 'Requests' }).getByRole('row')
  await rows.filter({ hasText: 'POST /proxy' }).first().waitFor()

  await t.test('filters are in the URL hash, and work as a link', async (t) => {
    await page.getByLabel('Kind').selectOption('Proxy')
    await page.getByLabel('Outcome').selectOption('Rejected')
    await page.getByLabel('Status').fill('4xx')
    await rows.filter({ hasText: 'GET /' }).first().waitFor({ state: 'detached' })
    t.match(page.url(), /#\/requests\?live=off&kind=proxy&outcome=rejected&status=4xx$/)
    await page.reload()
    await rows.filter({ hasText: 'Rejected 4' }).first().waitFor()
    t.equal(await page.getByLabel('Status').inputValue(), '4xx')
    t.equal(await rows.filter({ hasText: 'Forwarded' }).count(), 0)
  })

  await t.test('text that may be data filters, and is not in the URL hash', async (t) => {
    const { hash } = new URL(page.url())
    await page.getByLabel('Find').fill('4111111111111111')
    await page.getByText(/No call of the newest/).waitFor()
    t.equal(new URL(page.url()).hash, hash)
    await page.getByLabel('Find').fill('')
    await rows.filter({ hasText: 'Rejected 4' }).first().waitFor()
  })

  await t.test('a call shows where it ended, why, and the fix', async (t) => {
    await rows.getByRole('link').first().click()
    await page.getByRole('heading', { level: 1, name: 'POST /proxy' }).waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Ended here' }).waitFor()
    await page.getByText(/Correct the expression|Change the grants/).waitFor()
    await expectAccessible(t, page)
    const records = await page.getByRole('link', { name: 'Audit records of this time' }).getAttribute('href')
    t.match(records, /^#\/audit\?start_date=2\d{3}-.*&end_date=2\d{3}-/)
    await page.getByRole('button', { name: 'Copy trace id' }).waitFor()
  })

  await t.test('a link to a call works, and one to an evicted call says so', async () => {
    await page.goto(`/console/#/requests/${vault.ids.requests}`)
    await page.getByText('Step by step').waitFor()
    await page.goto('/console/#/requests/gateway-9-none')
    await page.getByText('This call is not among the newest of this node.').waitFor()
  })

  await t.test('the list refreshes by itself until it is paused', async (t) => {
    await page.goto('/console/#/requests')
    await rows.first().waitFor()
    const call = (path: string) => sidevault.call('GET', path, { key: sidevault.managementKey })
    await call('/reactor-formulas')
    await page.clock.runFor(3_000)
    await rows.filter({ hasText: 'GET /reactor-formulas' }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    t.match(page.url(), /live=off/)
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await call('/reactors')
    await page.getByRole('button', { name: 'Resume' }).click()
    await rows
      .filter({ hasText: /GET \/reactors(?!-)/ })
      .first()
      .waitFor()
  })

  await t.test('the list is copied as a command, without a key', async (t) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByText('Copy as …').click()
    await page.getByRole('button', { name: 'curl' }).click()
    await page
      .getByText('Copied as curl.')
      .or(page.getByRole('heading', { name: 'Copy this text' }))
      .waitFor()
    t.pass()
  })
})
