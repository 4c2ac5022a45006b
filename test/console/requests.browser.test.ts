import t from 'tap'
import { expectAccessible } from '../kit/accessible.ts'
import { openConsole } from '../kit/browser.ts'
import { reflowIssues } from '../kit/reflow.ts'
import { sharedVault } from './shared-vault.ts'

t.test('Requests: a user finds a failed call, and its cause', async (t) => {
  const { sidevault, vault } = await sharedVault()
  const page = await openConsole(t, sidevault, { hash: '#/requests?live=off', clock: true })
  const table = page.getByRole('table', { name: 'Requests' })
  const rows = table.getByRole('row')
  const shop = rows.filter({ hasText: /(just now|ago)\s+\S.* → demo\.sidevault\.test/ })
  await shop.first().waitFor()

  await t.test('a row is a sentence on one line, with nothing cut off', async (t) => {
    const cells = await table.getByRole('cell').or(table.getByRole('rowheader')).all()
    for (const cell of cells) {
      const { text, isCut, lines } = await cell.evaluate((element) => ({
        text: element.textContent,
        isCut: element.scrollWidth > element.clientWidth,
        lines:
          element.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(element).lineHeight),
      }))
      t.notOk(isCut, text ?? '')
      t.ok(lines < 2, text ?? '')
    }
    const region = page.getByRole('region', { name: 'Requests' })
    t.ok(await region.evaluate((element) => element.scrollWidth <= element.clientWidth), 'nor beyond')
    await shop
      .filter({ hasText: 'Answered 200' })
      .filter({ hasText: ' ms' })
      .filter({ hasText: '1 token' })
      .first()
      .waitFor()
  })

  await t.test('a phone shows the outcome below the sentence', async (t) => {
    await page.setViewportSize({ width: 390, height: 800 })
    t.same(await reflowIssues(page), [])
    for (const row of await shop.all()) {
      const { x = 0, width = 999 } = (await row.getByText(/^(Answered|Rejected) \d/).boundingBox()) ?? {}
      t.ok(x + width <= 390)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  await t.test("the console's own calls are shown when asked for", async (t) => {
    const own = rows.filter({ hasText: 'POST /console/session' })
    t.equal(await own.count(), 0)
    await page.getByText('More filters').click()
    await page.getByLabel("Console's own calls").selectOption('Shown')
    await own.first().waitFor()
    await page.getByLabel("Console's own calls").selectOption('Hidden')
    await own.first().waitFor({ state: 'detached' })
  })

  await t.test('filters are in the URL hash, and work as a link', async (t) => {
    await page.getByLabel('Kind').selectOption('Proxy')
    await page.getByLabel('Outcome').selectOption('Rejected')
    await page.getByLabel('Status').fill('4xx')
    await page.getByLabel('Host').fill('demo.sidevault.test')
    await page.getByLabel('Host').press('Enter')
    await rows.filter({ hasText: 'GET /' }).first().waitFor({ state: 'detached' })
    await rows.filter({ hasText: 'Answered' }).first().waitFor({ state: 'detached' })
    t.match(
      page.url(),
      /#\/requests\?live=off&kind=proxy&outcome=rejected&status=4xx&host=demo\.sidevault\.test$/,
    )
    await page.reload()
    await rows.filter({ hasText: 'Rejected 4' }).first().waitFor()
    t.equal(await page.getByLabel('Status').inputValue(), '4xx')
    await page.getByLabel('Status').fill('9')
    await page.getByLabel('Status').press('Enter')
    await page.getByText('must be a status, e.g. 404').waitFor()
    await page.getByLabel('Status').fill('')
    await page.getByLabel('Status').press('Enter')
    await rows.filter({ hasText: 'Rejected 4' }).first().waitFor()
  })

  await t.test('text that may be data filters, and is not in the URL hash', async (t) => {
    const { hash } = new URL(page.url())
    await page.getByLabel('Trace id').fill('4111111111111111')
    await page.getByLabel('Trace id').press('Enter')
    await page.getByText(/^No call matches/).waitFor()
    t.equal(new URL(page.url()).hash, hash)
    await page.getByLabel('Trace id').fill('')
    await page.getByLabel('Trace id').press('Enter')
    await rows.filter({ hasText: 'Rejected 4' }).first().waitFor()
  })

  await t.test('a call shows where it ended, why, and the fix', async (t) => {
    await rows.getByRole('link').first().click()
    await page.getByRole('heading', { level: 1, name: / → demo\.sidevault\.test$/ }).waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Ended here' }).waitFor()
    await page.getByText(/Correct the expression|Change the grants/).waitFor()
    await expectAccessible(t, page)
    const records = await page.getByRole('link', { name: 'Audit records of this time' }).getAttribute('href')
    t.match(records, /^#\/audit\?start_date=2\d{3}-.*&end_date=2\d{3}-/)
    await page.getByRole('button', { name: 'Copy trace id' }).waitFor()
    const trace = await page.getByText(/^[0-9a-f]{32}$/).textContent()
    await page.goto(`/console/#/requests?trace_id=${trace}`)
    await rows.filter({ hasText: 'Rejected 4' }).waitFor()
    t.equal(await rows.count(), 2, 'the head, and that call')
    await page.getByLabel('Kind').selectOption('Proxy')
    t.match(page.url(), trace, 'a trace id is no data')
  })

  await t.test('a link to a call works, and one to an evicted call says so', async () => {
    await page.goto(`/console/#/requests/${vault.ids.requests}`)
    await page.getByText('Step by step').waitFor()
    await page.goto('/console/#/requests/gateway-9-none')
    await page.getByText('This call is not among those of this node.').waitFor()
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
