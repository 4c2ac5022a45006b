import t from 'tap'
import { systemClock } from '../../src/common/clock.ts'
import { loadConfig } from '../../src/config.ts'
import { addDelegation, revokeDelegation } from '../../src/maintenance/delegations.ts'
import { withVault } from '../../src/maintenance/open-vault.ts'
import { expectAccessible } from '../kit/accessible.ts'
import { openConsole, signIn } from '../kit/browser.ts'
import { ownTenant } from './shared-vault.ts'

t.test('Settings: changes the tenant, and invites a user', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey: key } = sidevault
  const page = await openConsole(t, sidevault, { hash: '#/settings' })
  const tenant = page.getByRole('region', { name: 'Tenant' })
  const invitations = page.getByRole('region', { name: 'Invitations' })
  await tenant.getByText('Of a test file').waitFor()
  await page.getByRole('table', { name: 'Members' }).getByRole('row', { name: /owner/ }).waitFor()
  await page
    .getByRole('region', { name: 'This node' })
    .getByText(/^tokens \d/)
    .waitFor()
  await page.getByRole('region', { name: 'Keys' }).getByText('in use since').waitFor()

  await t.test('the tenant is renamed and a setting changed', async (t) => {
    await tenant.getByRole('button', { name: 'Change' }).click()
    const { name, settings } = (await call('GET', '/tenants/self', { key })).json
    await call('PUT', '/tenants/self', {
      key,
      body: { name, settings: { ...settings, fingerprint_tokens: 'true' } },
    })
    await page.getByLabel('Name').fill('Ada & Co')
    await page.getByLabel('Strict code').selectOption('on')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Tenant saved.').waitFor()
    await tenant.getByText('Ada & Co').waitFor()
    const { json } = await call('GET', '/tenants/self', { key })
    t.match(json, { name: 'Ada & Co', settings: { strict_code: 'true', fingerprint_tokens: 'true' } })
  })

  await t.test('an invitation is created, renewed and withdrawn', async (t) => {
    await page.getByLabel('Address').fill('ada@example.com')
    await page.getByRole('button', { name: 'Invite' }).click()
    await invitations.getByRole('row', { name: /ada@example\.com/ }).waitFor()
    await page.getByRole('button', { name: 'Renew the invitation of ada@example.com' }).click()
    await page.getByText('Invitation renewed.').waitFor()
    await page.getByRole('button', { name: 'Withdraw the invitation of ada@example.com' }).click()
    await page.getByText('No open invitations.').waitFor()
    const { json } = await call('GET', '/tenants/self/invitations', { key })
    t.equal(json.pagination.total_items, 0)
  })

  await t.test('an address that the API rejects is marked', async () => {
    await page.getByLabel('Address').fill('ada@localhost')
    await page.getByRole('button', { name: 'Invite' }).click()
    await invitations.getByRole('alert').waitFor()
  })
})

t.test(
  'Settings: consumers and jobs of plugins with their last run, and what else reports how it is',
  async (t) => {
    const sidevault = await ownTenant()
    const page = await openConsole(t, sidevault, { key: null, hash: '#/settings' })
    const run = { outcome: 'failed', last_run: new Date(Date.now() - 7_200_000).toISOString() }
    const components = [
      { name: 'consumer:siem/export', status: 'degraded', ...run, duration_ms: 42, lag_seconds: 90 },
      { name: 'job:siem/tidy', status: 'ok' },
      { name: 'gateway-0-check:hours', status: 'degraded', detail: 'The calendar is of <b>May</b>.' },
    ]
    await page.route('**/readyz', (route) => route.fulfill({ json: { status: 'degraded', components } }))
    await signIn(page, sidevault.managementKey)
    const node = page.getByRole('region', { name: 'This node' })
    await node.getByText(/^failed 2 hours ago in 42 ms, 90 s behind$/).waitFor()
    await node.getByText('has not run yet').waitFor()
    await node.getByText('degraded: The calendar is of <b>May</b>.').waitFor()
  },
)

t.test('Settings: delegated gateways, and that one is revoked', async (t) => {
  const sidevault = await ownTenant()
  const { call, dataDir, managementKey: key } = sidevault
  const tenantId = (await call('GET', '/tenants/self', { key })).json.id
  const other = (await call('GET', '/tenants/self', { key: (await ownTenant()).managementKey })).json.id
  const page = await openConsole(t, sidevault, { hash: '#/settings' })
  const gateways = page.getByRole('region', { name: 'Delegated gateways' }).first()
  await gateways.getByText('Such a gateway opens this tenant only').waitFor()
  await gateways.getByText('sidevault keys delegate --tenant <id> --to <name>').waitFor()

  await withVault(loadConfig({ SIDEVAULT_DATA_DIR: dataDir }), async (vault) => {
    const deps = { vault, clock: systemClock }
    for (const name of ['seen-shop', 'seen-till']) await addDelegation(deps, { tenantId, name })
    await addDelegation(deps, { tenantId: other, name: 'unseen' })
    await revokeDelegation(deps, 'seen-till')
  })
  await page.reload()
  const cells = (name: string) => gateways.getByRole('row').filter({ hasText: name }).getByRole('cell')
  await cells('seen-till').first().waitFor()
  t.match(await cells('seen-shop').allInnerTexts(), ['active', /./, '1'])
  t.match(await cells('seen-till').allInnerTexts(), ['revoked', /./, /^$/])
  t.equal(await gateways.getByText('unseen').count(), 0)
  t.equal(await cells('seen-till').locator('.good').count(), 0, 'a revoked one does not look healthy')
  await expectAccessible(t, page)

  const { data } = (await call('GET', '/logs?entity_type=tenant', { key })).json
  t.same(
    data.map(({ message }: { message: string }) => message).filter((text: string) => text.includes('seen-')),
    [
      'Delegation to the gateways "seen-till" revoked',
      'Keys delegated to the gateways "seen-till"',
      'Keys delegated to the gateways "seen-shop"',
    ],
  )
})
