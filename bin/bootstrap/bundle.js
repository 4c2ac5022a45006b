import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, createReadStream, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ENVOY_BINARIES, installEnvoy } from './envoy.js'
import { installNodePackage, NODE_BINARIES } from './node.js'
import { hasMusl } from './platform.js'
import { BootstrapError, npm, run, say } from './run.js'

export { ENVOY_BINARIES, NODE_BINARIES }

/**
 * @param {string} file
 * @returns {Promise<string>} its SHA-256, in hex
 */
export const sha256Of = async (file) => {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** @returns {'linux-x64' | 'linux-arm64'} */
export const bundlePlatform = () => {
  const platform = `${process.platform}-${process.arch}`
  if ((platform === 'linux-x64' || platform === 'linux-arm64') && !hasMusl()) return platform
  throw new BootstrapError(
    `There is no bundle for ${platform}${hasMusl() ? ' with musl' : ''}. Run the command on a Linux (x64, arm64) with glibc.`,
  )
}

/**
 * Installs production packages into `directory`, which has `package.json` and its lock, and Node and Envoy into its
 * `runtime/`. npm checks the integrity of what it installs; Envoy's binary is compared with its pinned SHA-256.
 * @param {string} root the project
 * @param {string} directory
 */
export const stageRuntime = async (root, directory) => {
  const platform = bundlePlatform()
  say('Installing production packages …')
  await npm(root, directory, ['ci', '--omit=dev', '--prefer-offline'])

  const binary = NODE_BINARIES[platform]
  say(`Installing Node ${binary.version} …`)
  const runtime = join(directory, 'runtime')
  const fresh = join(directory, 'node')
  for (const folder of [runtime, fresh]) mkdirSync(folder)
  await installNodePackage(root, binary, fresh)
  renameSync(join(fresh, 'node_modules', binary.name, 'bin', 'node'), join(runtime, 'node'))
  renameSync(join(fresh, 'node_modules', binary.name, 'LICENSE'), join(runtime, 'LICENSE.node'))
  rmSync(fresh, { recursive: true })

  const { version, sha256 } = ENVOY_BINARIES[platform]
  const envoy = join(runtime, 'envoy')
  copyFileSync(await installEnvoy(root), envoy)
  chmodSync(envoy, 0o755)
  const hash = await sha256Of(envoy)
  if (hash !== sha256)
    throw new BootstrapError(
      `The Envoy ${version} below .cache/envoy has the wrong SHA-256 (${hash}). Delete that folder, and try again.`,
    )
}

const COMPRESSION = /** @type {const} */ ({ '.tar.gz': 'gzip --no-name -6', '.tar.xz': 'xz -6 --threads=1' })

/** @typedef {keyof typeof COMPRESSION} ArchiveType */

/**
 * Writes a folder as an archive that depends on names, modes and contents of its files only
 * (https://reproducible-builds.org/docs/archives/). The tools run without variables such as TAR_OPTIONS.
 * @param {{ parent: string, name: string, type: ArchiveType, file: string }} options
 */
export const writeArchive = async ({ parent, name, type, file }) => {
  const { code, output } = await run('tar', [
    '--create',
    '--format=gnu',
    '--sort=name',
    '--mtime=@315532800', // 1980-01-01, as in zip files
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u=rwX,go=rX',
    `--use-compress-program=${COMPRESSION[type]}`,
    `--file=${file}`,
    '--force-local', // a colon in the name is no host
    `--directory=${parent}`,
    name,
  ])
  if (code !== 0)
    throw new BootstrapError(
      `The archive was not written: ${output.trim()}. It needs GNU tar, ${type === '.tar.gz' ? 'gzip' : 'xz'} and free space.`,
    )
}
