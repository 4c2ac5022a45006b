import t from 'tap'
import { expectAccessible } from '../kit/accessible.ts'
import { openConsole } from '../kit/browser.ts'
import { ownTenant } from './shared-vault.ts'

t.test('First minute: stores a card and sends it, with three buttons', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey } = sidevault
  const page = await openConsole(t, sidevault)
  const card = page.getByRole('heading', { name: 'Store a card, send it' })
  await page.getByRole('heading', { level: 1, name: 'Try a call' }).waitFor()
  await card.waitFor()
  const [create, store, send] = ['Create application', 'Create token', 'Send it'].map((name) =>
    page.getByRole('button', { name, exact: true }),
  )
  if (create === undefined || store === undefined || send === undefined) throw new Error('no buttons')
  await create.waitFor()
  t.same(await Promise.all([store.isDisabled(), send.isDisabled()]), [true, true])

  await create.click()
  await page.getByText('Signed in as First steps.').waitFor()
  t.ok(await create.isDisabled())
  await store.click()
  const token = page.getByRole('link', { name: /^[0-9a-f-]{36}$/ })
  await token.waitFor()
  const id = (await token.textContent()) ?? ''
  await send.click()
  await page.getByText('what the destination received').waitFor()
  const sent = await page.getByLabel('Body', { exact: true }).inputValue()
  const response = await page.getByLabel('Body of the response').textContent()
  t.same(JSON.parse(sent), { card: `{{ ${id} | json: '$.number' }}` })
  t.same(JSON.parse(response ?? '').body, { card: '4242424242424242' })
  await t.test('is accessible', (t) => expectAccessible(t, page))

  await page.getByText('As curl').last().click()
  await page
    .getByLabel('Send it, as curl')
    .getByText('SVC-PROXY-URL: https://demo.sidevault.test/pay')
    .waitFor()
  const { json } = await call('GET', '/tenants/self/reports/usage', { key: managementKey })
  t.equal(json.token_report.total_tokens, 1)

  await t.test('a vault with tokens does not suggest First minute, but still has it', async (t) => {
    await page.reload()
    await page.getByText('A dry run sends nothing').waitFor()
    t.equal(await card.count(), 0)
    await page.goto('/console/#/start')
    await page.getByRole('heading', { level: 1, name: 'First minute' }).waitFor()
    await page.getByText('Signed in as First steps.').waitFor()
    await card.waitFor()
  })
})
