import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../kit/sources.ts'
import { pages } from './reference/pages.ts'

/** `npm run docs`: writes docs/reference/ from the code. */
for (const { name, text } of pages) {
  const path = `docs/reference/${name}.md`
  writeFileSync(join(root, path), await text())
  process.stdout.write(`${path}\n`)
}
