import t from 'tap'
import { templates } from '../../src/console/screens/applications/templates.ts'
import { expectAccessible } from '../kit/accessible.ts'
import { openConsole } from '../kit/browser.ts'
import { ownTenant } from './shared-vault.ts'

const HOSTILE = '<img src=x onerror=alert(1)>{{7*7}}‮‏'

t.test('Applications: a user creates one, rotates its key, changes its rules and deletes it', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey: key } = sidevault
  const make = async (body: object) =>
    (await call('POST', '/applications', { key, body: { type: 'private', ...body } })).json
  const rule = (priority: number, container: string, transform: string) => ({
    description: `Support in ${container}`,
    priority,
    container,
    transform,
    permissions: ['token:read'],
  })
  const writer = await make({ name: HOSTILE, permissions: ['token:create'] })
  const support = await make({ name: 'Support', rules: [rule(1, '/hr/', 'reveal')] })
  for (const container of ['/hr/', '/pci/high/', '/pci/high/'])
    await call('POST', '/tokens', {
      key: writer.key,
      body: { type: 'token', data: 'value', mask: '{{ data | reveal_last: 2 }}', containers: [container] },
    })

  const page = await openConsole(t, sidevault, { hash: '#/applications', clock: true })
  /** Messages have disappeared: the page changes no more by itself. */
  const quiet = () => page.clock.runFor(10_000)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = page.getByRole('dialog')
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const isValid = async (key: string) => (await call('GET', '/applications/key', { key })).status === 200

  await t.test('the list is filtered by the URL hash', async (t) => {
    await page.getByRole('link', { name: HOSTILE }).waitFor()
    await page.getByRole('searchbox', { name: 'Name' }).fill('supp*')
    await page.getByText('1 of 1').waitFor()
    await page.getByRole('cell', { name: 'Reads in /hr/, revealed' }).waitFor()
    t.match(page.url(), /#\/applications\?name=supp\*$/)
  })

  await t.test('a template creates one application, whose key is shown once', async (t) => {
    await page.getByRole('link', { name: 'New application' }).click()
    await page.getByRole('radio', { name: /Back office/ }).check()
    await page.getByLabel('Name', { exact: true }).fill('Help desk')
    await button('Create').dblclick()
    const shown = await dialog.getByLabel('Key').textContent()
    t.ok(await isValid(shown ?? ''))
    await page.context().grantPermissions(['clipboard-write'])
    await dialog.getByRole('button', { name: 'Copy' }).click()
    await dialog.getByRole('status').getByText('Key copied.').waitFor()
    await button('I have stored it').click()
    await heading('Help desk')
    t.notOk((await page.content()).includes(shown ?? ''), 'the key left the page')
    const { json } = await call('GET', '/applications?name=Help*', { key })
    t.equal(json.pagination.total_items, 1)
    t.match(json.data[0], { rules: [{ container: '/', transform: 'mask' }] })

    await button('Create another key').click()
    const second = await dialog.getByLabel('Key').textContent()
    await button('I have stored it').click()
    await button('Delete key 1').click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await button('Delete key 1').waitFor({ state: 'detached' })
    t.notOk(await isValid(shown ?? ''))
    t.ok(await isValid(second ?? ''))
  })

  await t.test('changed rules show their differences, and do not overwrite concurrent changes', async (t) => {
    const pane = page.getByRole('complementary', { name: 'Differences' })
    await page.goto(`/console/#/applications/${support.id}`)
    await page.getByRole('link', { name: 'Edit' }).click()
    await pane.getByText('Nothing changed yet.').waitFor()
    await page.getByLabel('Disclosure').selectOption('mask')
    await pane.getByText('loses reveal on 1 token in /hr/ (read), keeps mask').waitFor()
    await button('Add a rule').click()
    await pane.getByText('gains mask on 2 tokens in /pci/high/ (read)').waitFor()
    await page.getByRole('group', { name: 'Rule 2' }).getByLabel('Disclosure').selectOption('reveal')
    await pane.getByText('gains reveal on 2 tokens in /pci/high/ (read)').waitFor()
    await page.getByRole('group', { name: 'Rule 2' }).getByLabel('Container').focus()
    await page.locator('option[value="/pci/"]').waitFor({ state: 'attached' })
    await button('Move rule 2 up').press('Enter')
    const focused = () => page.locator(':focus').getAttribute('aria-label')
    t.equal(await focused(), 'Move rule 1 down', 'focus follows the rule')
    const use = page.getByRole('group', { name: 'Rule 1' }).getByRole('checkbox', { name: /token:use/ })
    await use.check()
    await page.getByText('by this rule may send values').click()
    await button('Add a destination of rule 1').click()
    await button('Remove destination 1 of rule 1').press('Enter')
    t.equal(await focused(), 'Add a destination of rule 1', 'focus stays in the list')
    await use.uncheck()
    await pane.getByText('loses reveal').waitFor({ state: 'detached' })
    await pane.getByText('comparing …').waitFor({ state: 'detached' })
    await quiet()
    await expectAccessible(t, page)

    const description = page.getByRole('group', { name: 'Rule 1' }).getByLabel('Description')
    await description.fill('')
    await page.getByText('must not be empty').waitFor()
    t.equal(await description.getAttribute('aria-invalid'), 'true')
    await description.fill('Everything')
    const question = page.waitForEvent('dialog')
    const reload = page.evaluate('location.reload()').catch(() => {})
    t.equal((await question).type(), 'beforeunload', 'a reload asks before the draft is lost')
    await (await question).dismiss()
    await reload
    await page.goto('/console/#/applications')
    await heading('Applications')
    await page.goBack()
    await page.getByText('Your unsaved changes are still here.').waitFor()
    await pane.getByText('adds rule “Everything”').waitFor()
    await pane.getByText('comparing …').waitFor({ state: 'detached' })

    await call('PUT', `/applications/${support.id}`, {
      key,
      body: { name: 'Support', permissions: ['token:search'], rules: [] },
    })
    await button('Save …').click()
    await dialog.getByText('The application changed since you opened it').waitFor()
    await dialog.getByText('loses token:search').waitFor()
    await quiet()
    await expectAccessible(t, page)
    await call('PUT', `/applications/${support.id}`, {
      key,
      body: { name: 'Support', permissions: ['token:create'], rules: [] },
    })
    await button('Save over it').click()
    await dialog.getByText('loses token:create').waitFor()
    const during = await call('GET', `/applications/${support.id}`, { key })
    t.match(during.json, { permissions: ['token:create'] }, 'a change during the question is shown first')
    await button('Save over it').click()
    await heading('Support')
    const { json } = await call('GET', `/applications/${support.id}`, { key })
    t.match(json, { permissions: [], rules: [{ description: 'Everything' }, { container: '/hr/' }] })
  })

  await t.test('an application is deleted once its name is typed, and is then gone everywhere', async () => {
    await button('Delete').click()
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await page.locator('button:focus', { hasText: 'Delete' }).waitFor()
    await button('Delete').click()
    await dialog.getByText('1 key stops working at once.').waitFor()
    await dialog.getByLabel('Type Support to confirm').fill('Support')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await heading('Applications')
    await page.goto(`/console/#/applications/${support.id}/edit`)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
  })
})

