import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { metricIssues } from '../kit/metric-issues.ts'
import { ALL_TOKEN_PERMISSIONS, startSidevault } from '../kit/sidevault.ts'
import { descendants, until } from '../supervisor/processes.ts'

/** docs/security-model.md, "No plaintext at rest". */
const marks = {
  card: '4539578763621486',
  cvc: '90817',
  ssn: '536-90-4399',
  account: '73650281946',
  text: 'Zanzibar-Quokka-7781 "geheim" ü',
  literal: 'LiteralMask-5529-Walrus',
  term: 'SearchTerm-6614-Narwhal',
  query: 'QueryString-3307-Ocelot',
  header: 'HeaderValue-9920-Ibex',
  bad: 'BadBody-4471-Tapir',
  code: 'CodeSecret-8835-Okapi',
  callback: 'CallbackPath-2298-Dingo',
  surface: 'SurfaceValue-7716/Lemur ü',
}

/** The spellings a value could be hiding in. */
const spellings = (value: string): Buffer[] => {
  const bytes = Buffer.from(value)
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    return text.slice(shift === 0 ? 0 : shift + 1, -4)
  })
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    encodeURIComponent(value),
    value.replaceAll(' ', '+'),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ].map((text) => Buffer.from(text))
}

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) return filesBelow(path)
    return entry.isFile() ? [path] : []
  })

/** By kind of process: some may start and end during the test. */
const PARTS = [/^sidevault: admin/, /^sidevault: gateway/, /^sidevault: sandbox/, /envoy\.json/]

