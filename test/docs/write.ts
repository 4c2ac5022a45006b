import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sbomText } from '../../src/maintenance/production.ts'
import { root } from '../kit/sources.ts'
import { drawings } from './drawings/drawings.ts'
import { pages } from './reference/pages.ts'

/**
 * `npm run docs`: writes docs/reference/ from the code, the drawings from their sources, and the bill of materials
 * from the lock file.
 */
const files = [
  ...pages.map(({ name, text }) => ({ path: `docs/reference/${name}.md`, text })),
  ...drawings,
  { path: 'sbom.cdx.json', text: sbomText },
]
for (const { path, text } of files) {
  writeFileSync(join(root, path), await text())
  process.stdout.write(`${path}\n`)
}
