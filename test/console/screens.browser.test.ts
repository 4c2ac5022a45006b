import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { accessibilityIssues } from '../kit/accessibility.ts'
import { addKey, openConsole, openScreen, pictureOf } from '../kit/browser.ts'
import { root } from '../kit/sources.ts'
import { allHashes } from './all-screens.ts'
import { sharedVault } from './shared-vault.ts'
import { structureOf } from './structure.ts'

/** Pictures of the last run, to look at. They are not compared. */
const PICTURES = join(root, '.cache/console/screens')

const VARIANTS = [
  { name: 'light', colorScheme: 'light', width: 1280 },
  { name: 'dark', colorScheme: 'dark', width: 1280 },
  { name: 'phone', colorScheme: 'light', width: 390 },
] as const

t.test(
  'every screen has one structure in light, dark and at a phone width, and enough contrast',
  async (t) => {
    const { sidevault, vault } = await sharedVault()
    const page = await openConsole(t, sidevault)
    await addKey(page, vault.privateKey)
    mkdirSync(PICTURES, { recursive: true })
    for (const [index, hash] of allHashes(vault).entries()) {
      await openScreen(page, hash)
      const main = page.getByRole('main')
      const structures: Record<string, readonly string[]> = {}
      for (const { name, colorScheme, width } of VARIANTS) {
        await page.setViewportSize({ width, height: 800 })
        await page.emulateMedia({ colorScheme })
        structures[name] = structureOf(await main.ariaSnapshot())
        if (name !== 'phone') t.same(await accessibilityIssues(page), [], `${hash}, ${name}`)
        const screen = hash.replaceAll(/[^a-z]+/g, '-').slice(1, 30)
        writeFileSync(
          join(PICTURES, `${String(index).padStart(2, '0')}-${screen}-${name}.jpeg`),
          await pictureOf(page, 'jpeg'),
        )
      }
      const { light = [], dark, phone } = structures
      t.ok(
        light.some((line) => line.startsWith('- heading') && line.endsWith('[level=0]')),
        `${hash} has a heading`,
      )
      t.same(dark, light, `${hash}, dark`)
      t.same(phone, light, `${hash}, phone`)
    }
  },
)
