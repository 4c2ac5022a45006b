import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { addKey, openConsole, openScreen } from '../kit/browser.ts'
import { fillVault } from '../kit/demo-vault.ts'
import { reflowIssues } from '../kit/reflow.ts'
import { rewriteResponses } from '../kit/rewrite.ts'
import { allHashes } from './all-screens.ts'
import { HOSTILE, HOSTILE_VAULT, LONG, MARK, poison } from './hostile.ts'
import { ownTenant } from './shared-vault.ts'

/** Text that the page shows, also in controls and names of elements. */
const shown = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const controls = [...document.querySelectorAll<HTMLInputElement>('input, textarea, select')]
    const names = [...document.querySelectorAll('[aria-label], [title]')]
    return [
      document.body.textContent ?? '',
      ...controls.map(({ value }) => value),
      ...names.flatMap((element) => [
        element.getAttribute('aria-label') ?? '',
        element.getAttribute('title') ?? '',
      ]),
    ].join('\n')
  })

/** Elements that a text became, and links that leave the console by a scheme that runs code. */
const intruders = (page: Page): Promise<readonly string[]> =>
  page.evaluate((mark) => {
    const links = [...document.querySelectorAll<HTMLAnchorElement>('a[href]')]
    return [
      ...[...document.querySelectorAll(`[${mark}], iframe, object, embed, base`)].map(
        (element) => element.outerHTML,
      ),
      ...links
        .filter(({ protocol }) => !['http:', 'https:', 'blob:'].includes(protocol))
        .map(({ href }) => href),
      ...links.filter(({ host }) => host !== location.host).map(({ href }) => href),
    ]
  }, MARK)

const missing = (seen: string, texts: readonly string[]): readonly string[] =>
  texts.filter((text) => !seen.includes(text))

/** Visits all screens; `look` sees each. */
const visitAll = async (
  t: Test,
  page: Page,
  hashes: readonly string[],
  look: (hash: string) => Promise<void>,
) => {
  for (const hash of hashes) {
    await openScreen(page, hash)
    t.same(await intruders(page), [], hash)
    t.notMatch(await page.title(), /^hostile/, hash)
    await look(hash)
  }
}

t.test('hostile texts are shown as text on every screen', async (t) => {
  const sidevault = await ownTenant()
  const vault = await fillVault(sidevault, HOSTILE_VAULT)
  const hashes = allHashes(vault)
  const page = await openConsole(t, sidevault)
  await addKey(page, vault.privateKey)
  page.on('dialog', (dialog) => {
    t.fail(`a page opened a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })

  await t.test('those of the vault', async (t) => {
    let seen = ''
    await visitAll(t, page, hashes, async (hash) => {
      seen += await shown(page)
      t.same(await reflowIssues(page), [], `${hash} is not widened`)
    })
    t.same(missing(seen, HOSTILE.slice(0, 12)), [], 'each name and value is shown')
  })

  await t.test('those of responses, however long', async (t) => {
    await rewriteResponses(page, (json) => poison(json))
    await page.reload()
    let seen = ''
    await visitAll(t, page, hashes, async () => {
      seen += await shown(page)
    })
    t.ok(seen.includes(LONG.trim()))
    t.same(missing(seen, HOSTILE), [], 'each is shown')
  })

  await t.test('those of errors', async (t) => {
    await page.unrouteAll({ behavior: 'wait' })
    await page.reload()
    await page.getByRole('navigation', { name: 'Screens' }).waitFor()
    let turn = 0
    const text = () => HOSTILE[turn++ % HOSTILE.length] ?? ''
    await page.route('**/console/api/**', (route) => {
      const status = [400, 403, 404, 409, 422, 429][turn % 6] ?? 400
      const json = {
        type: text(),
        code: text(),
        title: text(),
        status,
        detail: text(),
        instance: text(),
        errors: { [text()]: [text(), LONG] },
      }
      return route.fulfill({ status, json, headers: { 'svc-trace-id': 'x"><b>', 'retry-after': '<b>' } })
    })
    let seen = ''
    await visitAll(t, page, hashes, async () => {
      seen += await shown(page)
    })
    t.ok(HOSTILE.some((text) => seen.includes(text)))
  })
})