/** Memory of a process that a core file would contain (core(5)); undefined when it has ended. */
const coreFilterOf = (pid: number): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/coredump_filter`, 'utf8').trim()
  } catch {
    return undefined
  }
}

t.test('a day of calls leaves no plaintext in any file, log or metric', async (t) => {
  const vault = await startSidevault({
    env: { SIDEVAULT_LOG_LEVEL: 'debug', SIDEVAULT_ACCESS_LOG: 'all' },
  })
  const key = await vault.application({ permissions: ALL_TOKEN_PERMISSIONS })
  const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    vault.call(method, path, {
      key,
      ...(body === undefined ? {} : { body }),
      ...(headers ? { headers } : {}),
    })

  const card = await call('POST', '/tokens', {
    type: 'card',
    data: { number: marks.card, expiration_month: 4, expiration_year: 2031, cvc: marks.cvc.slice(0, 4) },
    search_indexes: ['{{ data.number }}', marks.term],
    fingerprint_expression: '{{ data.number }}',
  })
  t.equal(card.status, 201, card.text)
  const text = await call('POST', '/tokens', { data: marks.text, mask: marks.literal })
  t.equal(text.status, 201, text.text)
  t.equal((await call('POST', '/tokens', { type: 'social_security_number', data: marks.ssn })).status, 201)
  t.equal((await call('POST', '/tokenize', { a: [marks.text, { b: marks.account }] })).status, 200)
  t.equal((await call('GET', `/tokens/${card.json.id}`)).status, 200)
  t.equal((await call('GET', '/tokens?size=5')).status, 200)
  t.equal((await call('GET', '/v2/tokens?size=5')).status, 200)
  t.equal((await call('PATCH', `/tokens/${text.json.id}`, { data: `${marks.text} again` })).status, 200)
  t.equal((await call('POST', '/tokens/search', { query: `data:"${marks.term}"` })).status, 200)
  t.equal((await call('POST', '/detokenize', { a: `{{ ${card.json.id} | json: '$.number' }}` })).status, 200)
  const proxied = await call(
    'POST',
    `/proxy/path-${marks.query}?q=${marks.query}`,
    {
      number: `{{ ${card.json.id} | json: '$.number' }}`,
      text: `{{ ${text.json.id} }}`,
      literal: marks.account,
    },
    {
      'svc-proxy-url': 'https://demo.sidevault.test/echo',
      'x-mark': marks.header,
      authorization: `Bearer ${marks.header}`,
    },
  )
  t.equal(proxied.status, 200, proxied.text)
  t.match(proxied.text, marks.card, 'the destination received the number')

  const surface = await call('POST', '/tokens', { data: marks.surface })
  t.equal(surface.status, 201, surface.text)
  const broken = await call('POST', '/tokens', { data: `${marks.surface}\r\n` })
  const onAllSurfaces = (id: string, host: string) =>
    call(
      'POST',
      `/proxy/users/%7B%7B${id}%7D%7D?key=%7B%7B${id}%7D%7D`,
      { value: `{{ ${id} }}` },
      {
        'svc-proxy-url': `https://${host}`,
        'svc-proxy-evaluate': 'body,path,query:key,header:authorization,header:x-signature',
        authorization: `Bearer {{ ${id} }}`,
        'x-signature': "{{ request.body | hmac: 'sha-256', 'key' | to_base16 }}",
      },
    )
  const everywhere = await onAllSurfaces(surface.json.id, 'demo.sidevault.test/echo')
  t.equal(everywhere.status, 200, everywhere.text)
  t.ok(everywhere.text.includes(encodeURIComponent(marks.surface)), 'the destination received it in its URL')
  const unreachable = await onAllSurfaces(surface.json.id, `${marks.query}.invalid`)
  t.equal(unreachable.status, 502, unreachable.text)
  const rejected = await onAllSurfaces(broken.json.id, 'demo.sidevault.test/echo')
  t.equal(rejected.status, 400, rejected.text)
  for (const { text } of [unreachable, rejected])
    for (const form of spellings(marks.surface))
      t.notOk(text.includes(form.toString()), 'no error has the value')

  const reactor = await vault.call('POST', '/reactors', {
    key: vault.managementKey,
    body: {
      name: 'leaks what it can',
      configuration: { secret: marks.code },
      code: `const secret = '${marks.code}'
        module.exports = async ({ args, configuration }) => {
          console.log(args, configuration, secret)
          if (args.then === 'throw') throw new (require('sidevault').ReactorRuntimeError)(args.number + secret)
          if (args.then === 'fetch') await fetch('https://${marks.query}.invalid/' + args.number, { method: 'POST', body: args.number })
          if (args.then === 'loop') for (;;) {}
          return { raw: { args, secret }, tokenize: { again: args.number } }
        }`,
    },
  })
  t.equal(reactor.status, 201, reactor.text)
  const react = (then: string, path = 'react', more: object = {}) =>
    call('POST', `/reactors/${reactor.json.id}/${path}`, {
      args: { number: `{{ ${card.json.id} | json: '$.number' }}`, text: marks.text, then },
      ...more,
    })
  t.match((await react('return')).text, marks.card, 'raw is plain')
  t.equal((await react('throw')).status, 500)
  t.equal((await react('fetch')).status, 400)
  t.equal((await react('loop')).status, 400)
  const callback = { callback_url: `https://${marks.callback.toLowerCase()}.invalid/${marks.callback}` }
  for (const then of ['return', 'throw']) {
    const { asyncReactorRequestId: id } = (await react(then, 'react-async', callback)).json
    const result = () => call('GET', `/reactors/${reactor.json.id}/results/${id}`)
    let response = await result()
    while (response.status === 404) response = await result()
    t.match(response.text, marks.code, 'the result is there')
  }

  const failures: [string, string, unknown, Record<string, string>?][] = [
    ['POST', '/tokens', { type: 'card', data: { number: `${marks.card}0`, cvc: marks.bad } }],
    ['POST', '/tokens', `{"data": "${marks.bad}`, { 'content-type': 'application/json' }],
    ['POST', '/tokens', { type: marks.bad, data: marks.bad }],
    ['POST', '/tokens', { data: marks.bad, mask: `{{ data | ${marks.bad}` }],
    ['POST', '/tokens', { data: 1, metadata: { [marks.bad]: { deep: marks.bad } } }],
    ['POST', '/tokens/search', { query: `data:(${marks.term}` }],
    ['POST', '/detokenize', { a: `{{ ${marks.bad} }}` }],
    ['POST', '/detokenize', { a: `{{ ${card.json.id} | json: '$.number' | to_boolean }}` }],
    ['GET', `/tokens/${encodeURIComponent(marks.bad)}`, undefined],
    ['GET', `/nowhere/${marks.query}?q=${marks.query}`, undefined],
    ['POST', '/proxy', { a: `{{ ${marks.bad} }}` }, { 'svc-proxy-url': 'https://demo.sidevault.test' }],
    ['POST', '/proxy', { a: 1 }, { 'svc-proxy-url': `https://user:${marks.bad}@demo.sidevault.test` }],
    ['POST', '/proxy', { a: 1 }, { 'svc-proxy-url': `https://${marks.query}.invalid/${marks.query}` }],
    ['POST', `/proxy?svc-proxy-key=${marks.bad}`, { a: 1 }],
    ['POST', '/proxy', { a: 1 }, { 'svc-proxy-key': marks.bad }],
    [
      'POST',
      '/proxy',
      `{"a":"{{ ${card.json.id} }}`,
      { 'content-type': 'application/json', 'svc-proxy-url': 'https://demo.sidevault.test' },
    ],
  ]
  for (const [method, path, body, headers] of failures) {
    const response = await call(method, path, body, headers)
    t.ok(
      response.status >= 400 && response.status < 505 && response.status !== 500,
      `${method} ${path.slice(0, 12)} → ${response.status}`,
    )
    for (const name of ['card', 'text', 'ssn'] as const) t.notMatch(response.text, marks[name])
  }
  const reader = await vault.application({ permissions: ['token:search'] })
  for (const [method, path, body] of [
    ['GET', `/tokens/${marks.account}`, undefined],
    ['DELETE', `/tokens/${encodeURIComponent(marks.text)}`, undefined],
    ['POST', '/tokens', { id: marks.account, data: marks.account }],
  ] as const)
    t.equal(
      (await vault.call(method, path, { key: reader, ...(body ? { body } : {}) })).status,
      403,
      `${method} by one who may not`,
    )
  const unknownKey = await vault.call('GET', '/tokens', { key: `key_${marks.bad}` })
  t.equal(unknownKey.status, 401)
  t.equal((await call('DELETE', `/tokens/${text.json.id}`)).status, 204)

  const metrics = (await vault.call('GET', '/metrics')).text
  t.match(metrics, 'sidevault_requests_total')
  t.same(metricIssues(metrics), [], 'metrics are named as Prometheus has it')
  if (process.platform === 'linux') {
    const missing = () => {
      const below = descendants(vault.pid)
      return PARTS.filter((part) => !below.some(({ command }) => part.test(command)))
    }
    await until(`all of ${PARTS.join(', ')} run`, () => missing().length === 0)
    const running = [vault.pid, ...descendants(vault.pid).map(({ pid }) => pid)]
    const filters = running.flatMap((pid) => coreFilterOf(pid) ?? [])
    t.same([...new Set(filters)], ['00000000'], 'no memory of any of them goes into a core file')
  }
  const commands =
    process.platform === 'linux'
      ? descendants(vault.pid)
          .map(({ command }) => command)
          .join('\n')
      : ''
  const openFiles = filesBelow(vault.dataDir).map((path) => [path, readFileSync(path)] as const)
  const data = vault.dataDir
  const exit = await (async () => {
    vault.process.kill('SIGTERM')
    await new Promise((resolve) => vault.process.once('exit', resolve))
    return vault.process.exitCode
  })()
  t.equal(exit, 0)
  const places: (readonly [string, Buffer])[] = [
    ...openFiles,
    ...filesBelow(data)
      .filter((path) => statSync(path).size > 0)
      .map((path) => [`${path} after stop`, readFileSync(path)] as const),
    ['metrics', Buffer.from(metrics)],
    ['command lines', Buffer.from(commands)],
    ['stderr', Buffer.from(vault.stderr())],
    ['stdout', Buffer.from(vault.stdout())],
  ]
  t.ok(
    places.some(([name]) => name.includes('.jsonl')),
    'the journal was among the places searched',
  )
  t.ok(vault.stderr().length > 0, 'there was a log to search')
  t.match(vault.stderr(), /"process":"envoy"/, "Envoy's access log was in it")

  const values = { ...marks, key, managementKey: vault.managementKey, cvcStored: marks.cvc.slice(0, 4) }
  for (const [name, value] of Object.entries(values)) {
    // Four digits occur by chance in timestamps and ciphertext; the cvc is looked for as a JSON member instead.
    const needles =
      name === 'cvcStored' || name === 'cvc'
        ? [Buffer.from(`"cvc":"${value}`), Buffer.from(`cvc=${value}`)]
        : spellings(value)
    for (const [place, bytes] of places) {
      const found = needles.some((needle) => needle.length > 5 && bytes.includes(needle))
      if (found) t.fail(`${name} appears in ${place.replace(data, '')}`)
    }
  }
  t.pass(`searched ${places.length} places`)
  const { rmSync } = await import('node:fs')
  rmSync(data, { recursive: true, force: true })
})
