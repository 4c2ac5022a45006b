import { readFileSync } from 'node:fs'
import t from 'tap'
import { expectAccessible } from '../kit/accessible.ts'
import { openConsole } from '../kit/browser.ts'
import type { Sidevault } from '../kit/sidevault.ts'
import { until } from '../kit/until.ts'
import { ownTenant } from './shared-vault.ts'

/** Waits until the audit log lists so many records of an entity: rows follow the journal after 0.2 s. */
const recordsOf = async ({ call }: Pick<Sidevault, 'call'>, key: string, id: string, count: number) => {
  await until(`${count} records of ${id}`, async () => {
    const { json } = await call('GET', `/logs?entity_id=${id}`, { key })
    return json.pagination.total_items >= count
  })
}

t.test('Audit: finds who read a token, follows the link, and exports the records', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey } = sidevault
  const key = await sidevault.application({ permissions: ['token:create', 'token:read'] })
  const { json: token } = await call('POST', '/tokens', { key, body: { type: 'token', data: 'secret' } })
  for (let reads = 0; reads < 3; reads++) await call('GET', `/tokens/${token.id}`, { key })
  await recordsOf(sidevault, managementKey, token.id, 4)

  const page = await openConsole(t, sidevault, { hash: '#/audit' })
  const records = page.getByRole('table', { name: 'Audit records' })
  await records.getByRole('row', { name: /Console session created/ }).waitFor()
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor()

  await t.test('filters are in the URL hash', async (t) => {
    await page.getByLabel('Entity type').selectOption('Token')
    await page.getByLabel('Entity id').fill(token.id)
    await page.keyboard.press('Enter')
    await page.getByText('4 of 4').waitFor()
    t.equal(new URL(page.url()).hash, `#/audit?entity_type=token&entity_id=${token.id}`)
    t.equal(await records.getByRole('row', { name: /Token retrieved/ }).count(), 3)
    await page.reload()
    await page.getByText('4 of 4').waitFor()
    t.equal(await page.getByLabel('Entity id').inputValue(), token.id)
  })

  await t.test('an export holds the filtered records, one per line', async (t) => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export as NDJSON' }).click(),
    ])
    t.match(file.suggestedFilename(), /^audit-.*\.ndjson$/)
    const lines = readFileSync(await file.path(), 'utf8')
      .trimEnd()
      .split('\n')
    t.same(
      lines.map((line) => JSON.parse(line).operation),
      ['read', 'read', 'read', 'create'],
    )
  })

  await t.test('records link to their actor, and the actor back to all records', async (t) => {
    await records.getByRole('link', { name: 'test' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'test' }).waitFor()
    await page.goBack()
    await page.getByText('4 of 4').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await records.getByRole('row', { name: /Application created/ }).waitFor()
    t.equal(new URL(page.url()).hash, '#/audit')
  })

  await t.test('an entity id that may be data filters, and is not in the URL hash', async (t) => {
    await page.getByLabel('Entity id').fill('4111 1111 1111 1111')
    await page.keyboard.press('Enter')
    await page.getByText('No record has these properties').waitFor()
    await page.getByText("stay out of the page's address").waitFor()
    t.equal(new URL(page.url()).hash, '#/audit')
    await page.getByRole('button', { name: 'Clear' }).click()
    await records.getByRole('row', { name: /Application created/ }).waitFor()
  })

  await t.test('text in a filter stays while the page is drawn again', async (t) => {
    await page.getByLabel('Entity id').fill('none')
    await page.getByLabel('Entity type').selectOption('Token')
    await page.waitForURL(/entity_type=token/)
    t.equal(await page.getByLabel('Entity id').inputValue(), 'none')
  })

  await t.test('without records the page says so', async () => {
    await page.getByLabel('Entity id').fill('none')
    await page.getByLabel('Entity id').press('Enter')
    await page.getByText('No record has these properties.').waitFor()
  })

  await t.test('after "Clear" the controls show that nothing is filtered', async (t) => {
    for (const label of ['Any', 'Token']) await page.getByLabel('Entity type').selectOption(label)
    await page.waitForURL(/entity_type=token/)
    await page.getByRole('button', { name: 'Clear' }).click()
    await records.getByRole('row', { name: /Application created/ }).waitFor()
    t.equal(await page.getByLabel('Entity type').inputValue(), '')
    t.equal(await page.getByLabel('Entity id').inputValue(), '')
  })
})

t.test('Audit: a page of a list is one row that opens, found by actor and operation', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey } = sidevault
  const permissions = ['token:create', 'token:read']
  const rules = [{ description: 'all', priority: 1, container: '/', transform: 'mask', permissions }]
  const key = await sidevault.application({ rules })
  const card = { type: 'card', data: { number: '4242424242424242' } }
  const { json: made } = await call('POST', '/tokenize', { key, body: [card, card, card] })
  await call('GET', '/v2/tokens', { key })
  for (const { id } of made) await recordsOf(sidevault, managementKey, id, 2)

  const page = await openConsole(t, sidevault, { hash: '#/audit' })
  const rows = page.getByRole('table', { name: 'Audit records' }).getByRole('row')
  await page.getByLabel('Operation').selectOption('read')
  await page.getByLabel('Actor id').fill(made[0].created_by)
  await page.keyboard.press('Enter')
  await page.getByText('3 of 3').waitFor()
  t.equal(new URL(page.url()).hash, `#/audit?operation=read&actor_id=${made[0].created_by}`)
  t.equal(await page.locator('#actors option').first().textContent(), 'test', 'names are suggested')
  t.equal(await rows.count(), 2, 'one below the heads')

  await page.setViewportSize({ width: 1280, height: 800 })
  const row = rows.last()
  t.ok(((await row.boundingBox())?.height ?? 0) < 45, 'on one line')
  await row.getByText('3 tokens').waitFor()
  await row.getByText('Card retrieved: masked × 3').click()
  t.same(
    new Set(await row.getByRole('link', { name: /^[0-9a-f]{8}-/ }).allTextContents()),
    new Set(made.map(({ id }: { id: string }) => id)),
  )
  await expectAccessible(t, page)
  await row.getByRole('link', { name: made[1].id }).click()
  await page.waitForURL(`**/#/tokens/${made[1].id}`)
})
