import t from 'tap'
import { startTestService } from '../kit/service.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'

/** docs/security-model.md, "Tenant isolation". */
t.test(
  'no operation reaches another tenant through any id, or distinguishes such an id from a free one',
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

    const code = 'module.exports = async () => ({})'
    const proxyBody = { name: 'theirs', destination_url: 'https://api.example.com' }
    const formulaBody = { name: 'theirs', type: 'private', code }
    const reactorBody = { name: 'theirs', code }
    const webhookBody = { name: 'theirs', url: 'https://hooks.example.com', events: ['token.created'] }
    const make = async (path: string, body: object): Promise<string> => {
      const created = await service.call('POST', path, { key: other.key, body })
      t.equal(created.status, 201, created.text)
      return created.json.id
    }
    const theirs: Record<string, string> = {
      tokens: token.json.id,
      applications: application.json.id,
      key: keys.json[0].id,
      proxies: await make('/proxies', proxyBody),
      'reactor-formulas': await make('/reactor-formulas', formulaBody),
      reactors: await make('/reactors', reactorBody),
      webhooks: await make('/webhooks', webhookBody),
      invitations: await make('/tenants/self/invitations', { email: 'theirs@example.com' }),
      members: (await service.call('GET', '/tenants/self/members', { key: other.key })).json.data[0].id,
    }
    const started = await service.call('POST', `/reactors/${theirs.reactors}/react-async`, {
      key: otherTokens,
      body: {},
    })
    t.equal(started.status, 202)
    theirs.request = started.json.asyncReactorRequestId
    const free: Record<string, string> = {
      tokens: 'free-1',
      applications: '00000000-0000-4000-8000-000000000000',
      key: '00000000-0000-4000-8000-000000000001',
      proxies: '00000000-0000-4000-8000-000000000002',
      'reactor-formulas': '00000000-0000-4000-8000-000000000003',
      reactors: '00000000-0000-4000-8000-000000000004',
      invitations: '00000000-0000-4000-8000-000000000005',
      members: '00000000-0000-4000-8000-000000000006',
      request: '00000000-0000-4000-8000-000000000007',
      webhooks: '00000000-0000-4000-8000-000000000008',
    }
    const bodies: Record<string, unknown> = {
      'PATCH /tokens/{id}': { data: 'overwritten' },
      'POST /tokens/{parent_id}/children': { data: 'child' },
      'PUT /applications/{id}': { name: 'taken over', permissions: ['token:read'], rules: [] },
      'PUT /proxies/{id}': proxyBody,
      'PATCH /proxies/{id}': { name: 'taken over' },
      'PUT /reactor-formulas/{id}': formulaBody,
      'PUT /reactors/{id}': reactorBody,
      'PATCH /reactors/{id}': { name: 'taken over' },
      'PUT /webhooks/{id}': webhookBody,
      'PUT /tenants/self/members/{id}': { role: 'READ' },
    }
    const child = await service.call('POST', `/tokens/${token.json.id}/children`, {
      key: otherTokens,
      body: { id: 'theirs-2', data: 'their child' },
    })
    t.equal(child.status, 201)
    const state = async () =>
      JSON.stringify([
        (await service.call('GET', `/tokens/${theirs.tokens}`, { key: otherTokens })).json,
        (await service.call('GET', `/applications/${theirs.applications}`, { key: other.key })).json,
        (await service.call('GET', `/applications/${theirs.applications}/keys`, { key: other.key })).json,
        (await service.call('GET', `/tokens/${theirs.tokens}/children`, { key: otherTokens })).json,
        ...(await Promise.all(
          ['proxies', 'reactor-formulas', 'reactors', 'webhooks'].map(
            async (name) => (await service.call('GET', `/${name}/${theirs[name]}`, { key: other.key })).json,
          ),
        )),
        ...(await Promise.all(
          ['', '/members', '/invitations'].map(
            async (name) => (await service.call('GET', `/tenants/self${name}`, { key: other.key })).json,
          ),
        )),
      ])
    const before = await state()

    const resourceOf = (path: string) => path.replace('/tenants/self', '').split('/')[1] ?? 'tenants'
    const walked: string[] = []
    for (const operation of service.kernel.registry.operations) {
      const [method, path] = operation.http.split(' ') as [string, string]
      if (!path.includes('{')) continue
      const resource = resourceOf(path)
      const fill = (ids: Record<string, string>) =>
        path.replace(/\{(\w+)\}/g, (_, name: string) =>
          name === 'id' && path.includes('/keys/')
            ? ids.key!
            : name === 'request_id'
              ? ids.request!
              : ids[resource]!,
        )
      const key = operation.permission.startsWith('token:') ? mine.tokens : mine.management
      const body = bodies[operation.http]
      const send = (ids: Record<string, string>) =>
        service.call(method, fill(ids), { key, ...(body ? { body } : {}) })
      const reached = await send(theirs)
      const absent = await send(free)
      t.equal(reached.status, 404, `${operation.http} with their id`)
      const shape = (response: typeof reached, ids: Record<string, string>) =>
        Object.values(ids).reduce((text, id) => text.replaceAll(id, '<id>'), response.text)
      t.equal(shape(reached, theirs), shape(absent, free), `${operation.http} responds as for a free id`)
      walked.push(operation.http)
    }
    t.ok(walked.length >= 25, `walked ${walked.join(', ')}`)
    const resources = service.kernel.registry.operations.map(({ http }) => resourceOf(http.split(' ')[1]!))
    const paths = Object.keys(theirs).filter((name) => name !== 'key' && name !== 'request')
    const unwalked = [
      ...['tokenize', 'detokenize', 'v2', 'permissions', 'tenants', 'reports', 'logs', 'sessions'],
      // Its application is in the body (test/spec/access-questions.grpc.test.ts).
      'access',
      // Of the caller's tenant (test/spec/requests.grpc.test.ts).
      'requests',
      // Likewise (test/spec/delegations.stores.test.ts).
      'delegations',
    ]
    t.strictSame(
      [...new Set(resources)].filter((name) => !paths.includes(name) && !unwalked.includes(name)),
      [],
      'every resource is walked here, or looked at below',
    )

    const key = mine.tokens
    const own = await service.call('GET', '/applications/key')
    const { id: myToken } = (await service.call('POST', '/tokens', { key, body: { data: 'mine' } })).json
    for (const method of ['POST', 'DELETE'])
      for (const [parent, of] of [
        [myToken, theirs.tokens],
        [theirs.tokens, myToken],
      ])
        t.equal(
          (await service.call(method, `/tokens/${parent}/children/${of}`, { key })).status,
          404,
          `${method} an association across tenants`,
        )
    const dependent: [string, object][] = [
      ['/proxies', { ...proxyBody, application: { id: theirs.applications } }],
      ['/reactors', { name: 'mine', formula: { id: theirs['reactor-formulas'] } }],
      ['/reactors', { ...reactorBody, application: { id: theirs.applications } }],
    ]
    for (const [path, body] of dependent)
      t.equal((await service.call('POST', path, { body })).status, 400, `${path} created of what is theirs`)

    const publicKey = await service.application({ permissions: ['token:create'] }, 'public', other.key)
    const { session_key: session, nonce } = (await service.call('POST', '/sessions', { key: publicKey })).json
    const authorized = await service.call('POST', '/sessions/authorize', {
      key,
      body: { nonce, permissions: ['token:create'] },
    })
    t.equal(authorized.status, 404, 'their session is not mine to authorize')
    t.equal((await service.call('POST', '/tokens', { key: session, body: { data: 1 } })).status, 403)

    const logs = await service.call('GET', `/logs?entity_id=${theirs.tokens}`)
    t.ok(logs.json.data.every((log: { tenant_id: string }) => log.tenant_id === service.tenantId))
    const theirLogs = await service.call('GET', '/logs?size=1', { key: other.key })
    t.equal((await service.call('GET', `/logs?start=${theirLogs.json.pagination.next}`)).status, 400)
    const { token_report } = (await service.call('GET', '/tenants/self/reports/usage')).json
    t.equal(token_report.monthly_active_tokens, 1, 'only mine are counted')
    for (const name of ['proxies', 'reactor-formulas', 'reactors', 'webhooks'])
      t.strictSame((await service.call('GET', `/${name}`)).json.data, [], `${name} shows nothing of theirs`)
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
      const response = await service.call(method, path, { key, ...(body ? { body } : {}) })
      t.equal(response.status, 200, response.text)
      const shown = response.json.data.filter(({ id }: { id: string }) => id !== myToken)
      t.strictSame(shown, [], `${method} ${path} shows nothing of theirs`)
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
