import type { Page } from 'playwright-core'
import t from 'tap'
import { openConsole, openScreen, signIn } from '../kit/browser.ts'
import { ownTenant } from './shared-vault.ts'

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })

t.test('each key sees and is offered what it permits', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey } = sidevault
  const page = await openConsole(t, sidevault, { key: null })
  const screens = page.getByRole('navigation', { name: 'Screens' })
  const as = async (permissions: readonly string[], type: 'private' | 'management', hash: string) => {
    await signIn(page, await sidevault.application({ permissions: [...permissions] }, type))
    await openScreen(page, hash)
  }
  t.afterEach(async () => {
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
  })

  await t.test('without log:read there is no Audit; with tenant:read only the tenant is shown', async (t) => {
    await as(['tenant:read'], 'management', '#/audit')
    await heading(page, 'This page is not available').waitFor()
    t.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0)
    await openScreen(page, '#/settings')
    await page.getByRole('region', { name: 'Tenant' }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Change' }).count(), 0)
    for (const name of ['Usage', 'Members', 'Invitations'])
      t.equal(await page.getByRole('region', { name, exact: true }).count(), 0)
  })

  await t.test('a screen that the key may not see has no link, and its address says so', async (t) => {
    await as(['log:read'], 'management', '#/applications')
    await heading(page, 'This page is not available').waitFor()
    t.equal(await screens.getByRole('link', { name: 'Applications' }).count(), 0)
    await screens.getByRole('link', { name: 'Audit' }).click()
    await heading(page, 'Audit').waitFor()
  })

  await t.test('without log:read Overview shows the node, and names the key that shows calls', async (t) => {
    await as(['token:read'], 'private', '#/overview')
    await page.getByText('Add a management key to see them.').waitFor()
    await page.getByRole('heading', { name: 'Components' }).waitFor()
    t.equal(await page.getByRole('link', { name: 'Requests' }).count(), 0)
  })

  await t.test('an application offers what the key may do; a denied draft stays', async (t) => {
    const { json: application } = await call('POST', '/applications', {
      key: managementKey,
      body: { name: 'One', type: 'private', permissions: ['token:create'] },
    })
    await as(['application:read', 'application:update'], 'management', `#/applications/${application.id}`)
    await page
      .getByRole('cell', { name: 'Key 1' })
      .or(page.getByRole('rowheader', { name: 'Key 1' }))
      .waitFor()
    for (const name of ['Delete', 'Delete key 1', 'Create another key'])
      t.equal(await page.getByRole('button', { name }).count(), 0, name)
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByRole('checkbox', { name: /token:read/ }).check()
    await page.getByRole('button', { name: 'Save …' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Grants on tokens need a caller that holds').waitFor()
    t.ok(await page.getByRole('checkbox', { name: /token:read/ }).isChecked(), 'the draft is still there')

    await call('DELETE', `/applications/${application.id}`, { key: managementKey })
    await page.getByRole('button', { name: 'Save …' }).click()
    await page.getByRole('alert').getByRole('heading', { name: 'Not found' }).first().waitFor()
  })
})
