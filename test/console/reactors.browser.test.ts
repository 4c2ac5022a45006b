import t from 'tap'
import { expectAccessible } from '../kit/accessible.ts'
import { addKey, closePage, openConsole, signIn } from '../kit/browser.ts'
import { ownTenant } from './shared-vault.ts'

const HOSTILE = '<script>alert(1)</script>\u202e'
const CODE = `module.exports = async ({ args, configuration }) => {
\treturn {
\t\traw: { cents: args.amount * 100, shop: configuration.shop, of: args.customer?.name },
\t}
}
`

t.test('Formulas and reactors: a user creates both, runs the reactor and deletes them', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey: key } = sidevault
  const page = await openConsole(t, sidevault, { hash: '#/formulas' })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = page.getByRole('dialog')
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const done = (text: string) =>
    page.getByRole('paragraph').filter({ hasText: text }).getByRole('button', { name: 'Dismiss' }).click()
  const only = async (path: string) => {
    const { data } = (await call('GET', path, { key })).json
    t.equal(data.length, 1)
    return data[0]
  }
  const values = page.getByRole('group', { name: 'Values of a reactor' })
  const parameters = page.getByRole('group', { name: 'Arguments of a call' })

  await t.test('a formula declares its values and arguments', async (t) => {
    await page.getByText('No formulas yet.').waitFor()
    const tabs = page.getByRole('navigation', { name: 'Reactors and formulas' })
    const screens = page.getByRole('navigation', { name: 'Screens' })
    for (const [link, current] of [
      [tabs.getByRole('link', { name: 'Formulas' }), 'page'],
      [tabs.getByRole('link', { name: 'Reactors' }), null],
      [screens.getByRole('link', { name: 'Reactors' }), 'true'],
    ] as const)
      t.equal(await link.getAttribute('aria-current'), current)
    await page.getByRole('link', { name: 'New formula' }).click()
    await heading('New formula')
    await page.getByLabel('Name', { exact: true }).fill('Charge')
    await page.getByRole('textbox', { name: 'Code', exact: true }).fill(CODE)
    await values.getByRole('button', { name: 'Add' }).click()
    await values.getByLabel('Name 1').fill('shop.id')
    await parameters.getByRole('button', { name: 'Add' }).click()
    await parameters.getByLabel('Name 1').fill('amount')
    await parameters.getByLabel('Type 1').selectOption('number')
    await parameters.getByRole('button', { name: 'Add' }).click()
    await parameters.getByLabel('Name 2').fill('customer.name')
    await parameters.getByLabel('Description 2').fill(HOSTILE)
    await parameters.getByRole('button', { name: 'Add' }).click()
    await parameters.getByRole('button', { name: 'Remove 3' }).click()
    await button('Create formula').click()
    await values.getByText('must not hold a dot').waitFor()
    await expectAccessible(t, page)
    await values.getByLabel('Name 1').fill('shop')
    await button('Create formula').click()
    await done('Formula created.')
    t.match(await only('/reactor-formulas'), {
      code: CODE,
      type: 'private',
      configuration: [{ name: 'shop', type: 'string' }],
      request_parameters: [
        { name: 'amount', type: 'number', optional: false },
        { name: 'customer.name', description: HOSTILE },
      ],
    })
  })

  await t.test('a formula changed by another user is overwritten only on confirmation', async (t) => {
    const { id, status: _, created_at: _a, created_by: _b, ...formula } = await only('/reactor-formulas')
    const body = { ...formula, description: 'theirs', icon: 'data:image/png;base64,AAAA' }
    await call('PUT', `/reactor-formulas/${id}`, { key, body })
    await parameters.getByLabel('Optional 2').check()
    await button('Save formula').click()
    await dialog.getByText('Saving replaces all of it').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    t.equal((await only('/reactor-formulas')).description, 'theirs')
    await page.reload()
    await parameters.getByLabel('Optional 2').check()
    await button('Save formula').click()
    await done('Formula saved.')
    const saved = await only('/reactor-formulas')
    t.match(saved, { description: 'theirs', icon: body.icon, code: CODE })
    t.equal(saved.request_parameters[1].optional, true)

    const original = { ...body, request_parameters: saved.request_parameters }
    const theirs = { ...original, code: CODE.replace('100', '300'), name: 'Other' }
    t.equal((await call('PUT', `/reactor-formulas/${id}`, { key, body: theirs })).status, 200)
    await page.getByRole('textbox', { name: 'Code', exact: true }).fill(CODE.replace('100', '200'))
    await button('Save formula').click()
    await button('Replace them').click()
    await dialog.getByText('Saving replaces all of it').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    t.match(await only('/reactor-formulas'), { code: theirs.code, name: 'Other' })
    await call('PUT', `/reactor-formulas/${id}`, { key, body: original })
    await page.reload()
  })

  await t.test('a reactor of a formula has a field for each value', async (t) => {
    await page.getByRole('link', { name: 'New reactor of it' }).click()
    await heading('New reactor')
    await page.getByLabel('Name', { exact: true }).fill(HOSTILE)
    await button('Create reactor').click()
    await page.getByText('is required by the formula').first().waitFor()
    await expectAccessible(t, page)
    await page.getByLabel('shop').fill('lovelace-9')
    await button('Create reactor').dblclick()
    await heading(HOSTILE)
    t.strictSame((await only('/reactors')).configuration, { shop: 'lovelace-9' })
    t.equal(await page.getByRole('heading', { name: 'Run' }).count(), 0, 'this key may not run it')
    t.notMatch(await page.content(), 'lovelace-9')
    await button('Show and edit values').click()
    await page.getByLabel('shop').fill('bob')
    await page.getByLabel('Name', { exact: true }).fill('Charge in the shop')
    await button('Save settings').click()
    await done('Settings saved.')
    t.match(await only('/reactors'), { name: 'Charge in the shop', configuration: { shop: 'bob' } })
  })

  await t.test('a reactor runs with arguments, synchronously and in the background', async (t) => {
    const using = await sidevault.application({ permissions: ['token:use', 'token:create'] })
    await addKey(page, using)
    await page.reload()
    const args = page.getByLabel('Arguments (JSON)')
    t.strictSame(JSON.parse(await args.inputValue()), { amount: 0 })
    await args.fill('{ "amount": "x" }')
    await button('Run').click()
    await page.getByText('must be a number').waitFor()
    await args.fill('{ "amount": "12", "customer": { "name": "Ada" } }')
    await button('Run').click()
    const result = page.getByLabel('Result')
    await result.waitFor()
    t.strictSame(JSON.parse((await result.textContent()) ?? ''), {
      raw: { cents: 1200, shop: 'bob', of: 'Ada' },
    })
    await expectAccessible(t, page)
    await button('Clear').click()
    await button('Run in the background').click()
    t.match(await result.textContent(), '1200')

    const other = await page.context().newPage()
    await other.goto('/console/#/settings')
    await other.getByRole('button', { name: 'Sign out' }).click()
    await heading('Your session ended')
    t.equal(await result.count(), 0, 'it left the page with the session')
    await closePage(other)
    await signIn(page, key)
    await addKey(page, using)
  })

  await t.test('a reactor with code of its own has an editor', async () => {
    await page.getByRole('link', { name: 'Reactors', exact: true }).click()
    await page.getByRole('link', { name: 'New reactor' }).click()
    await heading('New reactor')
    await page.getByLabel('Name', { exact: true }).fill('Own')
    await button('Create reactor').click()
    await heading('Own')
    const code = page.getByRole('textbox', { name: 'Code', exact: true })
    await code.fill('module.exports = async () => ({ raw: 1, })\nlet let')
    await button('Save code').click()
    await dialog.getByText('line 2').waitFor()
    await dialog.getByRole('button', { name: 'Save anyway' }).click()
    await done('Code saved.')
    await button('Run').click()
    await page.getByRole('alert').getByText('line 2').waitFor()
  })

  await t.test('a formula in use is not deleted; without its reactor it is', async () => {
    const remove = async (name: string) => {
      await page.getByRole('link', { name, exact: true }).click()
      await heading(name)
      await button('Delete').click()
      await dialog.getByLabel(`Type ${name} to confirm`).fill(name)
      await dialog.getByRole('button', { name: 'Delete' }).click()
    }
    await page.getByRole('link', { name: 'Reactors', exact: true }).click()
    await page.getByRole('link', { name: 'Formulas', exact: true }).click()
    await remove('Charge')
    await page.getByRole('alert').getByText('is used by 1 reactors').waitFor()
    await page.getByRole('link', { name: 'Reactors', exact: true }).click()
    await remove('Own')
    await done('Reactor deleted.')
    await remove('Charge in the shop')
    await done('Reactor deleted.')
    await page.getByText('No reactors yet.').waitFor()
    await page.getByRole('link', { name: 'Formulas', exact: true }).click()
    await remove('Charge')
    await page.getByText('No formulas yet.').waitFor()
  })
})
