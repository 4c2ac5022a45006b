import { readFileSync } from 'node:fs'

/** Version of this program, from its package.json. */
export const programVersion = (): string => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const manifest: { readonly version: string } = JSON.parse(text)
  return manifest.version
}
