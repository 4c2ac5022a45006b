import t from 'tap'
import { findScreen, hashOf, link, parseHash, withChanges } from '../../../src/console/router.ts'

t.test('a hash is parsed to a path and filters, and printed back', async (t) => {
  const { path, filters } = parseHash('#/tokens/?type=card&q=a%26b')
  t.equal(path, '/tokens')
  t.equal(filters.get('q'), 'a&b')
  t.equal(hashOf(path, filters), '#/tokens?type=card&q=a%26b')
  for (const empty of ['', '#', '#/']) t.equal(parseHash(empty).path, '/')
  t.equal(parseHash('#tokens').path, '/tokens')
  t.equal(hashOf('/a', { b: undefined, c: '', d: '1' }), '#/a?d=1')
  t.equal(hashOf('/a'), '#/a')
})

const paramsOf = (path: string) => findScreen([{ path: '/tokens/:id' }], path)?.params

t.test('parameters are encoded and decoded, whatever an id contains', async (t) => {
  for (const id of ['a/b', 'a?b=#c', '../..', 'ä "%"', '{{ x }}', '<img src=x onerror=alert(1)>']) {
    const { path } = parseHash(link`/tokens/${id}`)
    t.same(paramsOf(path), { id })
  }
  t.equal(paramsOf('/tokens/%E0%A4%A'), undefined, 'no valid encoding')
  t.equal(paramsOf('/tokens/'), undefined)
  t.equal(paramsOf('/tokens/a/b'), undefined)
  t.same(paramsOf('/tokens/__proto__'), { id: '__proto__' })
})

t.test('a literal path takes precedence over one with a parameter', async (t) => {
  const screens = [{ path: '/proxies/:id' }, { path: '/proxies/new' }, { path: '/proxies' }]
  t.equal(findScreen(screens, '/proxies/new')?.screen.path, '/proxies/new')
  t.equal(findScreen(screens, '/proxies/x')?.screen.path, '/proxies/:id')
  t.equal(findScreen(screens, '/nothing'), undefined)
})

t.test('changes of filters add, replace and remove', async (t) => {
  const filters = new URLSearchParams('a=1&b=2')
  t.equal(String(withChanges(filters, { a: '3', b: undefined, c: '', d: '4' })), 'a=3&d=4')
  t.equal(String(filters), 'a=1&b=2', 'the former ones stay')
})
