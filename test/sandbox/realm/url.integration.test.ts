import t from 'tap'
import { sameAsNode } from './kit.ts'

sameAsNode(t, 'URLs are parsed, changed and serialized', () => {
  const url = new URL('https://user:p%40w@Example.COM:8443/a/../b c?x=1&y=a%20b#h')
  const before = {
    ...JSON.parse(JSON.stringify(url.toString().split('/'))),
    all: [url.origin, url.host, url.username, url.password, url.port],
  }
  url.pathname = '/c d'
  url.port = '443'
  url.hash = ''
  url.searchParams.append('z', 'ü &')
  url.searchParams.delete('x')
  url.protocol = 'http'
  return [
    before,
    url.href,
    JSON.stringify({ url }),
    url.search,
    [...url.searchParams],
    `${new URL('../x', 'http://a.b/c/d/e')}`,
  ]
})

sameAsNode(t, 'an invalid URL is rejected', () => {
  try {
    return new URL('nope').href
  } catch (error) {
    const { name, code, message, input } = error as Error & { code: string; input: string }
    return { name, code, message, input }
  }
})

sameAsNode(t, 'URLSearchParams', () => {
  const params = new URLSearchParams('?a=1&b=2&a=3&empty&plus=a+b&bad=%zz&%E2%82=x')
  params.set('b', "~!*()'-._ é")
  params.append('c', '&=')
  const list = [...params]
  const seen: string[] = []
  params.forEach((value, name) => void seen.push(`${name}:${value}`))
  params.sort()
  return [
    list,
    seen,
    `${params}`,
    params.get('a'),
    params.getAll('a'),
    params.get('no'),
    params.has('c'),
    [...params.keys()],
    [...params.values()],
    `${new URLSearchParams({ a: '1 2', b: 'x' })}`,
    `${new URLSearchParams([
      ['a', '1'],
      ['a', '2'],
    ])}`,
    `${new URLSearchParams(new Map([['k', 'v']]))}`,
    new URL('http://a.b/?q=1').searchParams.get('q'),
  ]
})

sameAsNode(t, 'url: the older functions', () => {
  const url = require('node:url')
  return [
    { ...url.parse('http://u:p@host.com:80/p/a?query=string#hash'), query: undefined },
    url.parse('/a?b=1&b=2', true).query.b,
    url.parse('a b').href,
    url.format({
      protocol: 'https',
      hostname: 'a.b',
      port: 8443,
      pathname: '/c',
      query: { d: 1, e: ['x', 'y'] },
    }),
    url.format(new URL('http://u:p@a.b/c?d#e'), { auth: false, fragment: false }),
    url.resolve('/one/two', 'three'),
    url.resolve('http://example.com/one', '/two'),
    url.domainToASCII('español.com'),
    url.fileURLToPath('file:///a%20b'),
    url.pathToFileURL('/a b').href,
    url.urlToHttpOptions(new URL('https://a:b@x.y:9/c?d')).path,
  ]
})

sameAsNode(t, 'querystring', () => {
  const querystring = require('node:querystring')
  return [
    querystring.stringify({
      a: [1, 'x'],
      b: 'x y',
      c: true,
      d: null,
      e: undefined,
      f: 'ü',
      g: Number.NaN,
      h: 10n,
      i: {},
    }),
    querystring.stringify({ a: 'b', c: 'd' }, ';', ':'),
    querystring.stringify('x'),
    { ...querystring.parse('a=1&a=2&b=%zz&c&d=x%20y+z&=e&__proto__=1&&') },
    { ...querystring.parse('a:b;c:d', ';', ':') },
    { ...querystring.parse('a=1&b=2', null, null, { maxKeys: 1 }) },
    querystring.escape("a b'()ü"),
    querystring.unescape('%41%ff'),
  ]
})
