import t from 'tap'
import { expectAccessible, expectOperable } from '../kit/accessible.ts'
import { addKey, openConsole, openScreen } from '../kit/browser.ts'
import { allHashes } from './all-screens.ts'
import { sharedVault } from './shared-vault.ts'
import { structureOf } from './structure.ts'

const PHONE = { width: 390, height: 800 }
const DESKTOP = { width: 1280, height: 800 }

t.test(
  'every screen is accessible in light and dark, and has one structure there and at a phone width',
  async (t) => {
    const { sidevault, vault } = await sharedVault()
    const page = await openConsole(t, sidevault)
    await addKey(page, vault.privateKey)
    const structure = async () => structureOf(await page.getByRole('main').ariaSnapshot())
    for (const hash of allHashes(vault))
      await t.test(hash, async (t) => {
        await openScreen(page, hash)
        await expectOperable(t, page)
        const light = await structure()
        t.ok(
          light.some((line) => line.startsWith('- heading') && line.endsWith('[level=0]')),
          'has a heading',
        )
        await page.emulateMedia({ colorScheme: 'dark' })
        await expectAccessible(t, page)
        t.same(await structure(), light, 'dark')
        await page.emulateMedia({ colorScheme: 'light' })
        await page.setViewportSize(PHONE)
        t.same(await structure(), light, 'phone')
        await page.setViewportSize(DESKTOP)
      })
  },
)
