import type { Page } from 'playwright-core'
import t from 'tap'
import { expectAccessible, expectOperable } from '../kit/accessible.ts'
import { openConsole, signIn } from '../kit/browser.ts'
import { tracesOf } from '../kit/traces.ts'
import { ownTenant } from './shared-vault.ts'

/** A secret, as the console handles it after sign-in, is in the cookie that no script reads. */
const sessionCookie = async (page: Page) => {
  const [cookie] = await page.context().cookies()
  if (cookie === undefined) throw new Error('no cookie')
  return cookie
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })

t.test('a key is exchanged for a cookie, and is stored nowhere else', async (t) => {
  const sidevault = await ownTenant()
  const { managementKey: key } = sidevault
  const page = await openConsole(t, sidevault, { key: null, hash: '#/audit?entity_type=card' })
  const field = page.getByLabel('API key')
  await field.waitFor()
  await t.test('the form is accessible', (t) => expectOperable(t, page))

  await field.fill('key_2222222222222222222222222222222')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('This key is not valid').waitFor()
  t.ok(await field.evaluate((input) => input === document.activeElement), 'the next key can be typed')
  t.equal(await field.inputValue(), '', 'a rejected key does not stay in the form')
  t.same(await page.context().cookies(), [])

  await signIn(page, key)
  await heading(page, 'Audit').waitFor()
  t.equal(new URL(page.url()).hash, '#/audit?entity_type=card', 'the link that was opened')
  t.same(await tracesOf(page, key), [])

  const cookie = await sessionCookie(page)
  t.match(cookie, {
    name: /^sidevault-console-\d+$/,
    path: '/console/',
    httpOnly: true,
    sameSite: 'Strict',
    expires: -1,
  })
  t.same(await tracesOf(page, cookie.value), ['cookies'])
  t.match(await tracesOf(page, 'Export as NDJSON'), ['the document', 'its text', 'the accessibility tree'])
})

t.test('signing out ends the session, also in other tabs', async (t) => {
  const sidevault = await ownTenant()
  const page = await openConsole(t, sidevault, { hash: '#/settings' })
  const other = await page.context().newPage()
  await other.goto('/console/#/audit')
  await heading(other, 'Audit').waitFor()
  const { name, value } = await sessionCookie(page)

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  await heading(other, 'Your session ended').waitFor()
  t.equal(await other.getByRole('table').count(), 0, 'nothing of the vault is shown')
  const response = await sidevault.call('GET', '/console/api/tenants/self', {
    headers: { cookie: `${name}=${value}`, 'sec-fetch-site': 'same-origin' },
  })
  t.equal(response.status, 401)

  await signIn(other, sidevault.managementKey)
  await heading(other, 'Audit').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
})

t.test('the session ends with its key, and the page says so on its next call', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey } = sidevault
  const body = { name: 'Short-lived', type: 'management', permissions: ['tenant:read', 'log:read'] }
  const { json } = await call('POST', '/applications', { key: managementKey, body })
  const page = await openConsole(t, sidevault, { key: json.key, hash: '#/settings' })
  await page.getByRole('region', { name: 'Tenant' }).waitFor()
  await call('DELETE', `/applications/${json.id}`, { key: managementKey })
  await page.getByRole('link', { name: 'Audit' }).click()
  await heading(page, 'Your session ended').waitFor()
  t.equal(await page.title(), 'Sign in · Sidevault')
  await t.test('the page is accessible', (t) => expectAccessible(t, page))

  await t.test('another key signs in again', async (t) => {
    await page.getByLabel('API key').fill(managementKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await heading(page, 'Audit').waitFor()
    t.equal(await page.getByRole('link', { name: 'Applications' }).count(), 1)
  })
})

t.test('a second key adds its permissions, and each call uses the key that has the permission', async (t) => {
  const sidevault = await ownTenant()
  const privateKey = await sidevault.application({
    permissions: ['token:create', 'token:read', 'token:search'],
  })
  const page = await openConsole(t, sidevault, { hash: '#/settings' })
  const screens = page.getByRole('navigation', { name: 'Screens' })
  await screens.getByRole('link', { name: 'Tokens' }).click()
  await page.getByText('The key that is signed in may not list tokens.').waitFor()
  await screens.getByRole('button', { name: 'Add a private key to see tokens' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a private key' })
  await dialog.getByLabel('API key').fill(privateKey)
  await t.test('the dialog is accessible', (t) => expectOperable(t, page))
  await dialog.getByRole('button', { name: 'Add key' }).click()
  await page
    .getByRole('searchbox', { name: 'Search' })
    .or(page.getByRole('combobox', { name: 'Search' }))
    .waitFor()
  t.same(await tracesOf(page, privateKey), [])
})

t.test(
  'a private key lands on Tokens; what it misses is in its place, and asks for the other key',
  async (t) => {
    const sidevault = await ownTenant()
    const privateKey = await sidevault.application({ permissions: ['token:read', 'token:search'] })
    const page = await openConsole(t, sidevault, { key: privateKey })
    await heading(page, 'Tokens').waitFor()
    t.match(page.url(), /#\/tokens$/)
    const offer = page.getByRole('button', { name: /^Add a management key to see requests/ })
    await offer.waitFor()
    await expectAccessible(t, page)
    await page.goto('/console/#/audit')
    await heading(page, 'This page is not available').waitFor()
    await page
      .getByRole('main')
      .getByRole('button', { name: /^Add a management key/ })
      .click()
    const dialog = page.getByRole('dialog', { name: 'Add a management key' })
    await dialog.getByLabel('API key').fill(sidevault.managementKey)
    await dialog.getByRole('button', { name: 'Add key' }).click()
    await heading(page, 'Audit').waitFor()
    t.equal(await offer.count(), 0)
  },
)
