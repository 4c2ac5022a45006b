import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../kit/sources.ts'
import { type Page, page } from './markdown.ts'

/** The declarations of src/sdk/ as the compiler prints them, without comments, by file. */
const declarations = (): readonly (readonly [file: string, text: string])[] => {
  const folder = mkdtempSync(join(tmpdir(), 'sidevault-sdk-'))
  try {
    const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
    const { target, module, types } = compilerOptions
    const flags = { target, module, types: types.join(), outDir: folder, rootDir: join(root, 'src') }
    const options = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])
    const plain = ['declaration', 'emitDeclarationOnly', 'removeComments', 'strict', 'skipLibCheck']
    const imports = ['allowImportingTsExtensions', 'rewriteRelativeImportExtensions']
    const switches = [...plain, ...imports, 'ignoreConfig'].map((name) => `--${name}`)
    const tsc = join(root, 'node_modules/.bin/tsc')
    execFileSync(tsc, [...switches, ...options, join(root, 'src/sdk/index.ts')], { cwd: root })
    const files = readdirSync(join(folder, 'sdk')).sort()
    return files.map((file) => [
      file.replace('.d.ts', '.ts'),
      readFileSync(join(folder, 'sdk', file), 'utf8')
        .replaceAll(/^import .*;\n/gm, '')
        .replaceAll('import("typebox").', '')
        .trim(),
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export const sdk: Page = {
  name: 'sdk',
  text: () =>
    page(
      'SDK',
      `The names that a plugin imports from \`sidevault/sdk\`: the contract, and nothing else. [A plugin in twenty minutes](../guides/plugins.md) is
the guide; the comments are in \`src/sdk/\`. \`index.ts\` is the list of exports. Between minor versions this page may grow; it loses
nothing ([upgrade policy](../upgrade-policy.md)).`,
      ...declarations().map(([file, text]) => `## \`${file}\`\n\n\`\`\`ts\n${text}\n\`\`\``),
    ),
}
