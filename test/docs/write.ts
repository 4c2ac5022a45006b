import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../kit/sources.ts'
import { drawings } from './drawings/drawings.ts'
import { pages } from './reference/pages.ts'

/** `npm run docs`: writes docs/reference/ from the code, and the drawings from their sources. */
const files = [...pages.map(({ name, text }) => ({ path: `docs/reference/${name}.md`, text })), ...drawings]
for (const { path, text } of files) {
  writeFileSync(join(root, path), await text())
  process.stdout.write(`${path}\n`)
}
