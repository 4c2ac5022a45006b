import t from 'tap'
import { startTestService } from '../kit/service.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'

/** DESIGN §7.7: "a test walks every operation × every other tenant's ids and gets 404". */
t.test(
  'no operation reaches another tenant through any id, and none can tell such an id from a free one',
  async (t) => {
    const service = await startTestService(t)
    const mine = {
      management: service.managementKey,
      tokens: await service.application({ permissions: ALL_TOKEN_PERMISSIONS }),
    }
    const other = await service.newTenant('Other')
    const otherTokens = await service.application(
      { permissions: ALL_TOKEN_PERMISSIONS },
      'private',
      other.key,
    )

    const token = await service.call('POST', '/tokens', {
      key: otherTokens,
      body: {
        id: 'theirs-1',
        data: 'their secret',
        metadata: { a: 'b' },
        fingerprint_expression: '{{ data }}',
      },
    })
    const application = await service.call('POST', '/applications', {
      key: other.key,
      body: { name: 'theirs', type: 'private', permissions: ['token:read'] },
    })
    const keys = await service.call('GET', `/applications/${application.json.id}/keys`, { key: other.key })
    t.equal(token.status, 201)
    t.equal(keys.json.length, 1)

    const theirs: Record<string, string> = {
      tokens: token.json.id,
      applications: application.json.id,
      key: keys.json[0].id,
    }
    const free: Record<string, string> = {
      tokens: 'free-1',
      applications: '00000000-0000-4000-8000-000000000000',
      key: '00000000-0000-4000-8000-000000000001',
    }
    const bodies: Record<string, unknown> = {
      'PATCH /tokens/{id}': { data: 'overwritten' },
      'PUT /applications/{id}': { name: 'taken over', permissions: ['token:read'], rules: [] },
    }
    const state = async () =>
      JSON.stringify([
        (await service.call('GET', `/tokens/${theirs.tokens}`, { key: otherTokens })).json,
        (await service.call('GET', `/applications/${theirs.applications}`, { key: other.key })).json,
        (await service.call('GET', `/applications/${theirs.applications}/keys`, { key: other.key })).json,
      ])
    const before = await state()

    const walked: string[] = []
    for (const operation of service.kernel.registry.operations) {
      const [method, path] = operation.http.split(' ') as [string, string]
      if (!path.includes('{')) continue
      const resource = path.split('/')[1]!
      const fill = (ids: Record<string, string>) =>
        path.replace(/\{(\w+)\}/g, (_, name: string) =>
          name === 'id' && path.includes('/keys/') ? ids.key! : ids[resource]!,
        )
      const key = resource === 'tokens' ? mine.tokens : mine.management
      const body = bodies[operation.http]
      const send = (ids: Record<string, string>) =>
        service.call(method, fill(ids), { key, ...(body ? { body } : {}) })
      const reached = await send(theirs)
      const absent = await send(free)
      t.equal(reached.status, 404, `${operation.http} with their id`)
      const shape = (answer: typeof reached, ids: Record<string, string>) =>
        Object.values(ids).reduce((text, id) => text.replaceAll(id, '<id>'), answer.text)
      t.equal(shape(reached, theirs), shape(absent, free), `${operation.http} answers as for a free id`)
      walked.push(operation.http)
    }
    t.ok(walked.length >= 9, `walked ${walked.join(', ')}`)

    const key = mine.tokens
    const own = await service.call('GET', '/applications/key')
    for (const method of ['GET', 'DELETE'])
      t.equal(
        (await service.call(method, `/applications/${own.json.id}/keys/${theirs.key}`)).status,
        404,
        `${method} their key by way of an application of mine`,
      )
    const lists: [string, string, unknown?][] = [
      ['GET', `/tokens?id=${theirs.tokens}`],
      ['GET', '/tokens?metadata.a=b'],
      ['GET', '/v2/tokens'],
      ['GET', `/v2/tokens?fingerprint=${token.json.fingerprint}`],
      [
        'POST',
        '/tokens/search',
        { query: `id:${theirs.tokens} OR fingerprint:${token.json.fingerprint} OR type:token` },
      ],
      ['POST', '/v2/tokens/search', { query: 'metadata.a:b OR NOT type:card' }],
    ]
    for (const [method, path, body] of lists) {
      const answer = await service.call(method, path, { key, ...(body ? { body } : {}) })
      t.equal(answer.status, 200, answer.text)
      t.strictSame(answer.json.data, [], `${method} ${path} shows nothing of theirs`)
    }
    t.strictSame((await service.call('GET', `/applications?id=${theirs.applications}`)).json.data, [])
    t.equal(
      (await service.call('POST', '/detokenize', { key, body: [`{{ ${theirs.tokens} }}`] })).status,
      400,
    )
    t.equal(
      (await service.call('POST', '/tokens', { key, body: { id: theirs.tokens, data: 'mine' } })).status,
      201,
      'an id in use by another tenant is free',
    )
    t.equal(await state(), before, 'nothing of theirs changed')
  },
)