t.test('Applications: a user lists the origins of a public one', async (t) => {
  const sidevault = await ownTenant()
  const body = { name: 'Shop', type: 'public', permissions: ['token:create'] }
  const { json } = await sidevault.call('POST', '/applications', { key: sidevault.managementKey, body })
  const page = await openConsole(t, sidevault, { hash: `#/applications/${json.id}/edit` })
  const origins = page.getByLabel('Allowed origins')
  const save = async () => {
    await page.getByRole('button', { name: 'Save …' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
  }
  await origins.fill('https://shop.example/')
  await save()
  await page.getByText('must be an origin as browsers send it').waitFor()
  t.equal(await origins.getAttribute('aria-invalid'), 'true')
  await origins.fill('https://shop.example, https://www.shop.example')
  await page.getByText('allows pages of https://www.shop.example').waitFor()
  await expectAccessible(t, page)
  await save()
  await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor()
  await page.getByRole('listitem').getByText('https://www.shop.example').waitFor()
})

t.test('Applications: the API accepts each template', async (t) => {
  const { call, managementKey: key } = await ownTenant()
  for (const { id, name, type, permissions, rules } of templates) {
    const { status, json } = await call('POST', '/applications', {
      key,
      body: { name, type, permissions, rules },
    })
    if (id === 'empty') t.strictSame(Object.keys(json.errors), ['name'])
    else t.equal(status, 201, id)
  }
})
