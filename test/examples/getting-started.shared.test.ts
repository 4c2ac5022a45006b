import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { FORWARD_PROXY, sharedSidevault } from '../kit/shared-sidevault.ts'
import { root } from '../kit/sources.ts'

/** The shell blocks of a document, from a heading on. */
const blocksOf = (path: string, heading: string): string[] => {
  const [, text = ''] = readFileSync(join(root, path), 'utf8').split(`\n## ${heading}\n`)
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)
}

t.test('getting-started, concepts and dry-runs work as written, in one shell', async (t) => {
  const vault = await sharedSidevault(FORWARD_PROXY)
  const blocks = blocksOf('docs/getting-started.md', 'Store a card and send it out')
  t.equal(blocks.length, 5)
  t.equal(blocksOf('README.md', 'The first minute')[0], blocks[0], 'the README has the same first minute')
  // These pages continue with the variables of this one.
  blocks.push(
    ...blocksOf('docs/concepts.md', 'Access'),
    ...blocksOf('docs/guides/dry-runs.md', 'Response transforms'),
  )
  const script = blocks
    .join('\necho; echo =====\n')
    .replaceAll('http://127.0.0.1:8080', vault.url)
    .replaceAll('node bin/sidevault.js', `"${process.execPath}" "${join(root, 'bin/sidevault.js')}"`)
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], {
    cwd: t.testdir(),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, SIDEVAULT_BOOTSTRAP_KEY: vault.managementKey },
  })
  const [sent, local, changed, dryRun, reacted, difference, renamed, response, unsaved] = stdout
    .split('=====')
    .map((text) => JSON.parse(text))
  const after = { source: { pan: '4242424242424242' }, cents: 150 }
  t.equal(sent.body.card, '4242424242424242')
  t.match(local, { body: after, headers: { 'X-Order': 'from the transform' } })
  t.match(stderr, /^headers +added x-order$/m)
  t.match(changed, { body: after, headers: { 'x-order': 'from the transform' } })
  t.match(dryRun, {
    dry_run: true,
    forwards: true,
    tokens: [{ type: 'card', disclosure: 'reveal' }],
    request_transform: { headers: { added: ['x-order'] } },
    body: { after: { source: { pan: 'XXXXXXXXXXXX4242' }, cents: 150 } },
  })
  t.same(reacted, { raw: { bin: '42424242' } })
  t.match(
    difference.data.find(({ permission }: { permission: string }) => permission === 'token:use'),
    {
      container: '/pci/high/',
      from: 'reveal',
      to: 'none',
    },
  )
  t.equal(renamed, 204, 'with the ETag of the reactor')
  t.match(response, { dry_run: true, forwards: true, body: { after: { cents: 100 } } })
  t.match(unsaved, { dry_run: true, forwards: true, body: { after: { all: { amount: 1 } } } })
})
