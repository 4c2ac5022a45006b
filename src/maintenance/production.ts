import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createSbom, type PackageLock } from './sbom.ts'

/** The project's folder. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The project's files in production, as in the image (Dockerfile). */
export const PRODUCTION_FILES = [
  'package.json',
  'package-lock.json',
  'sbom.cdx.json',
  'bin',
  'src',
  'plugins',
  'proto',
  'docs',
]

/** Parses a JSON file of the project. */
export const parsed = async <T>(name: string): Promise<T> =>
  JSON.parse(await readFile(join(ROOT, name), 'utf8'))

/** `bin/bootstrap/bundle.js`, which is plain JavaScript. */
export interface Bootstrap {
  readonly ENVOY_BINARIES: Readonly<Record<string, { readonly version: string; readonly sha256: string }>>
  readonly NODE_BINARIES: Readonly<
    Record<string, { readonly name: string; readonly version: string; readonly integrity: string }>
  >
  readonly bundlePlatform: () => string
  readonly sha256Of: (file: string) => Promise<string>
  readonly stageRuntime: (root: string, directory: string) => Promise<void>
  readonly writeArchive: (options: {
    readonly parent: string
    readonly name: string
    readonly type: string
    readonly file: string
  }) => Promise<void>
}

export const loadBootstrap = (): Promise<Bootstrap> =>
  import(new URL('../../bin/bootstrap/bundle.js', import.meta.url).href)

/** The text of `sbom.cdx.json`, from the lock file and the pinned binaries. */
export const sbomText = async (): Promise<string> => {
  const { ENVOY_BINARIES: envoy, NODE_BINARIES: node } = await loadBootstrap()
  const manifest = await parsed<Parameters<typeof createSbom>[0]>('package.json')
  const sbom = createSbom(manifest, await parsed<PackageLock>('package-lock.json'), { envoy, node })
  return `${JSON.stringify(sbom, undefined, 2)}\n`
}
