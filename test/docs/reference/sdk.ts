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

const PROMISE = `## Upgrade promise

A plugin with \`api: 1\` that starts on one version of Sidevault starts and works on all later versions that accept \`api: 1\`. It holds from 1.0
on; before, a minor version may break it, and the [changelog](../../CHANGELOG.md) says so.

| Minor versions | |
|---|---|
| may add | exports; optional members of what a plugin declares; members of what it is given (context, records, calls); built-in ports, whose names have no slash; values of what it is given (operations of audit records, types of actors). Treat values that you do not know as such |
| may reject at start | what this page or [the guide](../guides/plugins.md) never allowed. The changelog names each such check |
| never | remove or rename an export or a member; require a member that was optional; lower a limit or a timeout; call a function more seldom, or in another order, than its comment says |

A member that is to go is marked \`@deprecated\`, with what replaces it, and works as long as \`api: 1\` is accepted. When there is an \`api: 2\`, at
least two minor versions accept both.

To check a plugin before an upgrade, run the new version's commands on it; none of them starts the service:

\`\`\`sh
node bin/sidevault.js plugins check ../member-card
node bin/sidevault.js plugins test ../member-card
\`\`\`

\`check\` reports what a start would report. \`test\` runs the plugin's own tests on the new version. In TypeScript, the compiler reports deprecated
and changed members.`

export const sdk: Page = {
  name: 'sdk',
  text: () =>
    page(
      'SDK',
      `The names that a plugin imports from \`sidevault/sdk\`: the contract, and nothing else. [A plugin in twenty minutes](../guides/plugins.md) is
the guide; the comments are in \`src/sdk/\`. \`index.ts\` is the list of exports. Between minor versions this page may grow; it loses
nothing ([upgrade policy](../upgrade-policy.md)).`,
      PROMISE,
      ...declarations().map(([file, text]) => `## \`${file}\`\n\n\`\`\`ts\n${text}\n\`\`\``),
    ),
}
