import t from 'tap'
import { expectAccessible } from '../kit/accessible.ts'
import { openConsole } from '../kit/browser.ts'
import { ownTenant } from './shared-vault.ts'

t.test('Webhooks: a user creates one, pings it, sends a delivery again and deletes it', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey: key } = sidevault
  const page = await openConsole(t, sidevault, { hash: '#/webhooks' })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = page.getByRole('dialog')
  const done = (text: string) =>
    page.getByRole('paragraph').filter({ hasText: text }).getByRole('button', { name: 'Dismiss' }).click()
  const stored = async () => (await call('GET', '/webhooks', { key })).json.data[0]

  await t.test('an event type that does not exist is shown with the nearest', async (t) => {
    await page.getByText('No webhooks yet.').waitFor()
    await page.getByRole('link', { name: 'New webhook' }).click()
    await page.getByRole('heading', { level: 1, name: 'New webhook' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('Ledger')
    await page.getByLabel('URL', { exact: true }).fill('https://hooks.invalid/in')
    await page.getByLabel('Events', { exact: true }).fill('token.create')
    await button('Create webhook').click()
    await page.getByText('the nearest is "token.created"').waitFor()
    await page.getByText('All types of events').click()
    await page.getByRole('listitem').filter({ hasText: 'proxy.invoked' }).waitFor()
    await expectAccessible(t, page)
  })

  await t.test('the secret is shown once', async (t) => {
    await page.getByLabel('Events', { exact: true }).fill('token.created, token.deleted')
    await button('Create webhook').click()
    t.match(await dialog.getByLabel('Secret').textContent(), /^whsec_/)
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('heading', { level: 1, name: 'Ledger' }).waitFor()
    t.match(await stored(), { name: 'Ledger', events: ['token.created', 'token.deleted'], status: 'enabled' })
  })

  await t.test('a ping and its repetition say what became of them', async (t) => {
    const row = page.getByRole('row').filter({ hasText: 'webhook.pinged' })
    await button('Ping').click()
    await done('Not delivered: destination_unreachable.')
    await row.getByText('failed').waitFor()
    await button('Send webhook.pinged again').click()
    await done('Not delivered: destination_unreachable.')
    await row.getByRole('cell', { name: '2', exact: true }).waitFor()
    await expectAccessible(t, page)
  })

  await t.test('settings and the secret are replaced', async (t) => {
    await page.getByLabel('Status').selectOption('disabled')
    await button('Save settings').click()
    await done('Settings saved.')
    t.match(await stored(), { status: 'disabled', events: ['token.created', 'token.deleted'] })
    await button('Replace secret').click()
    await dialog.getByRole('button', { name: 'Replace' }).click()
    await dialog.getByLabel('Secret').waitFor()
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
  })

  await t.test('it is deleted', async (t) => {
    await button('Delete').click()
    await dialog.getByRole('textbox').fill('Ledger')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No webhooks yet.').waitFor()
    t.equal(await stored(), undefined)
  })
})
