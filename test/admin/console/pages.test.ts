import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { loadFiles } from '../../../src/admin/console/files.ts'
import { linked, packageFile } from '../../../src/admin/console/packages.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'
import { thingsPlugin } from '../kit.ts'

/** Bytes of all files together, with brotli. */
const MAX_BYTES = 150_000

const { admin } = await startTestService(t, {
  openStore: openInThread,
  plugins: [thingsPlugin()],
  admin: { console: true },
})

const get = (url: string, headers: Record<string, string>, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
  admin.app.inject({ method, url, headers })

const BROTLI = { 'accept-encoding': 'gzip, deflate, br, zstd' }

t.test('the index is not stored, and allows nothing but its own files', async (t) => {
  for (const path of ['/console/', '/console']) {
    const { statusCode, headers, rawPayload } = await get(path, BROTLI)
    t.equal(statusCode, 200)
    t.match(headers, {
      'cache-control': 'no-store',
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    const policy = String(headers['content-security-policy'])
    t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
    t.match(policy, /require-trusted-types-for 'script'; trusted-types lit-html$/)
    t.notMatch(policy, /unsafe|data:|blob:|http|\*/)
    const html = brotliDecompressSync(rawPayload).toString()
    t.notMatch(html, /<style|<script(?![^>]*\bsrc=)[^>]*>|\son\w+=|\sstyle=/, 'no inline script or style')
    t.notMatch(html, /\b(?:href|src)="(?!\/)/, 'every URL has a path of this service')
  }
})

t.test('each file has one URL, may be stored forever, and is compressed', async (t) => {
  const { hash, files } = await loadFiles()
  const path = `/console/assets/${hash}/main.ts`
  const response = await get(path, BROTLI)
  t.equal(response.statusCode, 200)
  t.match(response.headers, {
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
    'content-encoding': 'br',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  })
  const text = brotliDecompressSync(response.rawPayload).toString()
  const gzipped = await get(path, { 'accept-encoding': 'gzip' })
  t.equal(gunzipSync(gzipped.rawPayload).toString(), text)
  t.equal((await get(path, {})).payload, text, 'a client that decompresses nothing is served too')
  const head = await get(path, BROTLI, 'HEAD')
  t.equal(head.statusCode, 200)
  t.equal(head.headers['content-length'], response.headers['content-length'])
  t.equal(head.payload, '')
  const post = await get(path, {}, 'POST')
  t.equal(post.statusCode, 405)
  t.equal(post.headers.allow, 'GET, HEAD')
  t.ok(files.size > 30)
})

t.test('only files of the pages are served', async (t) => {
  const { hash } = await loadFiles()
  for (const path of [
    `/console/assets/${hash}/`,
    `/console/assets/${hash}/index.html`,
    `/console/assets/${hash}/tsconfig.json`,
    `/console/assets/${hash}/README.md`,
    `/console/assets/${hash}/kit/screen.ts`, // types only
    `/console/assets/${hash}/../../../main.ts`,
    `/console/assets/${hash}/..%2f..%2fmain.ts`,
    `/console/assets/${hash}/%2e%2e/admin/server.ts`,
    `/console/assets/${hash}/packages/lit-html/package.json`,
    `/console/assets/${hash}/__proto__`,
    '/console/assets/other/main.ts',
    '/console/index.html',
    '/console/main.ts',
  ]) {
    const { statusCode, headers } = await get(path, BROTLI)
    t.equal(statusCode, 404, path)
    t.notMatch(headers['cache-control'], /immutable/, path)
  }
})

t.test('all files are below their size, and each is loaded by the index or by another', async (t) => {
  const { files, index } = await loadFiles()
  const texts = new Map([...files].map(([path, { text }]) => [path, text.toString()]))
  const sizes = [...files.values(), index].map(async (file) => (await file.compressed('br')).length)
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  t.comment(`${bytes} bytes in ${files.size} files`)
  t.ok(bytes < MAX_BYTES, `${bytes} bytes`)
  const html = index.text.toString()
  const imported = new Set(
    [...texts].flatMap(([path, text]) => {
      const { imports, later } = linked(path, text)
      return [...imports, ...later]
    }),
  )
  t.same(
    [...texts.keys()].filter((path) => !imported.has(path) && !html.includes(`/${path}"`)),
    [],
    'none is useless',
  )
  t.same(
    [...imported].filter((path) => !texts.has(path)),
    [],
    'none is missing',
  )
  t.same(
    [...texts.keys()].filter((path) => !html.includes(`/${path}"`)),
    [],
    'the index preloads all, so that they are fetched at once',
  )
  for (const [path, text] of texts) {
    t.notMatch(text, /sourceMappingURL/, path)
    if (!path.startsWith('packages/'))
      t.notMatch(
        text,
        /unsafeHTML|\.innerHTML|\beval\(|new Function|import\((?!'\.\/(?:screens|palette)\.ts')/,
        path,
      )
  }
})

t.test('the URL of the files changes with any of them', async (t) => {
  t.equal((await loadFiles()).hash, (await loadFiles()).hash)
  const file = linked('kit/html.ts', `import { html } from 'lit-html'\nexport { a } from './a.ts'\n`)
  t.equal(file.text, `import { html } from '../packages/lit-html/lit-html.js'\nexport { a } from './a.ts'\n`)
  t.same(file.imports, ['packages/lit-html/lit-html.js', 'kit/a.ts'])
  t.throws(() => linked('main.ts', `import fs from 'node:fs'`), /not served/)
  t.throws(() => packageFile('packages/fastify/fastify.js'), /in no package/)
  t.throws(() => packageFile('packages/lit-html/../fastify/fastify.js'), /in no package/)
})
