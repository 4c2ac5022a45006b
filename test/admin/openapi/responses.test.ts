import t from 'tap'
import { openApi } from '../../../src/admin/openapi/document.ts'
import { createResponseCheck } from '../../kit/responses.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const service = await startTestService(t, { openStore: openInThread })
const { operations, tokenTypes } = service.kernel.registry
const check = createResponseCheck(openApi({ operations, tokenTypes }, { prefix: 'SVC', version: '0.0.0' }))

const key = await service.application({ permissions: ['token:create', 'token:delete'] })
const token = await service.call('POST', '/tokens', { key, body: { type: 'token', data: 'x' } })
const missing = await service.call('GET', '/tenants/none')
const gone = await service.call('DELETE', `/tokens/${token.json.id}`, { key })

/** The same response with other members in its body. */
const saying = (response: typeof token, members: object) => ({
  ...response,
  text: JSON.stringify({ ...response.json, ...members }),
})

t.test('documented responses pass', async (t) => {
  check('POST', '/tokens', token)
  check('POST', '/tokens/', token)
  check('GET', '/tenants/none', missing)
  check('DELETE', `/tokens/${token.json.id}`, gone)
  t.equal(gone.status, 204)
})

t.test('an accepted request body must be allowed by the document', async (t) => {
  check('POST', '/tokens', token, { type: 'token', data: 'x', unknown: true })
  const issue = /Tokens\.Create accepted what is not documented: data\/type must be string,null/
  t.throws(() => check('POST', '/tokens', token, { type: 1, data: 'x' }), issue)
  check('POST', '/tokens', { ...missing, status: 400 }, { type: 1 })
})

t.test('the check finds undocumented responses that the spec suite would miss', async (t) => {
  const headers = { ...token.headers, 'content-type': 'application/problem+json' }
  const { location: _, ...elsewhere } = token.headers
  for (const [method, path, response, issue] of [
    ['POST', '/tokens', { ...token, status: 200 }, /Tokens\.Create returned 200, which is not documented/],
    ['POST', '/tokens', saying(token, { cvc: '123' }), /must NOT have additional properties/],
    ['POST', '/tokens', saying(token, { privacy: { classification: 'pci' } }), /impact_level/],
    ['POST', '/tokens', saying(token, { id: 1 }), /id must be string/],
    ['POST', '/tokens', saying(token, { created_at: 'yesterday' }), /created_at must match format/],
    ['POST', '/tokens', { ...token, headers }, /application\/problem\+json/],
    ['POST', '/tokens', { ...token, headers: elsewhere }, /without the header Location/],
    ['DELETE', '/tokens/x', { ...gone, text: '{}' }, /with a body, and none is documented/],
    ['GET', '/tenants/none', { ...missing, status: 200 }, /no operation is documented there/],
    ['GET', '/tenants/none', saying(missing, { stack: 'at x.ts' }), /must NOT have additional properties/],
    ['GET', '/tenants/none', { ...missing, text: '{"status":404}' }, /title/],
  ] as const)
    t.throws(() => check(method, path, response), issue, String(issue))
})
