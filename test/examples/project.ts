import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../kit/sources.ts'

const npm = (cwd: string, ...args: readonly string[]) =>
  execFileSync('npm', [...args, '--offline', '--no-audit', '--no-fund', '--cache', join(cwd, '.npm')], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** Packs the package, and installs it in the folder. */
export const installPackage = (folder: string, source: string): void => {
  const packed = join(folder, 'packed')
  mkdirSync(packed, { recursive: true })
  const [{ filename }] = JSON.parse(npm(packed, 'pack', source, '--json'))
  npm(folder, 'install', join(packed, filename))
}

/** Packs the example, and installs the package in the folder. */
export const installExample = (folder: string, name: string): void =>
  installPackage(folder, join(root, 'examples', name))

/**
 * An operator's own folder, outside of this project: the examples copied or, the npm one, packed and installed; the
 * plugin list in a configuration file beside them.
 */
export const makeProject = () => {
  const folder = mkdtempSync(join(tmpdir(), 'sidevault-project-'))
  const examples = (name: string) => join(root, 'examples', name)
  cpSync(examples('plugin-folder'), join(folder, 'passport'), { recursive: true })
  cpSync(examples('plugin-mail'), join(folder, 'mail'), { recursive: true })
  cpSync(examples('plugin-json'), folder, { recursive: true })
  const outbox = join(folder, 'outbox')
  mkdirSync(outbox)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }))
  installExample(folder, 'plugin-npm')
  const configuration = join(folder, 'sidevault.yaml')
  writeFileSync(
    configuration,
    [
      'plugins: ["*", ./passport, ./mail, sidevault-plugin-vin, loyalty.json, ./iban.json]',
      'plugin_config:',
      '  passport: { grace_days: 30 }',
      `  mail: { outbox: ${outbox}, from: vault@example.com, page: "https://people.example.com/join" }`,
      '',
    ].join('\n'),
  )
  return { folder, configuration, outbox, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
