import t from 'tap'
import { expectAccessible, expectOperable } from '../kit/accessible.ts'
import { createAuthority } from '../kit/authority.ts'
import { openConsole } from '../kit/browser.ts'
import { ownTenant } from './shared-vault.ts'

const HOSTILE = '<img src=x onerror=alert(1)>{{7*7}}\u202e\u200f'
const GOOD = 'module.exports = async ({ args }) => ({\n  body: args.body,\n  headers: args.headers,\n})\n'
const BAD = GOOD.replace('args.body', '')

t.test('Proxies: a user creates one, writes its code, restores a version and deletes it', async (t) => {
  const sidevault = await ownTenant()
  const { call, managementKey: key } = sidevault
  const page = await openConsole(t, sidevault, { hash: '#/proxies', expectedStatuses: [503] })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = page.getByRole('dialog')
  const done = (text: string) =>
    page.getByRole('paragraph').filter({ hasText: text }).getByRole('button', { name: 'Dismiss' }).click()
  const request = page.getByLabel('Request transform', { exact: true })
  const stored = async () => (await call('GET', `/proxies/${id}`, { key })).json
  const patch = (body: object) => call('PATCH', `/proxies/${id}`, { key, body })
  let id = ''

  await t.test('a destination that is not allowed is reported at its field', async (t) => {
    await page.getByText('No proxies yet.').waitFor()
    await page.getByRole('link', { name: 'New proxy' }).click()
    await page.getByRole('heading', { level: 1, name: 'New proxy' }).waitFor()
    await page.getByLabel('Name').fill(HOSTILE)
    await page.getByLabel('Destination URL').fill('https://169.254.169.254/latest')
    await button('Create proxy').click()
    await page.getByRole('alert').waitFor()
    t.equal(await page.getByLabel('Destination URL').getAttribute('aria-invalid'), 'true')
    await expectAccessible(t, page)
    await page.getByLabel('Destination URL').fill('https://demo.sidevault.test/pay')
    await button('Create proxy').dblclick()
    await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor()
    const { data, pagination } = (await call('GET', '/proxies', { key })).json
    t.equal(pagination.total_items, 1)
    id = data[0].id
  })

  await t.test(
    'code that does not parse is reported with its place, and saved only on confirmation',
    async (t) => {
      await request.fill(BAD)
      await page.getByRole('list', { name: 'Problems in Request transform' }).waitFor()
      await button('Line 2, column 9').click()
      t.equal(await request.evaluate((area: HTMLTextAreaElement) => area.selectionStart), BAD.indexOf(',\n'))
      await expectAccessible(t, page)
      await button('Save code').click()
      await dialog.getByText("Unexpected token ','").waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      t.notOk((await stored()).request_transform, 'nothing was saved')
      await request.pressSequentially('args.body')
      await page.getByRole('list', { name: 'Problems in Request transform' }).waitFor({ state: 'detached' })
      await button('Save code').click()
      await done('Code saved.')
      t.equal((await stored()).request_transform.code, GOOD)
    },
  )

  await t.test('Tab indents after a key, undo restores, and Escape then Tab leaves the editor', async (t) => {
    const value = () => request.inputValue()
    await request.fill('{')
    await request.press('Enter')
    await request.press('a')
    t.equal(await value(), '{\n  a')
    await request.press('Shift+Tab')
    t.equal(await value(), '{\na')
    await request.press('Tab')
    t.equal(await value(), '{\na  ')
    await request.press('Control+z')
    t.equal(await value(), '{\na')
    await request.press('Escape')
    await request.press('Tab')
    t.notOk(await request.evaluate((area) => area === document.activeElement))
    await request.focus()
    await request.press('Tab')
    t.equal(await value(), '{\na', 'a person who only passes is not held')
    await button('Discard changes').click()
    t.equal(await value(), GOOD)
  })

  await t.test('drafts stay in the page, and do not overwrite concurrent changes', async (t) => {
    await request.fill(`${GOOD}// mine\n`)
    await page.getByRole('link', { name: 'Reactors' }).click()
    await page.getByRole('heading', { level: 1, name: 'Reactors' }).waitFor()
    await patch({ request_transform: { code: `${GOOD}// theirs\r\n` } })
    await page.goBack()
    t.match(await request.inputValue(), '// mine')
    await button('Save code').click()
    await dialog.getByRole('row', { name: /added \/\/ theirs/ }).waitFor()
    await expectOperable(t, page)
    await dialog.getByRole('button', { name: 'Replace them' }).click()
    await done('Code saved.')
    t.match((await stored()).request_transform.code, '// mine')
  })

  await t.test('a version is compared with the current one, and restored', async (t) => {
    await button('Compare version 1 with the current one').click()
    await page.getByRole('table', { name: 'Request transform, version 1 to 4: 5 added' }).waitFor()
    await button('Restore version 3').click()
    await dialog.getByRole('row', { name: /added \/\/ theirs/ }).waitFor()
    await dialog.getByRole('button', { name: 'Restore' }).click()
    await done('Version 3 restored.')
    t.equal((await stored()).request_transform.code, `${GOOD}// theirs\r\n`)
    t.equal(await request.inputValue(), `${GOOD}// theirs\n`)
    await request.fill(`${GOOD}// ours\n`)
    await button('Save code').click()
    await done('Code saved.')
    t.equal((await stored()).request_transform.code, `${GOOD.replaceAll('\n', '\r\n')}// ours\r\n`)
  })

  await t.test('settings send only what was changed, and values stay hidden', async (t) => {
    await patch({ configuration: { secret: 'tiger', limits: { day: 1, month: 2 } } })
    await page.reload()
    await page.getByText('Values of secret, limits, hidden.').waitFor()
    t.notMatch(await page.content(), /tiger/)
    await button('Show and edit values').click()
    const values = page.getByLabel('Configuration (JSON)')
    await values.fill('{ "secret": ')
    await button('Save configuration').click()
    await page.getByText('This is not JSON').waitFor()
    await values.fill('{ "secret": "lion", "limits": { "day": 1 } }')
    await patch({ configuration: { other: true } })
    await button('Save configuration').click()
    await page.getByText('Somebody else changed it').waitFor()
    await expectAccessible(t, page)
    t.strictSame((await stored()).configuration.secret, 'tiger', 'nothing was saved')
    await button('Reload').click()
    await page.getByText('Values of secret, limits, other, hidden.').waitFor()
    await button('Show and edit values').click()
    await values.fill('{ "secret": "lion", "limits": { "day": 1 }, "other": true }')
    await button('Save configuration').click()
    await done('Configuration saved.')
    t.strictSame((await stored()).configuration, { secret: 'lion', limits: { day: 1 }, other: true })
    await page.getByLabel('Name').fill('Payments')
    await page.getByLabel('Callers need an API key').uncheck()
    await page.getByLabel('Expressions are evaluated in').fill('body, header:host')
    await button('Save settings').click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Expressions are evaluated in').fill('body, header:authorization')
    await button('Save settings').click()
    await done('Settings saved.')
    const { name, require_auth, evaluate } = await stored()
    t.strictSame([name, require_auth, evaluate], ['Payments', false, ['body', 'header:authorization']])
  })

  await t.test('certificates show their expiry, and keys are never shown', async (t) => {
    const authority = await createAuthority()
    const leaf = await authority.issue(['a.test'])
    await page.getByText('Add certificates').click()
    await page.getByLabel('Client certificate').fill(leaf.cert)
    await button('Save certificates').click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Client key').fill(leaf.key)
    await page.getByLabel('Authorities').fill(authority.pem)
    await button('Save certificates').click()
    await page.getByRole('row', { name: /CN=leaf client ends soon/ }).waitFor()
    t.equal(await page.getByLabel('Client key').inputValue(), '')
    await expectAccessible(t, page)
    await button('Remove authorities').click()
    await page.getByRole('row', { name: /authority/ }).waitFor({ state: 'detached' })
    await button('Remove client certificate').click()
    await page.getByText('None. The destination').waitFor()
    t.notOk((await stored()).destination_tls)
  })

  await t.test('the key is shown on request, and the proxy is deleted once its name is typed', async (t) => {
    const { key: proxyKey } = await stored()
    t.notMatch(await page.content(), proxyKey)
    await button('Show proxy key').click()
    await page.getByText(proxyKey).waitFor()
    await button('Delete').click()
    await dialog.getByLabel('Type Payments to confirm').fill('Payments')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No proxies yet.').waitFor()
  })

  await t.test('a failed save keeps the code: not ready, not allowed, signed out, deleted', async (t) => {
    const { json } = await call('POST', '/proxies', {
      key,
      body: { name: 'Gone', destination_url: 'https://demo.sidevault.test' },
    })
    await page.goto(`/console/#/proxies/${json.id}`)
    await request.fill(GOOD)
    const failing = async (status: number, title: string) => {
      const response = { status, json: { code: 'x', title: 'x', detail: HOSTILE } }
      await page.route('**/console/api/proxies/**', (route) => route.fulfill(response), { times: 2 })
      await button('Save code').click()
      await page.getByRole('alert').filter({ hasText: title }).getByText(HOSTILE).waitFor()
    }
    await failing(503, 'Sidevault is not ready')
    await failing(403, 'This key may not do this')
    await page.context().clearCookies()
    await button('Save code').click()
    await page.getByRole('heading', { name: 'Your session ended' }).waitFor()
    await page.getByLabel('API key', { exact: true }).fill(key)
    await button('Sign in').click()
    t.equal(await request.inputValue(), GOOD)
    await call('DELETE', `/proxies/${json.id}`, { key })
    await button('Save code').click()
    await page.getByRole('alert').getByText('Not found').waitFor()
    t.equal(await request.inputValue(), GOOD)
  })
})
